package dev.evergreen.proxy.storage;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;

/** Writes objects that are there already. */
final class ObjectWriter {
  private ObjectWriter() {}

  /** Appends an object; its pieces first, if it is large. Returns its place. */
  static long write(SegmentLog log, long hash, long stamp, Image image) throws IOException {
    var prefix = image.bytes.pieces(0, image.bodyAt());
    int length = image.bodyLength();
    if (DiskRecord.size(image.bodyAt(), length) <= PiecePlace.LENGTH + DiskRecord.HEADER) {
      var body = image.bytes.pieces(image.bodyAt(), length);
      return log.append(false, hash, stamp, length, image.bodyAt(), 0, join(prefix, body));
    }
    int pieces = Math.ceilDiv(length, PiecePlace.LENGTH);
    var table = ByteBuffer.allocate(8 * pieces).order(LITTLE_ENDIAN);
    for (int i = 0; i < pieces; i++) {
      int from = i * PiecePlace.LENGTH;
      int count = Math.min(PiecePlace.LENGTH, length - from);
      var part = image.bytes.pieces(image.bodyAt() + from, count);
      long place = log.append(true, hash, stamp, count, 0, i, part);
      table.putLong(PiecePlace.of(place, log.segment(Place.segment(place)).sequence));
    }
    return log.append(
        false,
        hash,
        stamp,
        length,
        image.bodyAt(),
        pieces,
        join(prefix, new ByteBuffer[] {table.flip()}));
  }

  private static ByteBuffer[] join(ByteBuffer[] a, ByteBuffer[] b) {
    var joined = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, joined, a.length, b.length);
    return joined;
  }

  /** Writes a large object once more, with another prefix, for the pieces that there are. */
  static final class Again extends SegmentLog.Job {
    final CompletableFuture<Boolean> done = new CompletableFuture<>();
    private final DiskObject object;
    private final long hash;
    private final byte[] prefix;
    private final long stamp;
    private final BooleanSupplier present;
    private final LongPredicate entering;
    private long place;

    /**
     * Of an object.
     *
     * @param present whether the object is still there; else what is written would be found in the
     *     place of a newer one after a restart
     * @param entering has what is written found, and says whether it is
     */
    Again(
        DiskObject object,
        long hash,
        byte[] prefix,
        long stamp,
        BooleanSupplier present,
        LongPredicate entering) {
      this.object = object;
      this.hash = hash;
      this.prefix = prefix;
      this.stamp = stamp;
      this.present = present;
      this.entering = entering;
    }

    @Override
    void write(SegmentLog log) throws IOException {
      if (!present.getAsBoolean()) {
        throw new SegmentLog.NoRoomException("the object is there no more");
      }
      var record = object.record;
      place =
          log.append(
              false,
              hash,
              stamp,
              record.bodyLength(),
              prefix.length,
              record.pieces(),
              ByteBuffer.wrap(prefix),
              object.table());
    }

    @Override
    void written() {
      done.complete(entering.test(place));
    }

    @Override
    void failed() {
      done.complete(false);
    }

    @Override
    boolean isUrgent() {
      return true;
    }
  }
}
