package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReactiveComputation;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/**
 * The latency of propagation under low load (004 §6.1.2, Table 1): from the call of a mutation
 * until the client of a view has the new result, once by a reactive computation and its tracker,
 * once by observers written by hand. Both have a client thread per view that waits, and the grains
 * are the same.
 */
final class Propagation implements Experiment {

  private static final int ITEMS = 600;
  private static final int VIEWS = 20;
  private static final int DEPENDENCIES = 4;
  private static final int BLOCK = 25;
  private static final long SECONDS_TO_WAIT = 30;

  /** The latencies of one round of one variant. */
  private record Latencies(Histogram responses, Histogram arrivals) {
    Latencies() {
      this(histogram(), histogram());
    }

    private static Histogram histogram() {
      return new Histogram(TimeUnit.SECONDS.toNanos(SECONDS_TO_WAIT), 3);
    }
  }

  @Override
  public String name() {
    return "propagation";
  }

  @Override
  public List<Line> measure(Effort effort) throws Exception {
    try (var automatic = new World(Item::set);
        var explicit = new World(Item::setAndNotify)) {
      automatic.trackReactively();
      explicit.observeByHand();
      return onVirtualThread(() -> measure(effort, automatic, explicit));
    }
  }

  private static List<Line> measure(Effort effort, World automatic, World explicit)
      throws InterruptedException {
    warmUp(effort, automatic, explicit);
    var ours = new ArrayList<Latencies>();
    var theirs = new ArrayList<Latencies>();
    for (int i = 0; i < effort.rounds(); i++) {
      ours.add(new Latencies());
      theirs.add(new Latencies());
      round(effort.samples(), automatic, explicit, ours.getLast(), theirs.getLast());
    }
    var lines = new ArrayList<Line>();
    for (double percentile : new double[] {50, 99}) {
      var a = micros(ours, percentile);
      var e = micros(theirs, percentile);
      var name = "propagation, p" + (int) percentile;
      var against = "observers by hand";
      var line = Line.compared(name, "µs", a, against, e);
      var difference =
          Line.alone(
              name + ", more than by hand",
              "µs",
              IntStream.range(0, a.size()).mapToObj(i -> a.get(i) - e.get(i)).toList());
      lines.add(percentile == 50 ? line.ratioAtMost(1.1) : line);
      lines.add(percentile == 50 ? difference.atMost(50) : difference);
    }
    lines.add(
        Line.compared(
            "answer to the mutation, p50",
            "µs",
            responses(ours),
            "observers by hand",
            responses(theirs)));
    return lines;
  }

  /** As long as other experiments warm their two variants: what is slow is slow for cold code. */
  private static void warmUp(Effort effort, World automatic, World explicit)
      throws InterruptedException {
    long end = System.nanoTime() + 4 * effort.warmUp().toNanos();
    do {
      round(effort.samples(), automatic, explicit, new Latencies(), new Latencies());
    } while (System.nanoTime() - end < 0);
  }

  /** The two variants take turns, a block of mutations each. */
  private static void round(
      int samples, World automatic, World explicit, Latencies ours, Latencies theirs)
      throws InterruptedException {
    for (int done = 0; done < samples; done += BLOCK) {
      int block = Math.min(BLOCK, samples - done);
      for (int i = 0; i < block; i++) {
        automatic.mutate(ours);
      }
      for (int i = 0; i < block; i++) {
        explicit.mutate(theirs);
      }
    }
  }

  private static List<Double> micros(List<Latencies> rounds, double percentile) {
    return rounds.stream().map(r -> r.arrivals.getValueAtPercentile(percentile) / 1e3).toList();
  }

  private static List<Double> responses(List<Latencies> rounds) {
    return rounds.stream().map(r -> r.responses.getValueAtPercentile(50) / 1e3).toList();
  }

  private static <T> T onVirtualThread(Callable<T> body) throws Exception {
    var task = new FutureTask<T>(body);
    Thread.startVirtualThread(task);
    return task.get();
  }

  /** A node with items and views, and the clients of one way of propagation. */
  private static final class World implements AutoCloseable {
    private final Random random = new Random(4);
    private final Node node;
    private final BiConsumer<Item, Integer> mutation;
    private final List<List<String>> dependencies;
    private final List<Client> clients = new ArrayList<>();
    private final List<ReactiveComputation<int[]>> computations = new ArrayList<>();
    private int lastValue;

    World(BiConsumer<Item, Integer> mutation) {
      this.mutation = mutation;
      node =
          EmbeddedNode.builder()
              .grain(Item.class, Item.ItemGrain::new)
              .grain(View.class, View.ViewGrain::new)
              .start();
      for (int i = 0; i < ITEMS; i++) {
        item("item" + i).set(0);
      }
      dependencies =
          IntStream.range(0, VIEWS)
              .mapToObj(
                  v ->
                      random
                          .ints(0, ITEMS)
                          .distinct()
                          .limit(DEPENDENCIES)
                          .mapToObj(i -> "item" + i)
                          .toList())
              .toList();
      for (int v = 0; v < VIEWS; v++) {
        view(v).dependOn(dependencies.get(v));
        clients.add(new Client());
      }
    }

    private Item item(String key) {
      return node.grains().get(Item.class, key);
    }

    private View view(int index) {
      return node.grains().get(View.class, "view" + index);
    }

    void trackReactively() {
      for (int v = 0; v < VIEWS; v++) {
        var view = view(v);
        var computation = node.reactive(() -> view.query(true));
        computations.add(computation);
        var tracker = computation.tracker();
        tracker.next();
        clients.get(v).follow(tracker::iterator);
      }
    }

    void observeByHand() {
      for (int v = 0; v < VIEWS; v++) {
        for (var key : dependencies.get(v)) {
          item(key).observe("view" + v);
        }
        var mailbox = new Mailbox();
        View.ViewGrain.CLIENTS.put("view" + v, mailbox);
        clients.get(v).follow(() -> mailbox);
      }
    }

    /** Changes an item of a random view and waits until its client has seen it. */
    void mutate(Latencies latencies) throws InterruptedException {
      int v = random.nextInt(VIEWS);
      int dependency = random.nextInt(DEPENDENCIES);
      var item = item(dependencies.get(v).get(dependency));
      int value = ++lastValue;
      var client = clients.get(v);
      client.expect(dependency, value);
      long start = System.nanoTime();
      mutation.accept(item, value);
      latencies.responses.recordValue(System.nanoTime() - start);
      latencies.arrivals.recordValue(client.awaitArrival() - start);
    }

    @Override
    public void close() {
      computations.forEach(ReactiveComputation::close);
      clients.forEach(Client::close);
      View.ViewGrain.CLIENTS.clear();
      node.close();
    }
  }
}
