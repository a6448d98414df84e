package dev.evergreen.proxy;

import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.storage.DamagedException;
import dev.evergreen.proxy.storage.IncompleteException;
import dev.evergreen.proxy.storage.Lease;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a response that is there in parts as if it were whole, one after the other. The parts are
 * its caller's, who asks for nothing that is in none of them.
 */
final class PartsLease implements Lease {

  /** One of them. */
  interface Piece {
    ByteRange range();

    /** That of its range of the body. */
    Lease lease() throws IOException;

    /** Whether it is still being received. */
    boolean isComing();

    /** Another one is read now. */
    void leave();
  }

  /** One that is held by its caller, whatever is read. */
  record HeldPiece(ByteRange range, Lease lease, boolean isComing) implements Piece {
    @Override
    public void leave() {}
  }

  private static final ByteBuffer[] NOTHING = {};

  private final List<Piece> pieces;
  private final Lease newest;
  private final long complete;
  private @Nullable Piece current;

  /**
   * Of pieces of one version.
   *
   * @param newest that of which the head is
   * @param complete the length of the whole
   */
  PartsLease(List<Piece> pieces, Lease newest, long complete) {
    this.pieces = List.copyOf(pieces);
    this.newest = newest;
    this.complete = complete;
  }

  @Override
  public ByteBuffer[] read(long offset, long most) throws IOException {
    if (offset >= complete) {
      return NOTHING;
    }
    var piece = at(offset);
    if (piece == null) {
      throw DamagedException.missing();
    }
    if (current != null && current != piece) {
      current.leave();
    }
    current = piece;
    long first = piece.range().first();
    try {
      return piece.lease().read(offset - first, Math.min(most, piece.range().last() - offset + 1));
    } catch (IncompleteException e) {
      if (!e.isTooSlow()) {
        throw e; // Else all who follow it would ask an origin that has failed, each for itself.
      }
      // Who takes what is before it may come too late for what is not stored, through no fault.
      var missing = DamagedException.missing();
      missing.addSuppressed(e);
      throw missing;
    }
  }

  /** The one that goes on for longest from there. */
  private @Nullable Piece at(long offset) {
    Piece best = null;
    for (var piece : pieces) {
      if (piece.range().contains(offset)
          && (best == null || best.range().last() < piece.range().last())) {
        best = piece;
      }
    }
    return best;
  }

  /** What is still to come may take long. */
  @Override
  public Source source() {
    return pieces.stream().anyMatch(Piece::isComing) ? Source.ORIGIN : newest.source();
  }

  @Override
  public ByteBuffer head() {
    return newest.head();
  }

  @Override
  public byte[] variant() {
    return newest.variant();
  }

  @Override
  public long stamp() {
    return newest.stamp();
  }

  @Override
  public boolean isStale() {
    return newest.isStale();
  }

  @Override
  public long length() {
    return complete;
  }

  /** The parts are its caller's. */
  @Override
  public void close() {}
}
