package dev.evergreen.shims.redis;

import java.util.concurrent.TimeUnit;

/**
 * For how long Redis holds back what clients ask, as one of them has told it to. Meanwhile nobody
 * shares an upstream: what Redis does not hold back, such as a read, would wait there behind what
 * it does.
 */
final class Pause {
  private static final long LONG_MILLIS = TimeUnit.DAYS.toMillis(365);

  private final Object lock = new Object();
  private volatile boolean begun;

  /** Guarded by the lock. */
  private long endNanos;

  /**
   * It begins, or lasts longer; never shorter.
   *
   * @param millis how long; negative if that is not known
   */
  void begin(long millis) {
    long most = millis < 0 ? LONG_MILLIS : Math.min(millis, LONG_MILLIS);
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(most);
    synchronized (lock) {
      endNanos = begun && endNanos - end > 0 ? endNanos : end;
      begun = true;
    }
  }

  /** Somebody has ended it. */
  void end() {
    synchronized (lock) {
      begun = false;
    }
  }

  boolean isOn() {
    return begun && lasts();
  }

  private boolean lasts() {
    synchronized (lock) {
      begun &= endNanos - System.nanoTime() > 0;
      return begun;
    }
  }
}
