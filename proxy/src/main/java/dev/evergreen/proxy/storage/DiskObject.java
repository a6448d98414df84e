package dev.evergreen.proxy.storage;

import dev.evergreen.fibers.Buffers;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.HashSet;
import org.jspecify.annotations.Nullable;

/** An object's record, read and checked. A large one's segments are pinned until it is closed. */
final class DiskObject implements AutoCloseable {
  final DiskRecord record;
  final long place;
  final Image image;
  private final ByteBuffer buffer;
  private Pins.@Nullable Pin pin;
  private Buffers.@Nullable Loan loan;

  /**
   * An object in a buffer; null if what is written there is none.
   *
   * @param loan what the buffer belongs to, if it was lent
   */
  static @Nullable DiskObject of(
      DiskRecord record, long place, ByteBuffer buffer, Buffers.@Nullable Loan loan) {
    try {
      return new DiskObject(record, place, buffer, loan);
    } catch (IndexOutOfBoundsException e) {
      return null;
    }
  }

  private DiskObject(
      DiskRecord record, long place, ByteBuffer buffer, Buffers.@Nullable Loan loan) {
    this.record = record;
    this.place = place;
    this.buffer = buffer;
    this.loan = loan;
    image = image(record, buffer);
  }

  private static Image image(DiskRecord record, ByteBuffer buffer) {
    int length = record.prefixLength() + (record.pieces() > 0 ? 0 : record.restLength());
    return new Image(Bytes.of(MemorySegment.ofBuffer(buffer).asSlice(DiskRecord.HEADER, length)));
  }

  /** What became of the object whose record is at the beginning of the buffer. */
  static Marks.State state(Marks marks, DiskRecord record, ByteBuffer buffer) {
    return marks.state(record.stamp(), image(record, buffer.duplicate().position(0)));
  }

  boolean hasPieces() {
    return record.pieces() > 0;
  }

  /** Where the piece is, see {@link PiecePlace}. */
  long piece(int number) {
    return buffer.getLong(tableAt() + 8 * number);
  }

  private int tableAt() {
    return DiskRecord.HEADER + record.prefixLength();
  }

  /** The places of all pieces. */
  ByteBuffer table() {
    return buffer.slice(tableAt(), record.restLength());
  }

  /**
   * Pins the segments of all pieces, if so many may be pinned; false if a piece is not there any
   * more.
   */
  boolean pinPieces(SegmentLog log, Recipient recipient) {
    var segments = new HashSet<Segment>();
    for (int i = 0; i < record.pieces(); i++) {
      var segment = log.segmentOf(piece(i));
      if (segment == null) {
        return false;
      }
      segments.add(segment);
    }
    pin = log.pin(recipient);
    pin.add(segments);
    for (int i = 0; i < record.pieces(); i++) {
      if (!log.has(piece(i))) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() {
    if (pin != null) {
      pin.close();
      pin = null;
    }
    if (loan != null) {
      loan.close();
      loan = null;
    }
  }
}
