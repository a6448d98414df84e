package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ResultTracker;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The heap that subscriptions hold which nothing happens to. On one node both halves lie in one
 * heap: the publisher's summary, and the reader's cache with its computation and tracker.
 */
final class IdleSubscription implements Experiment {

  /** The bytes of one round, per subscription. */
  private record Weight(double distinct, double shared, double edge) {}

  @Override
  public String name() {
    return "idle";
  }

  @Override
  public List<Line> measure(Effort effort) {
    weigh(effort.subscriptions());
    var weights =
        IntStream.range(0, effort.rounds()).mapToObj(i -> weigh(effort.subscriptions())).toList();
    return List.of(
        Line.alone(
                "idle subscription: computation, cache and summary",
                "B",
                weights.stream().map(Weight::distinct).toList())
            .atMost(2_048),
        Line.alone(
            "one more computation on the same key",
            "B",
            weights.stream().map(Weight::shared).toList()),
        Line.alone(
            "one more cache and summary that a computation reads",
            "B",
            weights.stream().map(Weight::edge).toList()));
  }

  private static Weight weigh(int n) {
    try (var node = EmbeddedNode.builder().grain(Item.class, Item.ItemGrain::new).start()) {
      var items =
          IntStream.range(0, n).mapToObj(i -> node.grains().get(Item.class, "item" + i)).toList();
      items.forEach(item -> item.set(1));
      var held = new ArrayList<ReactiveComputation<Integer>>(2 * n + 1);
      var trackers = new ArrayList<ResultTracker<Integer>>(2 * n + 1);
      long before = Heap.used();
      items.forEach(item -> trackers.add(open(node, held, item)));
      long distinct = Heap.used() - before;
      before = Heap.used();
      items.forEach(item -> trackers.add(open(node, held, items.getFirst())));
      long shared = Heap.used() - before;
      before = Heap.used();
      var all = node.reactive(() -> items.stream().mapToInt(item -> item.times(2)).sum());
      held.add(all);
      trackers.add(all.tracker());
      check(2 * n, trackers.getLast().next());
      long edges = Heap.used() - before;
      var weight = new Weight(distinct / (double) n, shared / (double) n, edges / (double) n);
      check(2 * n + 1, trackers.size());
      held.forEach(ReactiveComputation::close);
      return weight;
    }
  }

  private static ResultTracker<Integer> open(
      Node node, List<ReactiveComputation<Integer>> held, Item item) {
    var computation = node.reactive(item::value);
    held.add(computation);
    var tracker = computation.tracker();
    check(1, tracker.next());
    return tracker;
  }

  private static void check(int expected, int actual) {
    if (expected != actual) {
      throw new IllegalStateException("expected " + expected + ", but was " + actual);
    }
  }
}
