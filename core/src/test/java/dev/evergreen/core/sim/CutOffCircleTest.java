package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A grain looks at a circle of reads, of which some members are on a node that is cut off: it shows
 * its own writes all the same.
 */
final class CutOffCircleTest {

  private static final long MILLI = 1_000_000;

  /** A member of a circle, or who looks at one. */
  interface Link extends Grain {
    @ReadOnly
    String end();

    /** The number, and how the link ends that this one points to. */
    @ReadOnly
    String view();

    void pointTo(String key);

    void count();
  }

  record Held(String next, int number) {}

  private static final class LinkGrain implements Link {
    private final Grains grains;
    private final State<Held> state;

    LinkGrain(GrainContext<String> context) {
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held("", 0));
    }

    @Override
    public String end() {
      return grains.get(Link.class, state.get().next()).end();
    }

    @Override
    public String view() {
      try {
        return state.get().number() + " " + end();
      } catch (CycleException e) {
        return state.get().number() + " circle";
      }
    }

    @Override
    public void pointTo(String key) {
      state.set(new Held(key, 0));
    }

    @Override
    public void count() {
      state.set(new Held(state.get().next(), state.get().number() + 1));
    }
  }

  private final SplittableRandom random = new SplittableRandom(1);
  private final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              random.split(), new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 3_000_000)),
          new Trace(false));
  private final Scenario scenario = Scenario.of(1).with(NodeSettings.DEFAULT);
  private final SimNetwork network = new SimNetwork(scheduler, random.split());
  private final Cluster cluster =
      new Cluster(
          scheduler,
          random.split(),
          scenario,
          network,
          new SimStorage(scheduler, random.split(), 1),
          address -> GrainTypes.create().add(Link.class, LinkGrain::new));

  /** The time of a verdict does not grow with the circle. */
  @ParameterizedTest
  @ValueSource(ints = {2, 40})
  void whoIsWrittenOnceShowsThatHoweverManyAreCutOff(int count) {
    var here = keys(partition -> partition == 0).limit(2).toList();
    var far = keys(partition -> partition != 0).limit(count).toList();
    scheduler.run(
        () -> {
          cluster.startAll(2, partition -> partition == 0 ? 0 : 1);
          var node = cluster.serving().getFirst();
          var other = cluster.serving().getLast();
          var circle = Stream.concat(Stream.of(here.getFirst()), far.stream()).toList();
          point(node, circle);
          var reader = link(node, here.getLast());
          reader.pointTo(circle.getFirst());
          try (var computation = node.engine().reactive(reader::view)) {
            var view = computation.tracker();
            assertEquals("0 circle", view.next(Duration.ofMinutes(1)));
            scheduler.sleep(10_000 * MILLI);
            network.cut(node.id(), other.id());
            network.breakConnection(node.id(), other.id());
            scheduler.sleep(60_000 * MILLI);
            assertTrue(view.poll(Duration.ZERO).isEmpty());
            reader.count();
            var patience = scenario.settings().pushRetryAfter().multipliedBy(3);
            assertEquals("1 circle", view.next(patience));
          }
          cluster.serving().forEach(one -> one.engine().fence("the test has ended"));
        });
  }

  private void point(SimNode node, List<String> circle) {
    for (int i = 0; i < circle.size(); i++) {
      link(node, circle.get(i)).pointTo(circle.get((i + 1) % circle.size()));
    }
  }

  private static Link link(SimNode node, String key) {
    return node.engine().grains().get(Link.class, key);
  }

  private Stream<String> keys(Predicate<Integer> partition) {
    return IntStream.range(0, 10_000)
        .mapToObj(i -> "k" + i)
        .filter(key -> partition.test(partition(key)));
  }

  private int partition(String key) {
    return Math.floorMod(new GrainId("Link", key).stableHash(), scenario.partitions());
  }
}
