package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.store.Key;
import java.lang.foreign.MemorySegment;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A command line as words between blanks. As in memcached there are at most 23; what is beyond them
 * is looked at when it is split from {@link #behind} on.
 */
final class Line {
  static final int MOST_WORDS = 23;

  private final int[] begins = new int[MOST_WORDS];
  private final int[] ends = new int[MOST_WORDS];
  private MemorySegment memory = MemorySegment.NULL;
  private int split;
  private int end;
  private int count;
  private long number;

  /** Splits the bytes, which must stay where they are as long as the line is used. */
  void split(MemorySegment memory, int from, int to) {
    this.memory = memory;
    end = to;
    split = from;
    splitMore();
  }

  private void splitMore() {
    count = 0;
    int at = split;
    while (count < MOST_WORDS) {
      while (at < end && memory.get(JAVA_BYTE, at) == ' ') {
        at++;
      }
      if (at == end) {
        break;
      }
      begins[count] = at;
      at = Input.find(memory, (byte) ' ', at, end);
      ends[count++] = at;
    }
    split = at;
  }

  /** Where what is behind these words begins. */
  int behind() {
    return split;
  }

  /** Where the line ends. */
  int end() {
    return end;
  }

  /** Moves to other memory, as where it is will be used for something else. */
  void moveTo(MemorySegment other, long to) {
    MemorySegment.copy(memory, begins[0], other, to, end - begins[0]);
    wasMovedTo(other, (int) to);
  }

  /** Its bytes, from the first word on, are elsewhere by now. */
  void wasMovedTo(MemorySegment other, int to) {
    int by = to - begins[0];
    memory = other;
    for (int word = 0; word < count; word++) {
      begins[word] += by;
      ends[word] += by;
    }
    split += by;
    end += by;
  }

  /** Forgets the memory, which is about to belong to another connection. */
  void clear() {
    memory = MemorySegment.NULL;
    count = 0;
  }

  int count() {
    return count;
  }

  int begin(int word) {
    return begins[word];
  }

  int end(int word) {
    return ends[word];
  }

  int length(int word) {
    return ends[word] - begins[word];
  }

  MemorySegment memory() {
    return memory;
  }

  /** The first byte of a word. */
  byte first(int word) {
    return memory.get(JAVA_BYTE, begins[word]);
  }

  byte byteAt(int index) {
    return memory.get(JAVA_BYTE, index);
  }

  /**
   * A word of up to seven bytes and its length as one number, for comparison with {@link #packed};
   * else 0. By its bytes alone a word that begins with bytes of value 0 would be a shorter one.
   */
  long packed(int word) {
    return length(word) < 8 ? packed(length(word), prefix(word)) : 0;
  }

  private static long packed(int length, long bytes) {
    return (long) length << 56 | bytes;
  }

  /** The first bytes of a word, eight at most, as one number. */
  long prefix(int word) {
    long packed = 0;
    int length = Math.min(8, length(word));
    for (int i = 0; i < length; i++) {
      packed = packed << 8 | (memory.get(JAVA_BYTE, begins[word] + i) & 0xff);
    }
    return packed;
  }

  static long packed(String word) {
    return packed(word.length(), prefix(word));
  }

  /** As {@link #prefix(int)}. */
  static long prefix(String word) {
    long packed = 0;
    for (int i = 0; i < Math.min(8, word.length()); i++) {
      packed = packed << 8 | word.charAt(i);
    }
    return packed;
  }

  boolean is(int word, String text) {
    return word < count && text(word).equals(text);
  }

  boolean startsWith(int word, byte[] text) {
    boolean same = length(word) >= text.length;
    for (int i = 0; same && i < text.length; i++) {
      same = memory.get(JAVA_BYTE, begins[word] + i) == text[i];
    }
    return same;
  }

  /** The words that were found first, for people. */
  @Override
  public String toString() {
    return IntStream.range(0, count).mapToObj(this::text).collect(Collectors.joining(" "));
  }

  /** A word as text, a character for each byte. */
  String text(int word) {
    return new String(memory.asSlice(begins[word], length(word)).toArray(JAVA_BYTE), ISO_8859_1);
  }

  boolean isKey(int word) {
    return length(word) <= Key.MAX_LENGTH;
  }

  Key key(int word, Key key) {
    return key.set(memory, begins[word], length(word));
  }

  /** Whether some word, here or behind, is longer. Changes nothing. */
  boolean hasWordBeyond(int length) {
    for (int at = begins[0]; at < end; ) {
      int blank = Input.find(memory, (byte) ' ', at, end);
      if (blank - at > length) {
        return true;
      }
      at = blank + 1;
    }
    return false;
  }

  /** The number that the last successful reading found, cut to 32 bits as memcached does. */
  int integer() {
    return (int) number;
  }

  /** The number that the last successful reading found. */
  long number() {
    return number;
  }

  /** Reads a word as a signed number, of which 32 bits count. */
  boolean readInt(int word) {
    return readInt(begins[word], ends[word]);
  }

  /** Reads what follows the first byte of a flag as a signed number of 32 bits. */
  boolean readFlagInt(int word) {
    return readInt(begins[word] + 1, ends[word]);
  }

  private boolean readInt(int from, int to) {
    return read(from, to, true);
  }

  /** Reads a word as a number of 64 bits without sign. */
  boolean readLong(int word) {
    return read(begins[word], ends[word], false);
  }

  boolean readFlagLong(int word) {
    return read(begins[word] + 1, ends[word], false);
  }

  /**
   * As C's strtol and strtoull do: blanks, a sign, digits, and then nothing or a blank, behind
   * which all is ignored.
   */
  private boolean read(int from, int to, boolean signed) {
    int at = from;
    while (at < to && isBlank(memory.get(JAVA_BYTE, at))) {
      at++;
    }
    boolean negative = at < to && memory.get(JAVA_BYTE, at) == '-';
    if (negative || (at < to && memory.get(JAVA_BYTE, at) == '+')) {
      at++;
    }
    int first = at;
    long value = 0;
    for (; at < to; at++) {
      int digit = memory.get(JAVA_BYTE, at) - '0';
      if (digit < 0 || digit > 9) {
        break;
      }
      if (value < 0 || value > TENTH || (value == TENTH && digit > 5)) {
        return false;
      }
      value = value * 10 + digit;
    }
    if (at == first || (at < to && !isBlank(memory.get(JAVA_BYTE, at)))) {
      return false;
    }
    number = negative ? -value : value;
    boolean least = negative && value == Long.MIN_VALUE;
    return signed ? value >= 0 || least : !negative || number >= 0;
  }

  private static final long TENTH = Long.divideUnsigned(-1, 10);

  private static boolean isBlank(byte b) {
    return b == ' ' || (b >= '\t' && b <= '\r');
  }
}
