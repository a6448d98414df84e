package dev.evergreen.memcached;

import java.util.concurrent.TimeUnit;

/**
 * Seconds since two seconds before the start, as memcached counts them: an item whose time is over
 * before the server began can then expire at second 1. Read by every request, moved on by one
 * thread.
 */
final class Clock {
  private static final int FIRST = 2;
  private static final int THIRTY_DAYS = 30 * 24 * 3600;

  private final long started = System.nanoTime();
  private final long zero = System.currentTimeMillis() / 1000 - FIRST;
  private volatile int second = FIRST;

  /** Moves on. */
  void tick() {
    second = FIRST + uptime();
  }

  int uptime() {
    return (int) TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - started);
  }

  int second() {
    return second;
  }

  /** The time of a second in seconds since 1970. */
  long unixTime(int second) {
    return zero + second;
  }

  /**
   * The second for an exptime of the protocol: 0 is never, a negative one is past, one of up to 30
   * days counts from now, and a larger one is a time since 1970.
   */
  int expiry(long exptime) {
    if (exptime == 0) {
      return 0;
    }
    if (exptime > 0 && exptime <= THIRTY_DAYS) {
      return second + (int) exptime;
    }
    return Math.clamp(exptime - zero, 1, Integer.MAX_VALUE);
  }
}
