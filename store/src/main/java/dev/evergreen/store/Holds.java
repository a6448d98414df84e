package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The memory that slow readers and half-received values keep from being reclaimed, counted by the
 * segments that they pin; a segment that several share counts once. Together they get a tenth of
 * the memory, and are lent two more as long as another one is free, so that they can never stop the
 * store; a single one that needs more gets it. Of the tenth every {@link Holder} gets about a
 * quarter of what others leave, and half of what is lent; so who was lent much leaves the tenth to
 * others when nothing is free any more.
 */
final class Holds {
  /** A segment's sharers are counted below this, which tells that it is lent. */
  private static final int LENT = 1 << 30;

  private final AtomicLong ofTenth = new AtomicLong();
  private final AtomicLong lent = new AtomicLong();
  private final AtomicLong refusals = new AtomicLong();
  private final AtomicIntegerArray sharers;
  private final int segmentSize;
  private final LongSupplier free;
  private volatile long bound;

  /**
   * Nothing is held yet.
   *
   * @param free how many bytes of the memory are free, and are lent to holders
   */
  Holds(long limit, int segments, int segmentSize, LongSupplier free) {
    sharers = new AtomicIntegerArray(segments);
    this.segmentSize = segmentSize;
    this.free = free;
    limit(limit);
  }

  void limit(long limit) {
    bound = limit / 10;
  }

  /**
   * Takes so many bytes, if that may be.
   *
   * @param own what who wants them holds already
   * @return what the first who shares one of their segments is counted as; 0 if it may not be
   */
  int take(long bytes, long own) {
    long counted = Holder.COUNTS_AGAIN * own + bytes;
    while (true) {
      long now = ofTenth.get();
      if (bytes != 0 && now + counted > bound && now + lent.get() != 0) {
        return lend(bytes, own + bytes);
      }
      if (ofTenth.compareAndSet(now, now + bytes)) {
        return 1;
      }
    }
  }

  private int lend(long bytes, long counted) {
    while (free.getAsLong() >= bound) {
      long now = lent.get();
      if (Math.max(ofTenth.get(), bound) + now + counted > 3 * bound) {
        break;
      }
      if (lent.compareAndSet(now, now + bytes)) {
        return LENT + 1;
      }
    }
    refusals.incrementAndGet();
    return 0;
  }

  /**
   * Holds a segment together with others that do: the first of them takes it, the last gives back.
   */
  boolean takeShare(int segment, long own) {
    while (true) {
      int others = sharers.get(segment);
      int all = others == 0 ? take(segmentSize, own) : others + 1;
      if (all == 0) {
        return false;
      }
      if (sharers.compareAndSet(segment, others, all)) {
        return true;
      }
      if (others == 0) {
        giveBack(segmentSize, all);
      }
    }
  }

  /**
   * Shares a segment; true if nobody else does, so that it must have been taken.
   *
   * @param first what taking it has come to
   */
  boolean share(int segment, int first) {
    return sharers.getAndAccumulate(segment, first, (all, one) -> all == 0 ? one : all + 1) == 0;
  }

  boolean isShared(int segment) {
    return sharers.get(segment) != 0;
  }

  void giveBackShare(int segment) {
    int all = sharers.getAndUpdate(segment, each -> isFirst(each) ? 0 : each - 1);
    if (isFirst(all)) {
      giveBack(segmentSize, all);
    }
  }

  private static boolean isFirst(int all) {
    return (all & ~LENT) == 1;
  }

  boolean isHeldUp() {
    return free.getAsLong() < bound ? 2 * ofTenth.get() > bound : 2 * bytes() > 3 * bound;
  }

  /** How often something was refused; by what is held now one cannot tell, as it may be gone. */
  long refusals() {
    return refusals.get();
  }

  /** Gives back some of what was taken with that result. */
  void giveBack(long bytes, int first) {
    ((first & LENT) == 0 ? ofTenth : lent).getAndAdd(-bytes);
  }

  long bytes() {
    return ofTenth.get() + lent.get();
  }
}
