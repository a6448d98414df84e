package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTypes;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The simulated authority over nodes and partitions. */
final class ClusterTest {

  private static final int WORLDS = 100;
  private static final long SECOND = 1_000_000_000;

  static LongStream seedsWithAFence() {
    return LongStream.iterate(1, seed -> seed + 1)
        .filter(seed -> Scenario.of(seed).fenced())
        .limit(WORLDS);
  }

  /** Nobody else gives it away while its former owner is given up, which takes a while. */
  @ParameterizedTest
  @MethodSource("seedsWithAFence")
  void aPartitionOfANodeThatIsGoneIsGivenAwayOnce(long seed) {
    var random = new SplittableRandom(seed);
    var pace = new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 3_000_000);
    var scheduler = new Scheduler(new RandomPolicy(random.split(), pace), new Trace(false));
    var cluster =
        new Cluster(
            scheduler,
            random.split(),
            Scenario.of(seed),
            new SimNetwork(scheduler, random.split()),
            new SimStorage(scheduler, random.split(), SECOND),
            address -> GrainTypes.create());
    scheduler.run(
        () -> {
          cluster.startAll(3);
          cluster.kill(cluster.serving().getFirst());
          for (int i = 0; i < 12; i++) {
            cluster.rebalance(cluster.serving().getFirst());
            scheduler.sleep(SECOND);
          }
          while (!cluster.settled()) {
            scheduler.sleep(SECOND);
          }
          cluster.serving().forEach(node -> node.engine().fence("the test has ended"));
        });
  }
}
