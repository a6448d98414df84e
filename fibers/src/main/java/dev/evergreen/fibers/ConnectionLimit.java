package dev.evergreen.fibers;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many connections are served at a time, by all listeners that share it. It is looked at before
 * anything is made for a connection, so that a flood costs little.
 */
public final class ConnectionLimit {
  private final int most;
  private final AtomicInteger served = new AtomicInteger();

  /** Of so many connections. */
  public ConnectionLimit(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("at least 1 connection must be allowed, not " + most);
    }
    this.most = most;
  }

  /** How many are being served. */
  public int served() {
    return served.get();
  }

  boolean enter() {
    while (true) {
      int now = served.get();
      if (now >= most) {
        return false;
      }
      if (served.compareAndSet(now, now + 1)) {
        return true;
      }
    }
  }

  void leave() {
    served.getAndDecrement();
  }
}
