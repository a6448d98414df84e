package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that slow readers and half-received values keep from being reclaimed, counted by the
 * segments that they pin; a segment that several share counts once. Together they get a tenth of
 * the memory, so that they can never stop the store; a single one that needs more gets it. Of that
 * each {@link Holder} gets about a quarter of what others leave. Who gets none reads by {@link
 * Items#readUnlinked}, as long as the bytes are there.
 */
final class Holds {
  private final AtomicLong held = new AtomicLong();
  private final AtomicLong refusals = new AtomicLong();
  private final AtomicIntegerArray sharers;
  private final int segmentSize;
  private volatile long bound;

  /** Nothing is held yet. */
  Holds(long limit, int segments, int segmentSize) {
    sharers = new AtomicIntegerArray(segments);
    this.segmentSize = segmentSize;
    limit(limit);
  }

  void limit(long limit) {
    bound = limit / 10;
  }

  /**
   * Takes so many bytes, if that may be.
   *
   * @param own what who wants them holds already
   */
  boolean take(long bytes, long own) {
    while (true) {
      long now = held.get();
      if (now != 0 && bytes != 0 && now + Holder.COUNTS_AGAIN * own + bytes > bound) {
        refusals.incrementAndGet();
        return false;
      }
      if (held.compareAndSet(now, now + bytes)) {
        return true;
      }
    }
  }

  /**
   * Holds a segment together with others that do: the first of them takes it, the last gives back.
   */
  boolean takeShare(int segment, long own) {
    while (true) {
      int others = sharers.get(segment);
      if (others == 0 && !take(segmentSize, own)) {
        return false;
      }
      if (sharers.compareAndSet(segment, others, others + 1)) {
        return true;
      }
      if (others == 0) {
        giveBack(segmentSize);
      }
    }
  }

  /** Shares a segment; true if nobody else does, so that it must have been taken. */
  boolean share(int segment) {
    return sharers.getAndIncrement(segment) == 0;
  }

  boolean isShared(int segment) {
    return sharers.get(segment) > 0;
  }

  void giveBackShare(int segment) {
    if (sharers.decrementAndGet(segment) == 0) {
      giveBack(segmentSize);
    }
  }

  boolean isHeldUp() {
    return 2 * held.get() > bound;
  }

  /** How often something was refused; by what is held now one cannot tell, as it may be gone. */
  long refusals() {
    return refusals.get();
  }

  void giveBack(long bytes) {
    held.getAndAdd(-bytes);
  }

  long bytes() {
    return held.get();
  }
}
