package dev.evergreen.bench.load;

import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.Histogram;

/**
 * How long requests took, in nanoseconds.
 *
 * @param all from when they were due until the client had the answer
 * @param served what of it was the server's, not the client's being woken late
 */
public record Latencies(AbstractHistogram all, AbstractHistogram served) {

  /** None yet. */
  public Latencies() {
    this(new Histogram(3), new Histogram(3));
  }

  /** Adds those of another time. */
  public void add(Latencies more) {
    all.add(more.all);
    served.add(more.served);
  }
}
