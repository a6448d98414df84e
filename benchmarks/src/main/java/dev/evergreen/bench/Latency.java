package dev.evergreen.bench;

import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Latencies of single actions, in microseconds. */
final class Latency {

  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final Histogram histogram = new Histogram(LONGEST_NANOS, 3);

  void record(long nanos) {
    histogram.recordValue(Math.max(0, Math.min(LONGEST_NANOS, nanos)));
  }

  /** Records how long an action takes. */
  void time(Runnable action) {
    long start = System.nanoTime();
    action.run();
    record(System.nanoTime() - start);
  }

  double percentile(double percentile) {
    return histogram.getValueAtPercentile(percentile) / 1e3;
  }

  /** Runs something as services do, on a virtual thread. */
  static <T> T onVirtualThread(Callable<T> body) throws Exception {
    var task = new FutureTask<T>(body);
    Thread.startVirtualThread(task);
    return task.get();
  }
}
