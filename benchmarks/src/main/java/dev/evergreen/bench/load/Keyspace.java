package dev.evergreen.bench.load;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Keys and the one value that each of them has, the same in every process. So a reply can be
 * checked to the last byte, whoever set the value. Requests are written and replies compared
 * without allocation.
 */
final class Keyspace implements AutoCloseable {

  private static final int LONGEST_KEY = 250;

  /** Below memcached's limit for an item. */
  private static final int LONGEST_VALUE = 500_000;

  /** Values are parts of one long text, each from a place of its own. */
  private static final int PLACES = 1 << 16;

  private static final byte[] VALUE = ascii("VALUE ");
  private static final MemorySegment GET = MemorySegment.ofArray(ascii("get "));
  private static final MemorySegment SET = MemorySegment.ofArray(ascii("set "));
  private static final MemorySegment ZEROS = MemorySegment.ofArray(ascii(" 0 0 "));
  private static final MemorySegment LINE_END = MemorySegment.ofArray(ascii("\r\n"));
  private static final MemorySegment END = MemorySegment.ofArray(ascii("\r\nEND\r\n"));

  /** How much longer a request or a reply is than its value. */
  static final int LONGEST_FRAME = LONGEST_KEY + 64;

  private final Arena arena = Arena.ofShared();
  private final int[] headerStarts;
  private final byte[] keyLengths;
  private final int[] valueLengths;

  /** "VALUE key 0 length\r\n" of all keys. */
  private final MemorySegment headers;

  private final MemorySegment text;

  Keyspace(int keys, Pool pool) {
    var random = new SplittableRandom(1);
    headerStarts = new int[keys + 1];
    keyLengths = new byte[keys];
    valueLengths = new int[keys];
    int longest = 0;
    int digits = String.valueOf(keys - 1).length();
    for (int key = 0; key < keys; key++) {
      int length = Math.clamp(Math.round(pool.keyLength().draw(random)), digits, LONGEST_KEY);
      keyLengths[key] = (byte) length;
      valueLengths[key] = Math.clamp(Math.round(pool.valueLength().draw(random)), 0, LONGEST_VALUE);
      longest = Math.max(longest, valueLengths[key]);
      headerStarts[key + 1] =
          headerStarts[key] + VALUE.length + length + 5 + digits(valueLengths[key]);
    }
    headers = arena.allocate(headerStarts[keys]);
    for (int key = 0; key < keys; key++) {
      var name = "0".repeat(keyLength(key) - digits(key)) + key;
      var header = ascii("VALUE " + name + " 0 " + valueLengths[key] + "\r\n");
      MemorySegment.copy(header, 0, headers, JAVA_BYTE, headerStarts[key], header.length);
    }
    text = arena.allocate((long) PLACES + longest);
    for (long i = 0; i < text.byteSize(); i++) {
      text.set(JAVA_BYTE, i, (byte) random.nextInt('a', 'z' + 1));
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static int digits(int number) {
    return String.valueOf(number).length();
  }

  int size() {
    return keyLengths.length;
  }

  int longestValue() {
    return (int) text.byteSize() - PLACES;
  }

  private int keyLength(int key) {
    return Byte.toUnsignedInt(keyLengths[key]);
  }

  private int headerLength(int key) {
    return headerStarts[key + 1] - headerStarts[key];
  }

  private static long place(int key) {
    return ((key * 0x9E3779B1L) >>> 16) % PLACES;
  }

  /** Writes a get; returns where it ends. */
  long writeGet(int key, MemorySegment into, long at) {
    long end = append(GET, 0, GET.byteSize(), into, at);
    end = append(headers, headerStarts[key] + VALUE.length, keyLength(key), into, end);
    return append(LINE_END, 0, 2, into, end);
  }

  /** Writes a set of the key's value; returns where it ends. */
  long writeSet(int key, MemorySegment into, long at) {
    long end = append(SET, 0, SET.byteSize(), into, at);
    int name = headerStarts[key] + VALUE.length;
    end = append(headers, name, keyLength(key), into, end);
    end = append(ZEROS, 0, ZEROS.byteSize(), into, end);
    int length = name + keyLength(key) + 3;
    end = append(headers, length, headerStarts[key + 1] - length, into, end);
    end = append(text, place(key), valueLengths[key], into, end);
    return append(LINE_END, 0, 2, into, end);
  }

  private static long append(
      MemorySegment from, long start, long length, MemorySegment into, long at) {
    MemorySegment.copy(from, start, into, at, length);
    return at + length;
  }

  /** How long the reply to a get is that finds the key. */
  long hitLength(int key) {
    return headerLength(key) + valueLengths[key] + END.byteSize();
  }

  /** Whether the bytes from {@code at} to {@code end} are a hit, or the beginning of one. */
  boolean isHit(int key, MemorySegment reply, long at, long end) {
    long value = at + headerLength(key);
    long rest = value + valueLengths[key];
    return same(reply, at, Math.min(end, value), headers, headerStarts[key])
        && same(reply, value, Math.min(end, rest), text, place(key))
        && same(reply, rest, Math.min(end, rest + END.byteSize()), END, 0);
  }

  private static boolean same(
      MemorySegment reply, long at, long end, MemorySegment expected, long start) {
    return end <= at
        || MemorySegment.mismatch(reply, at, end, expected, start, start + end - at) < 0;
  }

  @Override
  public void close() {
    arena.close();
  }
}
