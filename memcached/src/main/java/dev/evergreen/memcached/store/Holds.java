package dev.evergreen.memcached.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that slow readers and half-received values keep from being reclaimed, counted by the
 * segments that they pin. Together they get a tenth of the memory, so that they can never stop the
 * store; a single one that needs more gets it.
 */
final class Holds {
  private final AtomicLong held = new AtomicLong();
  private final AtomicLong refusals = new AtomicLong();
  private volatile long bound;

  Holds(long limit) {
    limit(limit);
  }

  void limit(long limit) {
    bound = limit / 10;
  }

  boolean take(long bytes) {
    while (true) {
      long now = held.get();
      if (now != 0 && now + bytes > bound) {
        refusals.incrementAndGet();
        return false;
      }
      if (held.compareAndSet(now, now + bytes)) {
        return true;
      }
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
