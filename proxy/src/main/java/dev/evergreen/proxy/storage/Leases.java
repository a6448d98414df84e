package dev.evergreen.proxy.storage;

import dev.evergreen.fibers.Buffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Leases of what is stored. */
final class Leases {
  private Leases() {}

  /** What {@link Storage#replaceHead} has to know of a lease. */
  abstract static sealed class Stored implements Lease {
    final Image image;
    final long hash;
    private final long stamp;
    private final boolean stale;

    Stored(Image image, long hash, long stamp, boolean stale) {
      this.image = image;
      this.hash = hash;
      this.stamp = image.asked(stamp);
      this.stale = stale;
    }

    /** The stamp that the object has now, see {@link Image#renew}. */
    abstract long present();

    @Override
    public final ByteBuffer head() {
      return image.bytes.whole(image.headAt(), image.headLength);
    }

    @Override
    public final byte[] variant() {
      return image.bytes.copy(image.variantAt(), image.variantLength);
    }

    @Override
    public final long stamp() {
      return stamp;
    }

    @Override
    public final boolean isStale() {
      return stale;
    }

    /** A part of a body that is behind its head. */
    final ByteBuffer[] readImage(long offset, long most) {
      check(offset, length());
      int length = (int) Math.min(most, length() - offset);
      return image.bytes.pieces(image.bodyAt() + (int) offset, length);
    }
  }

  static void check(long offset, long length) {
    if (offset < 0 || offset > length) {
      throw new IndexOutOfBoundsException(
          "the offset is %d; the body has %d bytes".formatted(offset, length));
    }
  }

  static final class OfMemory extends Stored {
    private final MemoryTier.Held held;
    private boolean closed;

    OfMemory(Image image, MemoryTier.Held held, long hash, boolean stale) {
      super(image, hash, held.stamp, stale);
      this.held = held;
    }

    @Override
    long present() {
      return held.stamp;
    }

    @Override
    public Source source() {
      return Source.MEMORY;
    }

    @Override
    public long length() {
      return image.bodyLength();
    }

    @Override
    public ByteBuffer[] read(long offset, long most) {
      return readImage(offset, most);
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        held.close();
      }
    }
  }

  /** Of what may not be held: each piece is copied, as long as it is there. */
  static final class OfMemoryUnheld extends Stored {
    private final MemoryTier.Unheld object;
    private Buffers.@Nullable Loan piece;
    private boolean closed;

    OfMemoryUnheld(Image image, MemoryTier.Unheld object, long hash, boolean stale) {
      super(image, hash, object.stamp, stale);
      this.object = object;
    }

    @Override
    long present() {
      return object.stamp;
    }

    @Override
    public Source source() {
      return Source.MEMORY;
    }

    @Override
    public long length() {
      return object.bodyLength();
    }

    @Override
    public ByteBuffer[] read(long offset, long most) throws IOException {
      check(offset, length());
      letGo();
      int count = (int) Math.min(Math.min(most, Buffers.SIZE), length() - offset);
      if (count == 0 || closed) {
        return Bytes.NONE;
      }
      piece = Buffers.borrow();
      if (!object.copyBody(offset, piece.buffer(), count)) {
        letGo();
        throw DamagedException.evicted();
      }
      return new ByteBuffer[] {piece.buffer().slice(0, count).asReadOnlyBuffer()};
    }

    private void letGo() {
      if (piece != null) {
        piece.close();
        piece = null;
      }
    }

    @Override
    public void close() {
      closed = true;
      letGo();
    }
  }

  static final class OfDisk extends Stored {
    final DiskObject object;
    private final DiskTier disk;
    private Buffers.@Nullable Loan piece;
    private int number = -1;
    private boolean closed;

    OfDisk(DiskObject object, DiskTier disk, boolean stale) {
      super(object.image, object.record.hash(), object.record.stamp(), stale);
      this.object = object;
      this.disk = disk;
    }

    @Override
    long present() {
      return object.record.stamp();
    }

    @Override
    public Source source() {
      return Source.DISK;
    }

    @Override
    public long length() {
      return object.record.bodyLength();
    }

    @Override
    public ByteBuffer[] read(long offset, long most) throws IOException {
      if (!object.hasPieces()) {
        return readImage(offset, most);
      }
      check(offset, length());
      if (offset == length() || most == 0) {
        return Bytes.NONE;
      }
      int wanted = (int) (offset / PiecePlace.LENGTH);
      long begin = (long) wanted * PiecePlace.LENGTH;
      int length = (int) Math.min(PiecePlace.LENGTH, length() - begin);
      if (wanted != number) {
        letGo();
        piece = readPiece(wanted, length);
        number = wanted;
      }
      int from = (int) (offset - begin);
      int count = (int) Math.min(most, length - from);
      if (piece == null) {
        throw new IllegalStateException("the lease was closed");
      }
      return new ByteBuffer[] {
        piece.buffer().slice(DiskRecord.HEADER + from, count).asReadOnlyBuffer()
      };
    }

    private Buffers.Loan readPiece(int wanted, int length) throws IOException {
      try {
        return disk.readPiece(hash, object.piece(wanted), wanted, length);
      } catch (IOException e) {
        boolean unused = disk.directory.remove(hash, object.place);
        throw new DamagedException(e);
      }
    }

    private void letGo() {
      if (piece != null) {
        piece.close();
        piece = null;
        number = -1;
      }
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        letGo();
        object.close();
      }
    }
  }
}
