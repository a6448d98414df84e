package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a head, or of trailers, in their order. Names are compared without regard to case;
 * their case is kept as it was, and so are the lines: each is there as it came or will leave, ended
 * by CR LF, in one array, so that writing all is one copy.
 *
 * <p>Lines are numbered from 0. Who must not allocate walks over the lines of a name by {@link
 * #find} and looks at their values where they are; the methods that answer strings make them.
 * Values hold bytes, which appear as characters of ISO 8859-1.
 *
 * <p>It is not safe for several threads until it is {@linkplain #freeze frozen}.
 */
public final class Fields {
  // For each line: where it begins, the length of its name, where its value begins and how long it
  // is. A line ends where the next one begins.
  private static final int AT = 0;
  private static final int NAME = 1;
  private static final int VALUE = 2;
  private static final int LENGTH = 3;
  private static final int ENTRY = 4;

  /** No fields; cannot be changed. */
  public static final Fields NONE = new Fields(0, 0).freeze();

  private byte[] bytes;
  private int end;
  private int[] index;
  private int count;
  private boolean frozen;

  /** Names in small letters; mostly none. */
  private Set<String> neverIndexed = Set.of();

  /** None at first. */
  public Fields() {
    this(256, 8);
  }

  /** None at first, with room for some lines that have so many bytes together. */
  public Fields(int size, int lines) {
    bytes = new byte[size];
    index = new int[lines * ENTRY];
  }

  /** Some, as names and values in turn. */
  public static Fields of(String... namesAndValues) {
    if (namesAndValues.length % 2 != 0) {
      throw new IllegalArgumentException(
          "the name " + namesAndValues[0] + " or another lacks a value");
    }
    var made = new Fields();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      made.add(namesAndValues[i], namesAndValues[i + 1]);
    }
    return made;
  }

  /** A copy that can be changed, of just the size that is needed. */
  public Fields copy() {
    var made = new Fields(end, count);
    made.addAll(this);
    return made;
  }

  /** Forbids all further changes; from then on any thread may read. */
  public Fields freeze() {
    frozen = true;
    return this;
  }

  /** How many lines there are. */
  public int count() {
    return count;
  }

  /** How many bytes all lines have, each with its CR LF. */
  public int size() {
    return end;
  }

  /** The name of a line, in the case in which it is there. */
  public String name(int line) {
    return text(entry(line, AT), entry(line, NAME));
  }

  /** A byte of a line's name; the one behind its last is a colon. */
  public byte nameByte(int line, int i) {
    return bytes[entry(line, AT) + i];
  }

  /** The value of a line, without blanks around it. */
  public String value(int line) {
    return text(entry(line, VALUE), entry(line, LENGTH));
  }

  /** How many bytes a line's value has. */
  public int valueLength(int line) {
    return entry(line, LENGTH);
  }

  /** A byte of a line's value. */
  public byte valueByte(int line, int i) {
    return bytes[entry(line, VALUE) + i];
  }

  /** Whether a line has this name. */
  public boolean isNamed(int line, CharSequence name) {
    return entry(line, NAME) == name.length() && equalsAt(entry(line, AT), name);
  }

  /** Whether a line's value is this, without regard to case. */
  public boolean valueIs(int line, CharSequence value) {
    return entry(line, LENGTH) == value.length() && equalsAt(entry(line, VALUE), value);
  }

  private boolean equalsAt(int at, CharSequence text) {
    for (int i = 0; i < text.length(); i++) {
      if (Characters.lower(bytes[at + i]) != Characters.lower(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  /** The first line of a name, or -1. */
  public int find(CharSequence name) {
    return find(name, 0);
  }

  /** The first line of a name from a line on, or -1. */
  public int find(CharSequence name, int from) {
    for (int line = from; line < count; line++) {
      if (isNamed(line, name)) {
        return line;
      }
    }
    return -1;
  }

  /** Whether there is a line of a name. */
  public boolean has(CharSequence name) {
    return find(name) >= 0;
  }

  /** The value of a name's first line, or null. */
  public @Nullable String get(CharSequence name) {
    int line = find(name);
    return line < 0 ? null : value(line);
  }

  /** The values of all lines of a name. */
  public List<String> all(CharSequence name) {
    var values = new ArrayList<String>(1);
    for (int line = find(name); line >= 0; line = find(name, line + 1)) {
      values.add(value(line));
    }
    return values;
  }

  /**
   * The values of all lines of a name, joined by commas, or null.
   *
   * @throws IllegalArgumentException for Set-Cookie, whose lines cannot be joined
   */
  public @Nullable String joined(CharSequence name) {
    int first = find(name);
    if (first < 0 || find(name, first + 1) < 0) {
      return first < 0 ? null : value(first);
    }
    if (isNamed(first, "set-cookie")) {
      throw new IllegalArgumentException("several lines of Set-Cookie cannot be joined to one");
    }
    return String.join(", ", all(name));
  }

  /** The members of the list that all lines of a name make, without empty ones; quotes are kept. */
  public List<String> members(CharSequence name) {
    var members = new ArrayList<String>();
    eachMember(name, (at, length) -> members.add(text(at, length)));
    return members;
  }

  /** Whether the list of a name has a member, without regard to case. Allocates nothing. */
  public boolean hasMember(CharSequence name, CharSequence member) {
    for (int line = find(name); line >= 0; line = find(name, line + 1)) {
      if (lineHasMember(line, member)) {
        return true;
      }
    }
    return false;
  }

  private boolean lineHasMember(int line, CharSequence member) {
    int limit = entry(line, VALUE) + entry(line, LENGTH);
    for (int at = entry(line, VALUE); at < limit; ) {
      int comma = memberEnd(at, limit);
      int from = skipBlanks(at, comma);
      if (trimEnd(from, comma) - from == member.length() && equalsAt(from, member)) {
        return true;
      }
      at = comma + 1;
    }
    return false;
  }

  private interface Range {
    void accept(int at, int length);
  }

  private void eachMember(CharSequence name, Range action) {
    for (int line = find(name); line >= 0; line = find(name, line + 1)) {
      int limit = entry(line, VALUE) + entry(line, LENGTH);
      for (int at = entry(line, VALUE); at < limit; ) {
        int comma = memberEnd(at, limit);
        int from = skipBlanks(at, comma);
        int to = trimEnd(from, comma);
        if (to > from) {
          action.accept(from, to - from);
        }
        at = comma + 1;
      }
    }
  }

  /** Where the comma is that ends a member; one in quotes does not. */
  private int memberEnd(int from, int limit) {
    boolean quoted = false;
    for (int i = from; i < limit; i++) {
      switch (bytes[i]) {
        case '"' -> quoted = !quoted;
        case '\\' -> i += quoted ? 1 : 0;
        case ',' -> {
          if (!quoted) {
            return i;
          }
        }
        default -> {}
      }
    }
    return limit;
  }

  private int skipBlanks(int from, int to) {
    int at = from;
    while (at < to && Characters.isBlank(bytes[at])) {
      at++;
    }
    return at;
  }

  private int trimEnd(int from, int to) {
    int at = to;
    while (at > from && Characters.isBlank(bytes[at - 1])) {
      at--;
    }
    return at;
  }

  /** Shows names and values of all lines, in order. */
  public void forEach(BiConsumer<String, String> action) {
    for (int line = 0; line < count; line++) {
      action.accept(name(line), value(line));
    }
  }

  /** Shows the members of a list that a name's lines make; see {@link #members}. */
  public void forEachMember(CharSequence name, Consumer<String> action) {
    members(name).forEach(action);
  }

  /**
   * Appends a line.
   *
   * @throws IllegalArgumentException if the name is no token, or the value has controls, blanks
   *     around it or characters beyond ISO 8859-1
   */
  public Fields add(CharSequence name, CharSequence value) {
    insert(count, name, value);
    return this;
  }

  /** Replaces all lines of a name by one, which takes the place of the first. */
  public Fields set(CharSequence name, CharSequence value) {
    int first = find(name);
    if (first < 0) {
      return add(name, value);
    }
    check(name, value);
    removeFrom(name, first);
    insert(first, name, value);
    return this;
  }

  /** Like {@link #set(CharSequence, CharSequence)}, with a decimal number. */
  public Fields set(CharSequence name, long value) {
    return set(name, Long.toString(value));
  }

  /** Removes all lines of a name. */
  public Fields remove(CharSequence name) {
    removeFrom(name, 0);
    return this;
  }

  private void removeFrom(CharSequence name, int from) {
    for (int line = find(name, from); line >= 0; line = find(name, line)) {
      removeLine(line);
    }
  }

  /** Removes a line; those behind it move up. */
  public Fields removeLine(int line) {
    checkChange();
    int at = entry(line, AT);
    int next = lineEnd(line);
    System.arraycopy(bytes, next, bytes, at, end - next);
    System.arraycopy(index, (line + 1) * ENTRY, index, line * ENTRY, (count - line - 1) * ENTRY);
    count--;
    shift(line, at - next);
    return this;
  }

  private void shift(int fromLine, int by) {
    end += by;
    for (int line = fromLine; line < count; line++) {
      index[line * ENTRY + AT] += by;
      index[line * ENTRY + VALUE] += by;
    }
  }

  /** Removes all. */
  public Fields clear() {
    checkChange();
    end = 0;
    count = 0;
    neverIndexed = Set.of();
    return this;
  }

  /**
   * Has HTTP/2 keep the values of these names in small letters, of pseudo-fields too, out of the
   * tables of its compression; see {@link NeverIndexed}.
   */
  void neverIndex(Set<String> names) {
    checkChange();
    if (!names.isEmpty() && !neverIndexed.containsAll(names)) {
      var all = new HashSet<>(neverIndexed);
      all.addAll(names);
      neverIndexed = all;
    }
  }

  /** The names for which that was said, in small letters. */
  Set<String> neverIndexed() {
    return neverIndexed;
  }

  /** Appends copies of all lines of another. */
  public Fields addAll(Fields other) {
    checkChange();
    ensure(other.end, other.count);
    System.arraycopy(other.bytes, 0, bytes, end, other.end);
    System.arraycopy(other.index, 0, index, count * ENTRY, other.count * ENTRY);
    int first = count;
    int by = end;
    count += other.count;
    shift(first, by);
    // The shift has counted the bytes as moved; they are as many as were added.
    end = by + other.end;
    neverIndex(other.neverIndexed);
    return this;
  }

  private void insert(int line, CharSequence name, CharSequence value) {
    check(name, value);
    int length = name.length() + 2 + value.length() + 2;
    ensure(length, 1);
    int at = line == count ? end : entry(line, AT);
    System.arraycopy(bytes, at, bytes, at + length, end - at);
    System.arraycopy(index, line * ENTRY, index, (line + 1) * ENTRY, (count - line) * ENTRY);
    count++;
    shift(line + 1, length);
    int valueAt = put(at, name, ": ");
    put(valueAt, value, "\r\n");
    put(line, at, name.length(), valueAt, value.length());
  }

  private int put(int at, CharSequence text, String behind) {
    int i = at;
    for (int j = 0; j < text.length(); j++) {
      bytes[i++] = (byte) text.charAt(j);
    }
    for (int j = 0; j < behind.length(); j++) {
      bytes[i++] = (byte) behind.charAt(j);
    }
    return i;
  }

  private void put(int line, int at, int name, int value, int length) {
    index[line * ENTRY + AT] = at;
    index[line * ENTRY + NAME] = name;
    index[line * ENTRY + VALUE] = value;
    index[line * ENTRY + LENGTH] = length;
  }

  private void check(CharSequence name, CharSequence value) {
    checkChange();
    if (!Characters.isToken(name)) {
      throw new IllegalArgumentException("'" + name + "' cannot be the name of a field");
    }
    checkValue(name, value);
  }

  /**
   * Checks a value.
   *
   * @throws IllegalArgumentException if it has controls, or blanks at its ends
   */
  static void checkValue(CharSequence name, CharSequence value) {
    boolean good = true;
    for (int i = 0; i < value.length(); i++) {
      good &= value.charAt(i) <= 0xff && Characters.isValue(value.charAt(i));
    }
    if (!good
        || (!value.isEmpty()
            && (Characters.isBlank(value.charAt(0))
                || Characters.isBlank(value.charAt(value.length() - 1))))) {
      throw new IllegalArgumentException("'" + value + "' cannot be the value of " + name);
    }
  }

  private void checkChange() {
    if (frozen) {
      throw new IllegalStateException("these fields are frozen; change a copy");
    }
  }

  private void ensure(int moreBytes, int moreLines) {
    if (bytes.length - end < moreBytes) {
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, end + moreBytes));
    }
    if (index.length < (count + moreLines) * ENTRY) {
      index = Arrays.copyOf(index, Math.max(index.length * 2, (count + moreLines) * ENTRY));
    }
  }

  /**
   * Parses lines that are there already, each ended by CR LF: those of a head that was stored. They
   * replace what was here.
   *
   * @throws MalformedMessageException if they are no lines of fields
   */
  public Fields parse(ByteBuffer lines) throws IOException {
    clear();
    int at = lines.position();
    while (at < lines.limit()) {
      int lineEnd = Bytes.find(lines, (byte) '\n', at, lines.limit());
      if (lineEnd == lines.limit()) {
        throw new MalformedMessageException("a line of fields without an end");
      }
      var _ = appendLine(lines, at, lineEnd + 1 - at);
      at = lineEnd + 1;
    }
    return this;
  }

  /**
   * Appends a line as it came, with its CR LF, after the grammar of RFC 9112 §5: no blank before
   * the colon, no continued line, no controls.
   *
   * @return its number
   */
  int appendLine(ByteBuffer from, int at, int length) throws MalformedMessageException {
    checkChange();
    ensure(length, 1);
    from.get(at, bytes, end, length);
    int to = end + length - 2;
    if (length < 2 || bytes[to] != '\r') {
      throw new MalformedMessageException("a line of fields ends without CR");
    }
    int colon = end;
    while (colon < to && Characters.isToken(bytes[colon])) {
      colon++;
    }
    if (colon == to || bytes[colon] != ':' || colon == end) {
      throw new MalformedMessageException(
          Characters.isBlank(bytes[end])
              ? "a folded line of fields"
              : "a line of fields without a name");
    }
    for (int i = colon + 1; i < to; i++) {
      if (!Characters.isValue(bytes[i])) {
        throw new MalformedMessageException("a control character in a field's value");
      }
    }
    int value = skipBlanks(colon + 1, to);
    put(count, end, colon - end, value, trimEnd(value, to) - value);
    end += length;
    return count++;
  }

  /** Appends all lines to a buffer that has room for {@link #size} bytes. */
  public void put(ByteBuffer into) {
    into.put(bytes, 0, end);
  }

  /** Appends one line, with its CR LF, to a buffer. */
  void putLine(int line, ByteBuffer into) {
    into.put(bytes, entry(line, AT), lineLength(line));
  }

  int lineLength(int line) {
    return lineEnd(line) - entry(line, AT);
  }

  /** The bytes of the values, by their lines: {@link #valueAt}. */
  byte[] bytes() {
    return bytes;
  }

  int nameAt(int line) {
    return entry(line, AT);
  }

  int nameLength(int line) {
    return entry(line, NAME);
  }

  int valueAt(int line) {
    return entry(line, VALUE);
  }

  private int lineEnd(int line) {
    return line + 1 == count ? end : entry(line + 1, AT);
  }

  private int entry(int line, int part) {
    if (line >= count) {
      throw new IndexOutOfBoundsException("there are " + count + " lines, none is number " + line);
    }
    return index[line * ENTRY + part];
  }

  private String text(int at, int length) {
    return new String(bytes, at, length, ISO_8859_1);
  }

  /** Whether another has the same lines, byte for byte. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Fields fields
        && Arrays.equals(bytes, 0, end, fields.bytes, 0, fields.end);
  }

  @Override
  public int hashCode() {
    int hash = 1;
    for (int i = 0; i < end; i++) {
      hash = 31 * hash + bytes[i];
    }
    return hash;
  }

  /** The lines, as they are sent. */
  @Override
  public String toString() {
    return text(0, end);
  }
}
