package dev.evergreen.reports;

import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** Collects durations from many threads, by the buckets of {@link Durations}. */
final class Stopwatch {

  private final LongAdder[] buckets =
      Stream.generate(LongAdder::new).limit(Durations.BUCKETS).toArray(LongAdder[]::new);
  private final LongAdder total = new LongAdder();
  private final LongAccumulator longest = new LongAccumulator(Math::max, 0);

  void add(long nanos) {
    buckets[Durations.bucket(nanos)].increment();
    total.add(nanos);
    longest.accumulate(nanos);
  }

  Durations durations() {
    var counts = new ArrayList<Long>();
    int used = 0;
    for (var bucket : buckets) {
      counts.add(bucket.sum());
      used = counts.getLast() > 0 ? counts.size() : used;
    }
    return new Durations(
        Duration.ofNanos(total.sum()), Duration.ofNanos(longest.get()), counts.subList(0, used));
  }
}
