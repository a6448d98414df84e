package dev.evergreen.reports;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How long many things of a kind took, since some moment. What was added meanwhile is the
 * difference to an earlier value ({@link #since}), so that every observer has intervals of its own.
 *
 * @param total the sum of all
 * @param longest the longest; of a difference: not more than this
 * @param buckets how many there were of each length, in four steps per doubling from a microsecond
 *     on; only as many as are needed
 */
public record Durations(Duration total, Duration longest, List<Long> buckets) {

  /** Nothing yet. */
  public static final Durations NONE = new Durations(Duration.ZERO, Duration.ZERO, List.of());

  /** Up to 2^10 ns, then four for each power of two up to 2^37 ns, which is two minutes. */
  static final int BUCKETS = 1 + 4 * 27;

  private static final int FIRST_POWER = 10;

  public Durations {
    buckets = List.copyOf(buckets);
  }

  /** The index of the bucket of a duration. */
  static int bucket(long nanos) {
    if (nanos < 1L << FIRST_POWER) {
      return 0;
    }
    int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos);
    int quarter = (int) (nanos >>> (power - 2)) & 3;
    return Math.min(BUCKETS - 1, 1 + 4 * (power - FIRST_POWER) + quarter);
  }

  /** The duration from which on a bucket counts. */
  static long lowerNanos(int bucket) {
    if (bucket == 0) {
      return 0;
    }
    int power = FIRST_POWER + (bucket - 1) / 4;
    return (4L + (bucket - 1) % 4) << (power - 2);
  }

  /** How many there were. */
  public long count() {
    long count = 0;
    for (long bucket : buckets) {
      count += bucket;
    }
    return count;
  }

  /**
   * The duration that the share {@code quantile} of all did not exceed, such as 0.5 for the median,
   * within a quarter of the truth above a microsecond; zero if there were none.
   *
   * @throws IllegalArgumentException if it is not between 0 and 1
   */
  public Duration quantile(double quantile) {
    if (!(quantile >= 0 && quantile <= 1)) {
      throw new IllegalArgumentException("A quantile is between 0 and 1, not " + quantile + ".");
    }
    double rank = quantile * count();
    long below = 0;
    for (int i = 0; i < buckets.size(); i++) {
      long here = buckets.get(i);
      if (here > 0 && below + here >= rank) {
        double part = (rank - below) / here;
        long width = lowerNanos(i + 1) - lowerNanos(i);
        long nanos = lowerNanos(i) + Math.round(part * width);
        return Duration.ofNanos(Math.min(nanos, longest.toNanos()));
      }
      below += here;
    }
    return Duration.ZERO;
  }

  /** What was added since {@code earlier}, which is a value of the same node's same life. */
  public Durations since(Durations earlier) {
    var added = new ArrayList<Long>(buckets.size());
    int used = 0;
    for (int i = 0; i < buckets.size(); i++) {
      long before = i < earlier.buckets.size() ? earlier.buckets.get(i) : 0;
      added.add(Math.max(0, buckets.get(i) - before));
      used = added.get(i) > 0 ? i + 1 : used;
    }
    var most = used == 0 ? Duration.ZERO : Duration.ofNanos(lowerNanos(used));
    return new Durations(
        total.minus(earlier.total),
        most.compareTo(longest) < 0 ? most : longest,
        added.subList(0, used));
  }
}
