package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * A ring of reads over nodes of which only neighbours hear each other: no member can see all of it.
 * Until somebody can, its members run each other, with a pause each time.
 */
final class HiddenCircleTest {

  private static final int COUNT = 4;
  private static final long SECOND = 1_000_000_000;

  interface Link extends Grain {
    @ReadOnly
    String end();

    void pointTo(String key);
  }

  record Held(String next) {}

  private static final class LinkGrain implements Link {
    private final Grains grains;
    private final State<Held> state;
    private final AtomicLong runs;

    LinkGrain(GrainContext<String> context, AtomicLong runs) {
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held(""));
      this.runs = runs;
    }

    @Override
    public String end() {
      runs.incrementAndGet();
      var next = state.get().next();
      try {
        return next.isEmpty() ? "end" : grains.get(Link.class, next).end();
      } catch (CycleException e) {
        return "circle";
      }
    }

    @Override
    public void pointTo(String key) {
      state.set(new Held(key));
    }
  }

  private final AtomicLong runs = new AtomicLong();
  private final SplittableRandom random = new SplittableRandom(1);
  private final Scenario scenario = Scenario.of(1).with(NodeSettings.DEFAULT);
  private final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              random.split(), new RandomPolicy.Pace(1_000, 0, 0, 20, false, 0, 30_000_000)),
          new Trace(false));
  private final SimNetwork network = new SimNetwork(scheduler, random.split());
  private final Cluster cluster =
      new Cluster(
          scheduler,
          random.split(),
          scenario,
          network,
          new SimStorage(scheduler, random.split(), 1),
          address -> GrainTypes.create().add(Link.class, context -> new LinkGrain(context, runs)));

  @Test
  void itsMembersRunEachOtherSlowlyUntilItIsSeen() {
    scheduler.run(
        () -> {
          cluster.startAll(COUNT, partition -> partition % COUNT);
          scheduler.sleep(3 * SECOND);
          var keys = IntStream.range(0, COUNT).mapToObj(this::keyOn).toList();
          for (int i = 0; i + 1 < COUNT; i++) {
            link(keys, i).pointTo(keys.get(i + 1));
          }
          try (var computation = node(0).reactive(link(keys, 0)::end)) {
            var shown = computation.tracker();
            assertEquals("end", shown.next(Duration.ofMinutes(1)));
            cutAllButNeighbours();
            scheduler.sleep(SECOND);
            link(keys, COUNT - 1).pointTo(keys.getFirst());
            scheduler.sleep(10 * SECOND);
            long before = runs.get();
            scheduler.sleep(20 * SECOND);
            // One in a patience for each member, and some more.
            long most = 20 * SECOND / NodeSettings.DEFAULT.pushRetryAfter().toNanos() * COUNT;
            assertTrue(runs.get() - before <= most, () -> runs.get() - before + " runs");
            joinAll();
            assertThrows(CycleException.class, () -> shown.next(Duration.ofMinutes(1)));
          }
          cluster.serving().forEach(node -> node.engine().fence("the test has ended"));
        });
  }

  private Node node(int index) {
    return cluster.serving().get(index).engine();
  }

  private Link link(List<String> keys, int index) {
    return node(index).grains().get(Link.class, keys.get(index));
  }

  private String keyOn(int node) {
    return IntStream.range(0, 10_000)
        .mapToObj(i -> "k" + i)
        .filter(key -> partition(key) % COUNT == node)
        .findFirst()
        .orElseThrow();
  }

  private int partition(String key) {
    var id = new GrainId(GrainTypes.nameOf(Link.class), key);
    return Math.floorMod(id.stableHash(), scenario.partitions());
  }

  private void cutAllButNeighbours() {
    var nodes = cluster.serving();
    for (int i = 0; i < COUNT; i++) {
      for (int j = i + 2; j < COUNT; j++) {
        if (j - i < COUNT - 1) {
          network.cut(nodes.get(i).id(), nodes.get(j).id());
          network.breakConnection(nodes.get(i).id(), nodes.get(j).id());
        }
      }
    }
  }

  private void joinAll() {
    var nodes = cluster.serving();
    for (int i = 0; i < COUNT; i++) {
      for (int j = i + 1; j < COUNT; j++) {
        network.join(nodes.get(i).id(), nodes.get(j).id());
      }
    }
  }
}
