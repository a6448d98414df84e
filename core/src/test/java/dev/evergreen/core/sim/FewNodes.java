package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.spi.GrainId;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Some nodes in virtual time, where nothing goes wrong but what a test does. */
final class FewNodes {

  static final long MILLI = 1_000_000;

  private final int count;
  private final SplittableRandom random = new SplittableRandom(1);
  private final Scenario scenario;
  private final Cluster cluster;
  final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              random.split(), new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 3_000_000)),
          new Trace(false));
  final SimNetwork network = new SimNetwork(scheduler, random.split());

  FewNodes(int count, NodeSettings settings, Supplier<GrainTypes> types) {
    this.count = count;
    this.scenario = Scenario.of(1).with(settings);
    this.cluster =
        new Cluster(
            scheduler,
            random.split(),
            scenario,
            network,
            new SimStorage(scheduler, random.split(), 1),
            address -> types.get());
  }

  /** Starts the nodes, does what a test does, and stops them. */
  void run(Runnable test) {
    scheduler.run(
        () -> {
          cluster.startAll(count, this::host);
          test.run();
          cluster.serving().forEach(node -> node.engine().fence("the test has ended"));
        });
  }

  /** The first ones have a partition each, and the last one all others. */
  private int host(int partition) {
    return Math.min(partition, count - 1);
  }

  SimNode node(int index) {
    return cluster.serving().get(index);
  }

  SimNode first() {
    return cluster.serving().getFirst();
  }

  SimNode second() {
    return cluster.serving().getLast();
  }

  /** Keys of grains on the first node. */
  Stream<String> keysOnFirst(Class<?> grain) {
    return keys(grain, 0);
  }

  /** Keys of grains on the second node. */
  Stream<String> keysOnSecond(Class<?> grain) {
    return keys(grain, 1);
  }

  /** Keys of grains on a node. */
  Stream<String> keys(Class<?> grain, int node) {
    return IntStream.range(0, 10_000)
        .mapToObj(i -> "k" + i)
        .filter(key -> host(partition(new GrainId(GrainTypes.nameOf(grain), key))) == node);
  }

  /** Into how many all grains are divided. */
  int partitions() {
    return scenario.partitions();
  }

  private int partition(GrainId grain) {
    return Math.floorMod(grain.stableHash(), scenario.partitions());
  }

  /** Nothing passes between the two, and both know it. */
  void cut() {
    cut(0, 1);
    scheduler.sleep(20 * MILLI);
  }

  /** Nothing passes between two of them any more; both know it soon. */
  void cut(int one, int other) {
    network.cut(node(one).id(), node(other).id());
    network.breakConnection(node(one).id(), node(other).id());
  }

  void join() {
    join(0, 1);
  }

  void join(int one, int other) {
    network.join(node(one).id(), node(other).id());
  }
}
