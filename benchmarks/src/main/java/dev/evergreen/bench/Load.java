package dev.evergreen.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.IntCountsHistogram;

/**
 * What came of calling for a while, each caller as soon as its call before was answered.
 *
 * @param perSecond calls
 * @param p50 microseconds from call to answer
 * @param p99 microseconds from call to answer
 * @param callerMicros processor time of this process for each call
 * @param hostMicros processor time of the hosts for each call
 * @param bytes over this process's links, both ways, for each call
 */
record Load(
    double perSecond,
    double p50,
    double p99,
    double callerMicros,
    double hostMicros,
    double bytes) {

  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Has virtual threads call for a time. */
  static Load of(BenchCluster cluster, CallPath path, int callers, Duration time)
      throws IOException, InterruptedException, ExecutionException {
    var tasks = new ArrayList<FutureTask<IntCountsHistogram>>();
    var calls = new ArrayList<Runnable>();
    for (int i = 0; i < callers; i++) {
      calls.add(path.caller(i));
    }
    var linksBefore = cluster.links();
    long ownBefore = BenchCluster.ownNanos();
    long hostBefore = cluster.hostNanos();
    long start = System.nanoTime();
    long end = start + time.toNanos();
    for (var call : calls) {
      var task = new FutureTask<>(() -> callUntil(end, call));
      tasks.add(task);
      Thread.startVirtualThread(task);
    }
    var all = new Histogram(LONGEST_NANOS, 3);
    for (var task : tasks) {
      all.add(task.get());
    }
    double nanos = System.nanoTime() - start;
    double count = all.getTotalCount();
    long own = BenchCluster.ownNanos() - ownBefore;
    long host = cluster.hostNanos() - hostBefore;
    var links = cluster.links();
    long bytes =
        links.bytesIn() + links.bytesOut() - linksBefore.bytesIn() - linksBefore.bytesOut();
    return new Load(
        count * 1e9 / nanos,
        all.getValueAtPercentile(50) / 1e3,
        all.getValueAtPercentile(99) / 1e3,
        own / 1e3 / count,
        host / 1e3 / count,
        bytes / count);
  }

  private static IntCountsHistogram callUntil(long end, Runnable call) {
    var latencies = new IntCountsHistogram(LONGEST_NANOS, 2);
    for (long before = System.nanoTime(); before - end < 0; ) {
      call.run();
      long after = System.nanoTime();
      latencies.recordValue(Math.min(LONGEST_NANOS, after - before));
      before = after;
    }
    return latencies;
  }

  /** The loads of one path by round. */
  static List<Double> each(List<Load> loads, java.util.function.ToDoubleFunction<Load> what) {
    return loads.stream().map(what::applyAsDouble).toList();
  }
}
