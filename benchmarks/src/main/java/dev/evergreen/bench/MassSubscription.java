package dev.evergreen.bench;

import dev.evergreen.core.ReactiveComputation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** 20,000 views of grains in other processes subscribe at once: until all have their result. */
final class MassSubscription implements NodeExperiment {

  private static final int VIEWS = 20_000;

  /** As many as a node lets be in flight to another. */
  private static final int CALLERS = 10_000;

  private record Rush(double seconds, double messages, double bytes, double micros) {}

  @Override
  public String name() {
    return "rush";
  }

  @Override
  public BenchCluster.Role role() {
    return BenchCluster.Role.CALLER;
  }

  @Override
  public List<Line> measure(BenchCluster cluster, Effort effort) throws Exception {
    var items =
        IntStream.range(0, VIEWS)
            .mapToObj(i -> cluster.node().grains().get(Item.class, "mass" + i))
            .toList();
    rush(cluster, items, CALLERS, item -> item.set(1));
    var views = new ArrayList<Rush>();
    var calls = new ArrayList<Rush>();
    for (int round = -2; round < effort.rounds(); round++) {
      var call = rush(cluster, items, CALLERS, Item::value);
      var computations = new ArrayList<ReactiveComputation<Integer>>();
      for (var item : items) {
        computations.add(cluster.node().reactive(item::value));
      }
      var byItem = new ArrayList<Integer>(VIEWS);
      IntStream.range(0, VIEWS).forEach(byItem::add);
      var view = rush(cluster, byItem, VIEWS, i -> computations.get(i).tracker().next());
      computations.forEach(ReactiveComputation::close);
      cluster.awaitNothingHeld();
      if (round >= 0) {
        views.add(view);
        calls.add(call);
      }
    }
    var against = "20,000 plain calls";
    return List.of(
        Line.compared(
            "20,000 views subscribe at once, until all have a result",
            "s",
            views.stream().map(Rush::seconds).toList(),
            against,
            calls.stream().map(Rush::seconds).toList()),
        Line.compared(
            "20,000 views, messages for each, both ways",
            "",
            views.stream().map(Rush::messages).toList(),
            against,
            calls.stream().map(Rush::messages).toList()),
        Line.compared(
            "20,000 views, bytes for each, both ways",
            "B",
            views.stream().map(Rush::bytes).toList(),
            against,
            calls.stream().map(Rush::bytes).toList()),
        Line.compared(
            "20,000 views, processor time for each, all processes",
            "µs",
            views.stream().map(Rush::micros).toList(),
            against,
            calls.stream().map(Rush::micros).toList()));
  }

  /** Has virtual threads do something for all parts, and waits for the last. */
  private static <T> Rush rush(BenchCluster cluster, List<T> parts, int threads, Consumer<T> action)
      throws InterruptedException {
    var failures = new java.util.concurrent.ConcurrentLinkedQueue<Throwable>();
    var left = new CountDownLatch(threads);
    var before = cluster.links();
    long cpu = BenchCluster.ownNanos() + cluster.hostNanos();
    long start = System.nanoTime();
    for (int t = 0; t < threads; t++) {
      int first = t;
      Thread.startVirtualThread(
          () -> {
            try {
              for (int i = first; i < parts.size(); i += threads) {
                action.accept(parts.get(i));
              }
            } catch (RuntimeException e) {
              failures.add(e);
            } finally {
              left.countDown();
            }
          });
    }
    left.await();
    double seconds = (System.nanoTime() - start) / 1e9;
    cpu = BenchCluster.ownNanos() + cluster.hostNanos() - cpu;
    var after = cluster.links();
    if (!failures.isEmpty()) {
      throw new IllegalStateException(failures.size() + " failed", failures.peek());
    }
    double n = parts.size();
    return new Rush(
        seconds,
        (after.messagesIn() + after.messagesOut() - before.messagesIn() - before.messagesOut()) / n,
        (after.bytesIn() + after.bytesOut() - before.bytesIn() - before.bytesOut()) / n,
        cpu / 1e3 / n);
  }
}
