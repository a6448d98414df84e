package dev.evergreen.bench.load;

import java.io.Serializable;
import java.time.Duration;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.Histogram;

/**
 * What came of a load. The counts are of the time that was measured.
 *
 * @param time how long that was
 * @param hits gets that were answered with the right value
 * @param misses gets that were answered with none
 * @param updates sets that were answered
 * @param errors requests that the server answered with an error
 * @param unanswered requests that were sent, and not answered within a second after the end
 * @param unsent requests of the open loop that were due, but had no connection free until the end
 * @param latencies in nanoseconds, of all requests that were due in that time, from when they were
 *     due (closed loop: sent); those of unanswered and unsent ones are how long they had waited
 * @param lags in nanoseconds, of the same requests, from when they were due and a connection was
 *     free until they were sent: how late the generator itself was
 * @param served in nanoseconds, of the same requests, what of their latencies was the server's: all
 *     but their lags, and (in open loop) but the time for which a reply was there and the generator
 *     was not woken yet
 */
public record LoadResult(
    Duration time,
    long hits,
    long misses,
    long updates,
    long errors,
    long unanswered,
    long unsent,
    AbstractHistogram latencies,
    AbstractHistogram lags,
    AbstractHistogram served)
    implements Serializable {

  private static final Duration LONGEST = Duration.ofMinutes(2);

  /** A histogram of nanoseconds with three digits. */
  static Histogram histogram() {
    return new Histogram(LONGEST.toNanos(), 3);
  }

  static void record(Histogram histogram, long nanos) {
    histogram.recordValue(Math.clamp(nanos, 0, LONGEST.toNanos()));
  }

  /** This and another process's, over the same time. */
  LoadResult plus(LoadResult other) {
    return new LoadResult(
        time,
        hits + other.hits,
        misses + other.misses,
        updates + other.updates,
        errors + other.errors,
        unanswered + other.unanswered,
        unsent + other.unsent,
        sum(latencies, other.latencies),
        sum(lags, other.lags),
        sum(served, other.served));
  }

  private static Histogram sum(AbstractHistogram one, AbstractHistogram other) {
    var sum = histogram();
    sum.add(one);
    sum.add(other);
    return sum;
  }

  /** Requests that were answered. */
  public long answered() {
    return hits + misses + updates + errors;
  }

  /** Requests answered a second. */
  public double rate() {
    return answered() * 1e9 / time.toNanos();
  }

  /** Microseconds. */
  public double latency(double percentile) {
    return latencies.getValueAtPercentile(percentile) / 1e3;
  }
}
