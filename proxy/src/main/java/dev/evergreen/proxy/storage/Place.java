package dev.evergreen.proxy.storage;

/**
 * Where a record is on disk, as one number of 56 bits, never 0: which segment file, where in it,
 * and how long it is at most.
 *
 * <pre>
 * bits 0-7 class of length  8-33 offset in units of 16 bytes  34-53 segment  54-55 hits
 * </pre>
 */
final class Place {
  /** Records begin at multiples of this. */
  static final int UNIT = 16;

  private static final int OFFSET = 8;
  private static final int SEGMENT = 34;
  private static final int HITS = 54;
  private static final long ONE_HIT = 1L << HITS;
  static final long HIT_BITS = 3L << HITS;

  /** All that a place has. */
  static final long MASK = (1L << 56) - 1;

  private Place() {}

  static long of(int segment, int offset, int size) {
    return ((long) segment << SEGMENT) | ((long) (offset / UNIT) << OFFSET) | lengthClass(size);
  }

  static int segment(long place) {
    return (int) (place >>> SEGMENT) & 0xfffff;
  }

  static int offset(long place) {
    return ((int) (place >>> OFFSET) & 0x3ffffff) * UNIT;
  }

  /** Not less than the record's size, and a sixteenth more at most. */
  static int mostSize(long place) {
    int lengthClass = (int) place & 0xff;
    return ((16 + (lengthClass & 15)) << (lengthClass >>> 4)) * UNIT;
  }

  static boolean isSame(long a, long b) {
    return ((a ^ b) & MASK & ~HIT_BITS) == 0;
  }

  static boolean isHit(long place) {
    return (place & HIT_BITS) != 0;
  }

  /** The place with one hit more, of at most three. */
  static long hit(long place) {
    return (place & HIT_BITS) == HIT_BITS ? place : place + ONE_HIT;
  }

  /** A number with four bits of mantissa behind an implied one, so rounded up by a 16th at most. */
  private static int lengthClass(int size) {
    int units = Math.max(16, Math.ceilDiv(size, UNIT));
    int exponent = 27 - Integer.numberOfLeadingZeros(units);
    int mantissa = Math.ceilDiv(units, 1 << exponent);
    return mantissa == 32 ? (exponent + 1) << 4 : (exponent << 4) | (mantissa - 16);
  }
}
