package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * What begins each record of a segment, 64 bytes:
 *
 * <pre>
 *  0 magic        4 size of the record, a multiple of 16
 *  8 sequence of the segment      16 hash of the object      24 stamp
 * 32 bytes of the body            40 of the image before it  44 of what follows that here
 * 48 pieces, or number of this one                           52 CRC32C of the image before the body
 * 56 CRC32C of what follows that  60 CRC32C of these 60 bytes
 * </pre>
 *
 * An <em>object</em> is an {@link Image} before its body, and then the body, or, of a large one,
 * the places of its pieces, 8 bytes each. A <em>piece</em> is a part of a large body.
 */
record DiskRecord(
    boolean isPiece,
    int size,
    long sequence,
    long hash,
    long stamp,
    long bodyLength,
    int prefixLength,
    int restLength,
    int pieces,
    int prefixSum,
    int restSum) {
  static final int HEADER = 64;
  private static final int OBJECT = 0x4f525645;
  private static final int PIECE = 0x50525645;
  private static final int SUM_AT = 60;

  static int size(int prefixLength, int restLength) {
    return (HEADER + prefixLength + restLength + Place.UNIT - 1) & -Place.UNIT;
  }

  void write(ByteBuffer to) {
    int at = to.position();
    to.order(LITTLE_ENDIAN)
        .putInt(isPiece ? PIECE : OBJECT)
        .putInt(size)
        .putLong(sequence)
        .putLong(hash)
        .putLong(stamp)
        .putLong(bodyLength)
        .putInt(prefixLength)
        .putInt(restLength)
        .putInt(pieces)
        .putInt(prefixSum)
        .putInt(restSum);
    to.putInt(sum(to, at, SUM_AT));
  }

  /** Reads what is at the position of the buffer; null if that is no header, or a damaged one. */
  static @Nullable DiskRecord read(ByteBuffer from, int at) {
    var buffer = from.duplicate().order(LITTLE_ENDIAN);
    if (at + HEADER > buffer.limit() || buffer.getInt(at + SUM_AT) != sum(buffer, at, SUM_AT)) {
      return null;
    }
    int magic = buffer.getInt(at);
    var record =
        new DiskRecord(
            magic == PIECE,
            buffer.getInt(at + 4),
            buffer.getLong(at + 8),
            buffer.getLong(at + 16),
            buffer.getLong(at + 24),
            buffer.getLong(at + 32),
            buffer.getInt(at + 40),
            buffer.getInt(at + 44),
            buffer.getInt(at + 48),
            buffer.getInt(at + 52),
            buffer.getInt(at + 56));
    boolean sound =
        (magic == PIECE || magic == OBJECT)
            && record.prefixLength >= 0
            && record.restLength >= 0
            && Marks.isStamp(record.stamp)
            && record.size == size(record.prefixLength, record.restLength)
            && (record.isPiece || record.hasBody());
    return sound ? record : null;
  }

  /** Whether the body that an object tells of is what follows, or has pieces for all of it. */
  private boolean hasBody() {
    return pieces == 0
        ? bodyLength == restLength
        : pieces > 0
            && restLength == 8L * pieces
            && bodyLength >= 0
            && bodyLength <= (long) pieces * PiecePlace.LENGTH;
  }

  /** Whether what follows the header is whole and undamaged. */
  boolean isSound(ByteBuffer from, int at) {
    int prefixAt = at + HEADER;
    int restAt = prefixAt + prefixLength;
    return restAt + (long) restLength <= from.limit()
        && sum(from, prefixAt, prefixLength) == prefixSum
        && sum(from, restAt, restLength) == restSum;
  }

  static int sum(ByteBuffer buffer, int at, int length) {
    var sum = new CRC32C();
    sum.update(buffer.duplicate().limit(at + length).position(at));
    return (int) sum.getValue();
  }
}
