package dev.evergreen.codec;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A message being read; see {@link Tag} for the format. Trusts nothing: every length is compared
 * with the bytes that remain before anything is allocated for it.
 */
final class Reader extends Nesting {
  private final byte[] bytes;
  private int at;
  private int end;
  private @Nullable Tables tables;
  private @Nullable String unknown;

  Reader(byte[] bytes, Limits limits) {
    super(limits);
    this.bytes = bytes;
    this.end = bytes.length;
  }

  /** The names and layouts of a message, or of one key. */
  private static final class Tables {
    final List<WireLayout> layouts = new ArrayList<>(4);
    final List<String> names = new ArrayList<>(4);
    final Set<String> definitions = new HashSet<>(8);
  }

  private Tables tables() {
    Tables known = tables;
    if (known == null) {
      known = new Tables();
      tables = known;
    }
    return known;
  }

  int position() {
    return at;
  }

  /** The first component that was passed over as unknown; null if there was none. */
  @Nullable String unknown() {
    return unknown;
  }

  /** A record has a component that this version of it lacks. */
  void unknown(String record, String component) {
    if (unknown == null) {
      unknown = record + "." + component;
    }
  }

  void finish() {
    if (at != end) {
      throw malformed((end - at) + " bytes are left over");
    }
  }

  MalformedValueException malformed(String what) {
    return new MalformedValueException("byte " + at + ": " + what);
  }

  MalformedValueException malformed(String what, @Nullable Throwable cause) {
    return new MalformedValueException("byte " + at + ": " + what, cause);
  }

  int u8() {
    if (at >= end) {
      throw malformed("the bytes end in the middle of a value");
    }
    return bytes[at++] & 0xFF;
  }

  long varint() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int next = u8();
      value |= (long) (next & 0x7F) << shift;
      if (next < 0x80) {
        if ((next == 0 && shift > 0) || (shift == 63 && next > 1)) {
          throw malformed("a number has more bytes than it needs or than 64 bits");
        }
        return value;
      }
    }
    throw malformed("a number has more than 64 bits");
  }

  long zigzag() {
    long value = varint();
    return (value >>> 1) ^ -(value & 1);
  }

  /** A number in the range, both ends included. */
  long within(long value, long least, long most) {
    if (value < least || value > most) {
      throw malformed(value + " is not between " + least + " and " + most);
    }
    return value;
  }

  int fixed4() {
    return u8() << 24 | u8() << 16 | u8() << 8 | u8();
  }

  long fixed8() {
    return (long) fixed4() << 32 | (fixed4() & 0xFFFF_FFFFL);
  }

  /** A count of things that take at least {@code least} bytes each. */
  int count(int least) {
    long count = varint();
    if (count < 0 || count > (end - at) / least) {
      throw malformed(
          Long.toUnsignedString(count) + " items are announced, but only " + (end - at) + " bytes");
    }
    return (int) count;
  }

  byte[] raw(int length) {
    byte[] copy = Arrays.copyOfRange(bytes, at, at + length);
    at += length;
    return copy;
  }

  String text() {
    long header = varint();
    long length = header >>> 1;
    boolean wide = (header & 1) == 1;
    if (length > (end - at) / (wide ? 2 : 1)) {
      throw malformed("a text of " + length + " characters does not fit the remaining bytes");
    }
    return wide ? wideText((int) length) : latinText((int) length);
  }

  private String latinText(int length) {
    var text = new String(bytes, at, length, ISO_8859_1);
    at += length;
    return text;
  }

  private String wideText(int length) {
    var chars = new char[length];
    int all = 0;
    for (int i = 0; i < length; i++, at += 2) {
      chars[i] = (char) (bytes[at] << 8 | (bytes[at + 1] & 0xFF));
      all |= chars[i];
    }
    if (all <= 0xFF) {
      throw malformed("a Latin-1 text is written as if it were none");
    }
    return new String(chars);
  }

  /** Begins a packed value that may not read past its length; returns the end of the whole. */
  int startPack() {
    int length = count(1);
    int outerEnd = end;
    end = at + length;
    return outerEnd;
  }

  int remaining() {
    return end - at;
  }

  void endPack(int outerEnd) {
    finish();
    end = outerEnd;
  }

  String name() {
    long number = varint();
    Tables tables = tables();
    List<String> names = tables.names;
    if (number != 0) {
      return names.get((int) within(number, 1, names.size()) - 1);
    }
    String name = text();
    if (names.size() >= Tag.MAX_NAMES || !tables.definitions.add("n" + name)) {
      throw malformed("too many names, or the same name twice");
    }
    names.add(name);
    return name;
  }

  /** A layout; recognised without reading its names if it is the expected one. */
  WireLayout layout(@Nullable Layout expected) {
    long number = varint();
    Tables tables = tables();
    List<WireLayout> layouts = tables.layouts;
    if (number != 0) {
      return layouts.get((int) within(number, 1, layouts.size()) - 1);
    }
    int start = at;
    WireLayout layout =
        expected != null && startsWith(expected.definition)
            ? new WireLayout(expected.names, expected)
            : new WireLayout(componentNames(), null);
    if (layout.expected != null) {
      at += layout.expected.definition.length;
    }
    var definition = new String(bytes, start, at - start, ISO_8859_1);
    if (layouts.size() >= Tag.MAX_LAYOUTS || !tables.definitions.add("l" + definition)) {
      throw malformed("too many record layouts, or the same layout twice");
    }
    layouts.add(layout);
    return layout;
  }

  private boolean startsWith(byte[] prefix) {
    return end - at >= prefix.length
        && Arrays.equals(bytes, at, at + prefix.length, prefix, 0, prefix.length);
  }

  private List<String> componentNames() {
    int count = count(1);
    var names = new ArrayList<String>();
    for (int i = 0; i < count; i++) {
      names.add(text());
    }
    if (new HashSet<>(names).size() != count) {
      throw malformed("a record layout names a component twice");
    }
    return names;
  }

  /** A key, which must be greater than the one of the bytes given, if there are any. */
  @Nullable Object key(Shape shape, int before, int beforeEnd) {
    Tables outer = tables;
    tables = null;
    int start = at;
    enterKey();
    Object key = shape.get(this);
    leaveKey();
    tables = outer;
    ascending(before, beforeEnd, start);
    return key;
  }

  private void ascending(int before, int beforeEnd, int start) {
    if (before < beforeEnd
        && Arrays.compareUnsigned(bytes, before, beforeEnd, bytes, start, at) >= 0) {
      throw malformed("keys are not in ascending order");
    }
  }

  /** Passes over a value of whatever type. */
  void skip() {
    int tag = u8();
    switch (tag) {
      case Tag.NULL, Tag.FALSE, Tag.TRUE, Tag.NONE -> {}
      case Tag.INT -> varint();
      case Tag.FLOAT -> fixed4();
      case Tag.DOUBLE -> fixed8();
      case Tag.STRING -> text();
      case Tag.PACK -> pass(1);
      case Tag.INTS -> {
        for (int left = count(1); left > 0; left--) {
          varint();
        }
      }
      case Tag.FLOATS -> pass(4);
      case Tag.DOUBLES -> pass(8);
      case Tag.ENUM -> name();
      case Tag.VARIANT -> skipVariant();
      case Tag.SOME, Tag.LIST, Tag.SET, Tag.MAP, Tag.RECORD -> skipContainer(tag);
      default -> throw malformed("there is no tag " + tag);
    }
  }

  private void pass(int width) {
    int count = count(width);
    at += width * count;
  }

  private void skipVariant() {
    name();
    if (at < end && bytes[at] != Tag.RECORD && bytes[at] != Tag.ENUM) {
      throw malformed("a variant is neither record nor enum");
    }
    skip();
  }

  private void skipContainer(int tag) {
    enter();
    switch (tag) {
      case Tag.SOME -> skip();
      case Tag.LIST -> skipAll(count(1));
      case Tag.RECORD -> skipAll(layout(null).names.size());
      default -> skipKeys(tag == Tag.MAP);
    }
    leave();
  }

  private void skipAll(int count) {
    for (int left = count; left > 0; left--) {
      skip();
    }
  }

  private void skipKeys(boolean values) {
    int count = count(values ? 2 : 1);
    int before = at;
    int beforeEnd = at;
    for (int i = 0; i < count; i++) {
      int start = at;
      Tables outer = tables;
      tables = null;
      skip();
      tables = outer;
      ascending(before, beforeEnd, start);
      before = start;
      beforeEnd = at;
      if (values) {
        skip();
      }
    }
  }
}
