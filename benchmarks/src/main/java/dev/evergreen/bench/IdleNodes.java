package dev.evergreen.bench;

import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ResultTracker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/** What subscriptions of another process's grains cost while nothing happens to them. */
final class IdleNodes implements NodeExperiment {

  private static final int OPENERS = 64;

  private final Duration window;

  /** What the window took. */
  private record Idle(double ownPercent, double hostPercent, double messages, double bytes) {}

  /**
   * @param window how long nothing happens while the costs of it are measured
   */
  IdleNodes(Duration window) {
    this.window = window;
  }

  @Override
  public String name() {
    return "idle";
  }

  @Override
  public BenchCluster.Role role() {
    return BenchCluster.Role.CALLER;
  }

  @Override
  public List<Line> measure(BenchCluster cluster, Effort effort) throws Exception {
    int count = effort.subscriptions();
    var items =
        IntStream.range(0, count)
            .mapToObj(i -> cluster.node().grains().get(Item.class, "idle" + i))
            .toList();
    inParallel(count, i -> items.get(i).set(1));
    open(cluster, items, () -> {});
    var own = new ArrayList<Double>();
    var host = new ArrayList<Double>();
    var nothing = window(cluster);
    var idle = new ArrayList<Idle>();
    int rounds = Math.min(3, effort.rounds());
    for (int round = 0; round < rounds; round++) {
      boolean last = round == rounds - 1;
      long ownBefore = Heap.used();
      long hostBefore = cluster.hostHeap();
      open(
          cluster,
          items,
          () -> {
            own.add((Heap.used() - ownBefore) / (double) count);
            host.add((cluster.hostHeap() - hostBefore) / (double) count);
            if (last) {
              idle.add(window(cluster));
            }
          });
    }
    var with = idle.getFirst();
    var name = "%,d idle subscriptions, ".formatted(count);
    var against = "none";
    return List.of(
        Line.alone(name + "heap of each in the reader", "B", own).atMost(1_024),
        Line.alone(name + "heap of each in the publishers", "B", host).atMost(1_024),
        once(name + "processor of the reader", "%", with.ownPercent, against, nothing.ownPercent),
        once(
            name + "processor of the publishers",
            "%",
            with.hostPercent,
            against,
            nothing.hostPercent),
        once(name + "messages a second", "", with.messages, against, nothing.messages),
        once(name + "bytes a second", "B", with.bytes, against, nothing.bytes));
  }

  private static Line once(String name, String unit, double a, String against, double b) {
    return new Line(name, unit, Spread.of(List.of(a)), against, Spread.of(List.of(b)), null, null);
  }

  private interface WhileOpen {
    void use() throws InterruptedException;
  }

  /** Opens a subscription of each, does something while all are open, and closes them. */
  private static void open(BenchCluster cluster, List<Item> items, WhileOpen action)
      throws InterruptedException {
    var computations = new ArrayList<ReactiveComputation<Integer>>(items.size());
    var trackers = new ArrayList<ResultTracker<Integer>>(items.size());
    for (var item : items) {
      var computation = cluster.node().reactive(item::value);
      computations.add(computation);
      trackers.add(computation.tracker());
    }
    trackers.forEach(ResultTracker::next);
    action.use();
    trackers.forEach(ResultTracker::close); // until here they were in use
    computations.forEach(ReactiveComputation::close);
    cluster.awaitNothingHeld();
  }

  private Idle window(BenchCluster cluster) throws InterruptedException {
    var before = cluster.links();
    long own = BenchCluster.ownNanos();
    long host = cluster.hostNanos();
    Thread.sleep(window);
    double nanos = window.toNanos();
    double seconds = nanos / 1e9;
    var after = cluster.links();
    return new Idle(
        100 * (BenchCluster.ownNanos() - own) / nanos,
        100 * (cluster.hostNanos() - host) / nanos,
        (after.messagesIn() + after.messagesOut() - before.messagesIn() - before.messagesOut())
            / seconds,
        (after.bytesIn() + after.bytesOut() - before.bytesIn() - before.bytesOut()) / seconds);
  }

  private static void inParallel(int count, java.util.function.IntConsumer action)
      throws InterruptedException {
    var left = new CountDownLatch(OPENERS);
    for (int t = 0; t < OPENERS; t++) {
      int first = t;
      Thread.startVirtualThread(
          () -> {
            try {
              for (int i = first; i < count; i += OPENERS) {
                action.accept(i);
              }
            } finally {
              left.countDown();
            }
          });
    }
    left.await();
  }
}
