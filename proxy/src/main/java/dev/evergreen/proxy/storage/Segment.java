package dev.evergreen.proxy.storage;

import dev.evergreen.proxy.storage.Volume.DiskFile;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A segment file and who reads it. What a reader leases is not overwritten until it lets go; leases
 * are for one read each. Who wants it to stay for longer {@linkplain Pins pins} it.
 *
 * <p>Each use of the file has a sequence number of its own, which all its records carry, so that no
 * record of a former use is ever taken for one of this.
 */
final class Segment {
  private static final int FREE = -1;

  final int index;
  final DiskFile file;
  private final AtomicInteger leases = new AtomicInteger(FREE);

  /** Of the present use; 0 if there was none. */
  volatile long sequence;

  /** It is being emptied, or was. */
  private volatile boolean leaving;

  /** Not younger than any object in it. */
  volatile long oldest = Long.MAX_VALUE;

  Segment(int index, DiskFile file) {
    this.index = index;
    this.file = file;
  }

  void use(long sequence) {
    this.sequence = sequence;
    oldest = Long.MAX_VALUE;
    leaving = false;
    leases.set(0);
  }

  /** False if the segment is free. */
  boolean lease() {
    while (true) {
      int now = leases.get();
      if (now == FREE) {
        return false;
      }
      if (leases.compareAndSet(now, now + 1)) {
        return true;
      }
    }
  }

  void release() {
    leases.getAndDecrement();
  }

  /** Frees the segment, to be used again, unless somebody reads it. */
  boolean free() {
    return leases.compareAndSet(0, FREE);
  }

  boolean isFree() {
    return leases.get() == FREE;
  }

  void leave() {
    leaving = true;
  }

  boolean isLeaving() {
    return leaving;
  }

  /** Whether the segment has this piece, and is going to have it for a while. */
  boolean has(long piece) {
    return !isFree() && !leaving && PiecePlace.isIn(piece, this);
  }

  void note(long stamp) {
    oldest = Math.min(oldest, stamp);
  }
}
