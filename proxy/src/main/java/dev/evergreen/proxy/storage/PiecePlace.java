package dev.evergreen.proxy.storage;

/**
 * Where a piece is: 20 bits of segment, 26 of offset in units of 16 bytes, and 18 of the segment's
 * sequence, which tell whether the segment is still in the same use.
 */
final class PiecePlace {
  /** The bytes of each piece but the last: with its header it fills a buffer. */
  static final int LENGTH = dev.evergreen.fibers.Buffers.SIZE - DiskRecord.HEADER;

  private static final int SEQUENCE = 18;
  private static final long SEQUENCE_MASK = (1L << SEQUENCE) - 1;
  private static final int OFFSET = 26;
  private static final long OFFSET_MASK = (1L << OFFSET) - 1;

  private PiecePlace() {}

  static long of(long place, long sequence) {
    return ((long) Place.segment(place) << (SEQUENCE + OFFSET))
        | ((long) (Place.offset(place) / Place.UNIT) << SEQUENCE)
        | (sequence & SEQUENCE_MASK);
  }

  static int segment(long piece) {
    return (int) (piece >>> (SEQUENCE + OFFSET));
  }

  static int offset(long piece) {
    return (int) ((piece >>> SEQUENCE) & OFFSET_MASK) * Place.UNIT;
  }

  static boolean isIn(long piece, Segment segment) {
    return (piece & SEQUENCE_MASK) == (segment.sequence & SEQUENCE_MASK);
  }
}
