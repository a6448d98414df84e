package dev.evergreen.proxy.storage;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;

/** Bytes in native memory that lie in one or several places. */
interface Bytes {
  int length();

  /** From the offset on, as far as they lie in one place: not empty before the end. */
  MemorySegment from(int offset);

  /** Whether the bytes at the offset are those of the key. */
  default boolean equalsAt(int offset, MemorySegment key) {
    for (long done = 0; done < key.byteSize(); ) {
      var piece = from(Math.toIntExact(offset + done));
      long n = Math.min(piece.byteSize(), key.byteSize() - done);
      if (n == 0 || MemorySegment.mismatch(piece, 0, n, key, done, done + n) != -1) {
        return false;
      }
      done += n;
    }
    return true;
  }

  /** Read-only views of a range. */
  default ByteBuffer[] pieces(int offset, int length) {
    var first = from(offset);
    if (first.byteSize() >= length) {
      return length == 0 ? NONE : new ByteBuffer[] {view(first, length)};
    }
    var pieces = new ArrayList<ByteBuffer>();
    for (int done = 0; done < length; ) {
      var piece = from(offset + done);
      int n = (int) Math.min(piece.byteSize(), length - done);
      pieces.add(view(piece, n));
      done += n;
    }
    return pieces.toArray(NONE);
  }

  ByteBuffer[] NONE = {};

  private static ByteBuffer view(MemorySegment piece, int length) {
    return piece.asSlice(0, length).asByteBuffer().asReadOnlyBuffer();
  }

  /** A range in one place, copied if it is not. */
  default ByteBuffer whole(int offset, int length) {
    var pieces = pieces(offset, length);
    if (pieces.length == 1) {
      return pieces[0];
    }
    var copy = ByteBuffer.allocateDirect(length);
    for (var piece : pieces) {
      copy.put(piece);
    }
    return copy.flip().asReadOnlyBuffer();
  }

  default byte[] copy(int offset, int length) {
    var copy = new byte[length];
    for (int done = 0; done < length; ) {
      var piece = from(offset + done);
      int n = (int) Math.min(piece.byteSize(), length - done);
      MemorySegment.copy(piece, 0, MemorySegment.ofArray(copy), done, n);
      done += n;
    }
    return copy;
  }

  /** All bytes of a segment. */
  static Bytes of(MemorySegment bytes) {
    return new Bytes() {
      @Override
      public int length() {
        return Math.toIntExact(bytes.byteSize());
      }

      @Override
      public MemorySegment from(int offset) {
        return bytes.asSlice(offset);
      }
    };
  }
}
