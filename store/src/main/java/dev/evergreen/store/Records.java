package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;

/**
 * The layout of records. A place is an offset into the store's memory; all records begin and end at
 * multiples of 8.
 *
 * <pre>
 * item      0 size  4 key length  5 bits  6 epoch  8 CAS  16 value length  20 client flags  24 expiry  28 last access
 *           32 key, then the value; or, of a large item, from the next multiple of 8 the places of its fragments
 * fragment  0 size  4 zero        5 bits           8 hash of the key       16 number        24 a part of the value
 * </pre>
 *
 * <p>An item is <em>large</em> if its record would exceed a sixteenth of a segment. Its value is
 * cut into fragments, so that memory need not be contiguous for it, and the ends of segments that
 * no record fits in stay small.
 *
 * <p>Invariant: size, key length, key, hash, number, and whether the record is large or a fragment
 * never change while the record exists. All else of an item that is linked changes only under the
 * lock of its bucket.
 */
final class Records {
  static final int HEADER = 32;
  static final int FRAGMENT_HEADER = 24;

  static final int FREQUENCY = 3;
  static final int FETCHED = 4;
  static final int STALE = 8;
  static final int WON = 16;
  static final int LARGE = 32;
  static final int FRAGMENT = 64;
  static final int BINARY = 128;

  private static final int MOST_FRAGMENTS = 1024;

  final MemorySegment memory;
  private final int segmentSize;

  /** The largest record of an item that is not large. */
  final int plainLimit;

  Records(MemorySegment memory, int segmentSize) {
    this.memory = memory;
    this.segmentSize = segmentSize;
    this.plainLimit = segmentSize / 16;
  }

  static int align(int bytes) {
    return (bytes + 7) & -8;
  }

  boolean isLargeSize(int keyLength, int valueLength) {
    return HEADER + keyLength + (long) valueLength > plainLimit;
  }

  /** How many bytes of a large value each fragment holds, the last excepted. */
  int fragmentBytes(int valueLength) {
    int bytes = plainLimit - FRAGMENT_HEADER;
    while (valueLength / bytes >= MOST_FRAGMENTS && bytes * 2 < segmentSize / 2) {
      bytes *= 2;
    }
    return bytes;
  }

  int fragments(int valueLength) {
    return Math.ceilDiv(valueLength, fragmentBytes(valueLength));
  }

  int fragmentSize(int valueLength, int number) {
    int each = fragmentBytes(valueLength);
    return align(FRAGMENT_HEADER + Math.min(each, valueLength - number * each));
  }

  /** The size of the record that has the key. */
  int headSize(int keyLength, int valueLength) {
    return isLargeSize(keyLength, valueLength)
        ? align(HEADER + keyLength) + 8 * fragments(valueLength)
        : align(HEADER + keyLength + valueLength);
  }

  /** The bytes of all records of an item. */
  long itemSize(int keyLength, int valueLength) {
    long size = headSize(keyLength, valueLength);
    if (isLargeSize(keyLength, valueLength)) {
      int count = fragments(valueLength);
      size += (count - 1L) * fragmentSize(valueLength, 0) + fragmentSize(valueLength, count - 1);
    }
    return size;
  }

  long itemSize(long place) {
    return itemSize(keyLength(place), valueLength(place));
  }

  void writeItem(long place, Key key, int valueLength) {
    boolean large = isLargeSize(key.length, valueLength);
    memory.set(JAVA_INT, place, headSize(key.length, valueLength));
    memory.set(JAVA_BYTE, place + 4, (byte) key.length);
    bits(place, large ? LARGE : 0);
    memory.set(JAVA_INT, place + 16, valueLength);
    expiry(place, 0);
    MemorySegment.copy(key.bytes, key.at, memory, keyAt(place), key.length);
  }

  void writeFragment(long place, int size, long hash, int number) {
    memory.set(JAVA_INT, place, size);
    memory.set(JAVA_BYTE, place + 4, (byte) 0);
    bits(place, FRAGMENT);
    memory.set(JAVA_LONG, place + 8, hash);
    memory.set(JAVA_INT, place + 16, number);
  }

  int size(long place) {
    return memory.get(JAVA_INT, place);
  }

  int keyLength(long place) {
    return memory.get(JAVA_BYTE, place + 4) & 0xff;
  }

  static long keyAt(long place) {
    return place + HEADER;
  }

  boolean hasKey(long place, Key key) {
    return keyLength(place) == key.length && key.equalsAt(memory, keyAt(place));
  }

  int bits(long place) {
    return memory.get(JAVA_BYTE, place + 5);
  }

  void bits(long place, int bits) {
    memory.set(JAVA_BYTE, place + 5, (byte) bits);
  }

  boolean isLarge(long place) {
    return (bits(place) & LARGE) != 0;
  }

  boolean isFragment(long place) {
    return (bits(place) & FRAGMENT) != 0;
  }

  short epoch(long place) {
    return memory.get(JAVA_SHORT, place + 6);
  }

  void epoch(long place, short epoch) {
    memory.set(JAVA_SHORT, place + 6, epoch);
  }

  long cas(long place) {
    return memory.get(JAVA_LONG, place + 8);
  }

  void cas(long place, long cas) {
    memory.set(JAVA_LONG, place + 8, cas);
  }

  int valueLength(long place) {
    return memory.get(JAVA_INT, place + 16);
  }

  /** Only for lengths that need the same size of record. */
  void valueLength(long place, int length) {
    memory.set(JAVA_INT, place + 16, length);
  }

  int flags(long place) {
    return memory.get(JAVA_INT, place + 20);
  }

  void flags(long place, int flags) {
    memory.set(JAVA_INT, place + 20, flags);
  }

  int expiry(long place) {
    return memory.get(JAVA_INT, place + 24);
  }

  void expiry(long place, int expiry) {
    memory.set(JAVA_INT, place + 24, expiry);
  }

  int lastAccess(long place) {
    return memory.get(JAVA_INT, place + 28);
  }

  void lastAccess(long place, int second) {
    memory.set(JAVA_INT, place + 28, second);
  }

  long fragmentHash(long place) {
    return memory.get(JAVA_LONG, place + 8);
  }

  int fragmentNumber(long place) {
    return memory.get(JAVA_INT, place + 16);
  }

  long fragment(long place, int number) {
    return memory.get(JAVA_LONG, fragmentTable(place) + 8L * number);
  }

  void fragment(long place, int number, long fragment) {
    memory.set(JAVA_LONG, fragmentTable(place) + 8L * number, fragment);
  }

  private long fragmentTable(long place) {
    return place + align(HEADER + keyLength(place));
  }

  /** Where the byte of the value is. */
  long valueAt(long place, int offset) {
    if (!isLarge(place)) {
      return keyAt(place) + keyLength(place) + offset;
    }
    int each = fragmentBytes(valueLength(place));
    return fragment(place, offset / each) + FRAGMENT_HEADER + offset % each;
  }

  /** How many bytes of the value are contiguous from the offset on. */
  int contiguous(long place, int offset) {
    int rest = valueLength(place) - offset;
    if (!isLarge(place)) {
      return rest;
    }
    int each = fragmentBytes(valueLength(place));
    return Math.min(rest, each - offset % each);
  }

  /** Copies a part of the value to the target. */
  void read(long place, int offset, MemorySegment target, long to, int length) {
    for (int done = 0; done < length; ) {
      int piece = Math.min(length - done, contiguous(place, offset + done));
      MemorySegment.copy(memory, valueAt(place, offset + done), target, to + done, piece);
      done += piece;
    }
  }

  /** Copies the source to a part of the value. */
  void write(long place, int offset, MemorySegment source, long from, int length) {
    for (int done = 0; done < length; ) {
      int piece = Math.min(length - done, contiguous(place, offset + done));
      MemorySegment.copy(source, from + done, memory, valueAt(place, offset + done), piece);
      done += piece;
    }
  }

  /** Copies a whole value into a part of another one. */
  void copyValue(long source, long target, int offset) {
    int length = valueLength(source);
    for (int done = 0; done < length; ) {
      int piece = contiguous(source, done);
      write(target, offset + done, memory, valueAt(source, done), piece);
      done += piece;
    }
  }
}
