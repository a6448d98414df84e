package dev.evergreen.bench;

import dev.evergreen.core.Grains;
import dev.evergreen.core.ReactiveComputation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongPredicate;
import java.util.stream.IntStream;

/**
 * The latency of propagation under low load (004 §6.1.2, Table 1) between processes: from the call
 * of a mutation in the item's process until the client of a view in this process has the new
 * result, once by a reactive computation and its tracker, once by observers written by hand.
 */
final class RemotePropagation implements NodeExperiment {

  private static final int ITEMS = 600;
  private static final int VIEWS = 20;
  private static final int DEPENDENCIES = 4;
  private static final int BLOCK = 25;
  private static final double[] PERCENTILES = {50, 99};

  @Override
  public String name() {
    return "propagation";
  }

  @Override
  public BenchCluster.Role role() {
    return BenchCluster.Role.HOST;
  }

  @Override
  public List<Line> measure(BenchCluster cluster, Effort effort) throws Exception {
    return Latency.onVirtualThread(() -> measureHere(cluster, effort));
  }

  private static List<Line> measureHere(BenchCluster cluster, Effort effort) {
    try (var automatic = new World(cluster, false);
        var explicit = new World(cluster, true)) {
      automatic.trackReactively();
      explicit.observeByHand();
      long warm = System.nanoTime() + 4 * effort.warmUp().toNanos();
      do {
        round(effort.samples(), automatic, explicit, new Latency(), new Latency());
      } while (System.nanoTime() - warm < 0);
      var ours = new ArrayList<Latency>();
      var theirs = new ArrayList<Latency>();
      for (int i = 0; i < effort.rounds(); i++) {
        ours.add(new Latency());
        theirs.add(new Latency());
        round(effort.samples(), automatic, explicit, ours.getLast(), theirs.getLast());
      }
      return lines(ours, theirs);
    }
  }

  /** The two variants take turns, a block of mutations each. */
  private static void round(
      int samples, World automatic, World explicit, Latency ours, Latency theirs) {
    for (int done = 0; done < samples; done += BLOCK) {
      for (int i = 0; i < BLOCK; i++) {
        automatic.mutate(ours);
      }
      for (int i = 0; i < BLOCK; i++) {
        explicit.mutate(theirs);
      }
    }
  }

  private static List<Line> lines(List<Latency> ours, List<Latency> theirs) {
    var lines = new ArrayList<Line>();
    for (double percentile : PERCENTILES) {
      var a = ours.stream().map(l -> l.percentile(percentile)).toList();
      var e = theirs.stream().map(l -> l.percentile(percentile)).toList();
      var name = "propagation to another process, p" + (int) percentile;
      var line = Line.compared(name, "µs", a, "observers by hand", e);
      var difference =
          Line.alone(
              name + ", more than by hand",
              "µs",
              IntStream.range(0, a.size()).mapToObj(i -> a.get(i) - e.get(i)).toList());
      lines.add(percentile == 50 ? line.ratioAtMost(1.1) : line);
      lines.add(percentile == 50 ? difference.atMost(50) : difference);
    }
    return lines;
  }

  /** Items in other processes, views in this one, and the clients of one way of propagation. */
  private static final class World implements AutoCloseable {
    private final Random random = new Random(4);
    private final BenchCluster cluster;
    private final Grains grains;
    private final boolean byHand;
    private final Map<Long, Writer> writers = new HashMap<>();
    private final List<String> items;
    private final Map<String, Writer> writerOf = new HashMap<>();
    private final List<String> views;
    private final List<List<String>> dependencies;
    private final List<Client> clients = new ArrayList<>();
    private final List<ReactiveComputation<int[]>> computations = new ArrayList<>();
    private int lastValue;

    World(BenchCluster cluster, boolean byHand) {
      this.cluster = cluster;
      this.byHand = byHand;
      grains = cluster.node().grains();
      var prefix = byHand ? "by-hand-" : "automatic-";
      long own = ProcessHandle.current().pid();
      for (int i = 0; writers.size() < cluster.hosts().size(); i++) {
        var writer = grains.get(Writer.class, "writer" + i);
        if (writer.process() != own) {
          writers.put(writer.process(), writer);
        }
      }
      items = keys(prefix + "item", ITEMS, key -> item(key).process(), pid -> pid != own);
      for (var key : items) {
        writerOf.put(key, writers.get(item(key).process()));
      }
      views = keys(prefix + "view", VIEWS, key -> view(key).process(), pid -> pid == own);
      dependencies =
          views.stream()
              .map(
                  view ->
                      random
                          .ints(0, ITEMS)
                          .distinct()
                          .limit(DEPENDENCIES)
                          .mapToObj(items::get)
                          .toList())
              .toList();
      for (int v = 0; v < VIEWS; v++) {
        view(views.get(v)).dependOn(dependencies.get(v));
        clients.add(new Client());
      }
    }

    private static List<String> keys(
        String prefix,
        int count,
        java.util.function.ToLongFunction<String> processOf,
        LongPredicate wanted) {
      return IntStream.iterate(0, i -> i + 1)
          .mapToObj(i -> prefix + i)
          .filter(key -> wanted.test(processOf.applyAsLong(key)))
          .limit(count)
          .toList();
    }

    private Item item(String key) {
      return grains.get(Item.class, key);
    }

    private View view(String key) {
      return grains.get(View.class, key);
    }

    void trackReactively() {
      for (int v = 0; v < VIEWS; v++) {
        var view = view(views.get(v));
        var computation = cluster.node().reactive(() -> view.query(true));
        computations.add(computation);
        var tracker = computation.tracker();
        tracker.next();
        clients.get(v).follow(tracker::iterator);
      }
    }

    void observeByHand() {
      for (int v = 0; v < VIEWS; v++) {
        for (var key : dependencies.get(v)) {
          item(key).observe(views.get(v));
        }
        var mailbox = new Mailbox();
        View.ViewGrain.CLIENTS.put(views.get(v), mailbox);
        clients.get(v).follow(() -> mailbox);
      }
    }

    /** Changes an item of a random view and waits until its client has seen it. */
    void mutate(Latency latency) {
      int v = random.nextInt(VIEWS);
      int dependency = random.nextInt(DEPENDENCIES);
      var key = dependencies.get(v).get(dependency);
      var client = clients.get(v);
      client.expect(dependency, ++lastValue);
      var writer = writerOf.get(key);
      if (writer == null) {
        throw new IllegalStateException("nobody writes to " + key);
      }
      long start = writer.write(key, lastValue, byHand);
      latency.record(client.awaitArrival() - start);
    }

    @Override
    public void close() {
      computations.forEach(ReactiveComputation::close);
      clients.forEach(Client::close);
      views.forEach(View.ViewGrain.CLIENTS::remove);
    }
  }
}
