package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Circles of reads that no search can see, since what their members read cannot be told. */
final class NamelessCircleTest {

  private static final long SECOND = 1_000_000_000;
  private static final int MOST = 400;

  record Reads(List<String> others) {}

  /** Adds up what others give, and one. */
  interface Adder extends Grain {
    @ReadOnly
    long sum(String name);

    void read(List<String> others);
  }

  private static final class AdderGrain implements Adder {
    private final GrainContext<String> context;
    private final State<Reads> reads;
    private final AtomicInteger runs;

    AdderGrain(GrainContext<String> context, AtomicInteger runs) {
      this.context = context;
      this.reads = context.state(Reads.class, new Reads(List.of()));
      this.runs = runs;
    }

    @Override
    public long sum(String name) {
      runs.incrementAndGet();
      long sum = 1;
      for (var other : reads.get().others()) {
        sum += context.grains().get(Adder.class, other).sum(name);
      }
      return sum;
    }

    @Override
    public void read(List<String> others) {
      reads.set(new Reads(others));
    }
  }

  private final AtomicInteger runs = new AtomicInteger();
  private final SplittableRandom random = new SplittableRandom(1);
  private final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              random.split(), new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 3_000_000)),
          new Trace(false));
  private final Scenario scenario =
      Scenario.of(1)
          .with(NodeSettings.DEFAULT.withMaxValueBytes(MOST).withCacheGrace(Duration.ofSeconds(1)));
  private final SimNetwork network = new SimNetwork(scheduler, random.split());
  private final Cluster cluster =
      new Cluster(
          scheduler,
          random.split(),
          scenario,
          network,
          new SimStorage(scheduler, random.split(), 1),
          address -> GrainTypes.create().add(Adder.class, c -> new AdderGrain(c, runs)));

  /**
   * @param length of the members' names: too long for the names of lists, or for a list of several
   */
  @ParameterizedTest
  @CsvSource({"1, 397", "1, 392", "2, 397", "2, 392", "2, 100"})
  void aCircleWhoseMembersHaveNoNamesEndsAllTheSame(int nodes, int length) {
    endsAllTheSame(nodes, "x".repeat(length), message -> false);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void soDoesOneWhoseListsNoLinkTakes(int nodes) {
    endsAllTheSame(nodes, "x", NamelessCircleTest::asksForList);
  }

  private static boolean asksForList(Message message) {
    return message instanceof Message.Subscribe subscribe
        && subscribe.subscriptions().stream()
            .anyMatch(asked -> asked.key().operation().startsWith("$reads"));
  }

  private void endsAllTheSame(int nodes, String name, Predicate<Message> refused) {
    network.refuses(refused);
    scheduler.run(
        () -> {
          int ofB = partition("b");
          assertNotEquals(partition("a"), ofB);
          cluster.startAll(nodes, partition -> partition == ofB ? nodes - 1 : 0);
          var node = cluster.serving().getFirst();
          var a = adder(node, "a");
          var b = adder(node, "b");
          List.of("c", "d", "e").forEach(key -> adder(node, key).read(List.of("z")));
          a.read(List.of("b", "c", "d", "e"));
          try (var sumOfA = node.engine().reactive(() -> a.sum(name));
              var sumOfB = node.engine().reactive(() -> b.sum(name))) {
            await(sumOfA, 8L);
            await(sumOfB, 1L);
            b.read(List.of("a", "c", "d", "e"));
            standsStill();
            assertInstanceOf(CycleException.class, failure(sumOfA));
            assertInstanceOf(CycleException.class, failure(sumOfB));
            assertEquals(Freshness.CURRENT, sumOfA.tracker().freshness());
            b.read(List.of("c"));
            await(sumOfB, 3L);
            await(sumOfA, 10L);
            standsStill();
          }
          cluster.serving().forEach(one -> one.engine().fence("the test has ended"));
        });
  }

  private int partition(String key) {
    return Math.floorMod(new GrainId("Adder", key).stableHash(), scenario.partitions());
  }

  private static Adder adder(SimNode node, String key) {
    return node.engine().grains().get(Adder.class, key);
  }

  /** Nothing runs any more, after all that was to be tried again was tried often. */
  private void standsStill() {
    scheduler.sleep(100 * SECOND);
    int before = runs.get();
    scheduler.sleep(1_000 * SECOND);
    assertEquals(before, runs.get(), "runs");
    assertTrue(before < 1_000, () -> "runs: " + before);
  }

  private static void await(ReactiveComputation<Long> computation, long sum) {
    var tracker = computation.tracker();
    Object last = null;
    for (int i = 0; i < 100; i++) {
      var result = tracker.poll(Duration.ofSeconds(10));
      last = result.isPresent() ? result.get() : last;
      if (last instanceof Result.Value<?>(Long value) && value == sum) {
        return;
      }
    }
    throw new AssertionError("no " + sum + " but " + last);
  }

  private static Throwable failure(ReactiveComputation<Long> computation) {
    var result = computation.tracker().poll(Duration.ofSeconds(10)).orElseThrow();
    return result instanceof Result.Failure<?>(Exception e)
        ? e
        : new AssertionError("a result: " + result);
  }
}
