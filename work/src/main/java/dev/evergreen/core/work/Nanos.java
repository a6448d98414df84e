package dev.evergreen.core.work;

import java.time.Duration;

/** Durations of users as nanoseconds that can be added to a clock's: any length is a length. */
public final class Nanos {

  /** More than a hundred years, and far from where sums overflow. */
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE / 2);

  private Nanos() {}

  /** At least zero. */
  public static long of(Duration duration) {
    if (duration.isNegative()) {
      return 0;
    }
    return (duration.compareTo(LONGEST) > 0 ? LONGEST : duration).toNanos();
  }

  /** A duration as people write it: in seconds, or in milliseconds. */
  public static String text(Duration duration) {
    int part = duration.toNanosPart();
    if (part == 0) {
      return duration.toSeconds() + " s";
    }
    return part % 1_000_000 == 0 ? duration.toMillis() + " ms" : duration.toString();
  }
}
