package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.Message;
import java.util.BitSet;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The parts of a simulated world, before anything happens in it. */
final class World {

  private static final long SECOND = 1_000_000_000;

  // Failures are what runs are full of; a weak reference to the logger would forget the level.
  private static final Logger LOG = Logger.getLogger(Node.class.getName());

  static {
    LOG.setLevel(Level.OFF);
  }

  final Scenario scenario;
  final Scheduler scheduler;
  final SimNetwork network;
  final SimStorage storage;
  final App app;
  final Cluster cluster;
  final Population population;

  /**
   * @param types what the application's grains on the node at an address are, if not the usual ones
   */
  World(
      Scenario scenario,
      Wiring wiring,
      Function<String, @Nullable GrainTypes> types,
      Policy policy,
      SplittableRandom random,
      Trace trace) {
    this.scenario = scenario;
    this.scheduler = new Scheduler(policy, trace);
    this.network = new SimNetwork(scheduler, random.split());
    if (!scenario.profile().renews()) {
      // It is told once. Links lose it only as they break, which makes nodes ask for all they have.
      network.keeps(message -> message instanceof Message.Moved);
    }
    this.storage = new SimStorage(scheduler, random.split(), scenario.storageNanos());
    this.app = new App(scheduler, storage, scenario, wiring, random.split());
    this.cluster =
        new Cluster(
            scheduler,
            random.split(),
            scenario,
            network,
            storage,
            address -> {
              var special = types.apply(address);
              return special == null ? app.types(address) : special;
            });
    this.population = new Population(app);
  }

  /** Waits, but not for ever. */
  void await(String what, BooleanSupplier condition) {
    phase("until " + what);
    long limit = scheduler.now() + 3_600 * SECOND;
    while (!condition.getAsBoolean()) {
      if (scheduler.now() > limit) {
        throw new SimulationFailure(
            "violated 4: after an hour it is not so that " + what + "\n" + scheduler.stacks());
      }
      scheduler.sleep(SECOND / 10);
    }
  }

  void phase(String name) {
    scheduler.trace().add(scheduler.now(), "run", name);
  }

  /** A node that takes part. */
  SimNode anyNode() {
    var serving = cluster.serving();
    return serving.get(app.random().nextInt(serving.size()));
  }

  /** Moves the grains of a partition to another node, if there is one. */
  void moveOne(SplittableRandom random) {
    var staying = cluster.staying();
    if (staying.size() > 1) {
      var partition = new BitSet();
      partition.set(random.nextInt(scenario.partitions()));
      staying.forEach(from -> cluster.move(from, partition, null));
    }
  }

  /** Numbers about what happened, for people. */
  String summary() {
    return scenario.profile()
        + ": "
        + scheduler.steps()
        + " steps, "
        + network.sent()
        + " messages, "
        + app.executions()
        + " executions, "
        + population.deliveries()
        + " results delivered, writes "
        + app.writes().summary()
        + ", "
        + scheduler.now() / SECOND
        + " s"
        + (scheduler.abandoned() > 0 ? ", " + scheduler.abandoned() + " threads abandoned" : "");
  }
}
