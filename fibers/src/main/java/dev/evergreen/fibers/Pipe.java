package dev.evergreen.fibers;

import java.net.SocketException;
import java.nio.ByteBuffer;

/**
 * One direction of a connection in memory: a bounded queue of bytes, for one reader and one writer
 * at a time.
 *
 * <p>All but the gates is guarded by the pipe itself, and nobody waits inside. Invariant: whoever
 * changes what a waiting end may do opens its gate afterwards, so that none waits on.
 */
final class Pipe {

  private final ByteBuffer bytes; // between two calls from 0 to its position
  private final int piece;
  private final Gate readable = new Gate();
  private final Gate writable = new Gate();
  private long untilCut = Long.MAX_VALUE;
  private boolean ended;
  private boolean closed;
  private boolean reset;

  Pipe(int capacity, int piece) {
    bytes = ByteBuffer.allocate(capacity);
    this.piece = piece;
  }

  Gate readable() {
    return readable;
  }

  Gate writable() {
    return writable;
  }

  /** Takes what is there, up to a piece; returns how much, 0 if nothing is, -1 at the end. */
  int take(ByteBuffer into) throws SocketException {
    int n;
    synchronized (this) {
      if (reset) {
        throw new SocketException("could not read: connection reset by the peer");
      }
      n = Math.min(Math.min(bytes.position(), piece), into.remaining());
      if (n == 0) {
        return ended && bytes.position() == 0 ? -1 : 0;
      }
      bytes.flip();
      into.put(into.position(), bytes, 0, n).position(into.position() + n);
      bytes.position(n).compact();
    }
    writable.open();
    return n;
  }

  /**
   * Puts what there is room for; returns how much.
   *
   * @throws SocketException if the reader has gone
   */
  int put(ByteBuffer from) throws SocketException {
    int n;
    synchronized (this) {
      if (reset) {
        throw new SocketException("could not write: connection reset by the peer");
      }
      if (ended || closed) {
        throw new SocketException("could not write: broken pipe, the peer has closed");
      }
      n = (int) Math.min(Math.min(from.remaining(), bytes.remaining()), untilCut);
      bytes.put(bytes.position(), from, from.position(), n).position(bytes.position() + n);
      from.position(from.position() + n);
      untilCut -= n;
    }
    readable.open();
    return n;
  }

  /** Of the writer: whether nothing more passes. */
  synchronized boolean cut() {
    return untilCut == 0 && bytes.position() == 0;
  }

  synchronized void cutAfter(long more) {
    untilCut = more;
  }

  /** The writer will put no more. */
  void end() {
    synchronized (this) {
      ended = true;
    }
    readable.open();
  }

  /** The reader has gone; says whether it has left something unread. */
  boolean close() {
    boolean unread;
    synchronized (this) {
      closed = true;
      unread = bytes.position() > 0;
    }
    writable.open();
    readable.open();
    return unread;
  }

  void reset() {
    synchronized (this) {
      reset = true;
    }
    readable.open();
    writable.open();
  }
}
