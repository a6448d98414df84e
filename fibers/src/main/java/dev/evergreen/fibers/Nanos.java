package dev.evergreen.fibers;

import java.time.Duration;

/** Durations in nanoseconds. */
final class Nanos {

  /** Longer than anybody waits, and small enough to be added to the clock's time. */
  static final long FOREVER = Long.MAX_VALUE / 4;

  private static final Duration LONGEST = Duration.ofNanos(FOREVER);

  private Nanos() {}

  /** Negative ones count as zero, those beyond 73 years as that. */
  static long of(Duration duration) {
    return duration.compareTo(LONGEST) > 0 ? FOREVER : Math.max(0, duration.toNanos());
  }

  /** Of two times of {@link System#nanoTime} the earlier one. */
  static long earlier(long one, long other) {
    return one - other < 0 ? one : other;
  }
}
