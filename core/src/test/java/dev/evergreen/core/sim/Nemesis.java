package dev.evergreen.core.sim;

import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;

/** Makes trouble of the scenario's kind until it is told to stop, then heals what it did. */
final class Nemesis {

  private static final long SECOND = 1_000_000_000;

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final Scenario scenario;
  private final Cluster cluster;
  private final SimNetwork network;
  private final SimStorage storage;
  private final Population population;
  private boolean stopped;
  private int started;

  Nemesis(World world, SplittableRandom random) {
    this.scheduler = world.scheduler;
    this.random = random;
    this.scenario = world.scenario;
    this.cluster = world.cluster;
    this.network = world.network;
    this.storage = world.storage;
    this.population = world.population;
    this.started = scenario.nodes();
  }

  void start() {
    network.weather(weather());
    scheduler.start(scheduler.world(), "nemesis", this::run);
  }

  private Weather weather() {
    return switch (scenario.profile()) {
      case CALM, MOVING -> random.nextBoolean() ? Weather.FINE : Weather.SLOW;
      case JUMBLED -> Weather.JUMBLED;
      case ROUGH, SPLIT -> Weather.ROUGH;
      case LEAKY, STORM -> Weather.STORM;
    };
  }

  private void run() {
    for (int i = 0; i < scenario.troubles() && !stopped; i++) {
      scheduler.sleep(random.nextLong(scenario.troubleNanos()) + 1);
      if (!stopped && random.nextInt(4) == 0) {
        population.interruptSomeone();
      }
      if (!stopped && scenario.profile().moves()) {
        trouble();
      }
    }
  }

  /** No more trouble, at once; what goes wrong now was begun before. */
  void stop() {
    stopped = true;
    network.weather(Weather.FINE);
    storage.failures(0);
    if (cluster.staying().isEmpty()) {
      cluster.start("last");
    }
    scheduler.trace().add(scheduler.now(), "nemesis", "stops");
  }

  private void trouble() {
    var staying = cluster.staying();
    if (staying.isEmpty()) {
      join();
      return;
    }
    var victim = staying.get(random.nextInt(staying.size()));
    int choice = random.nextInt(100);
    if (choice < 40) {
      handOff(victim);
    } else if (choice < 50) {
      coming(staying);
    } else if (choice < 60) {
      going(staying, victim);
    } else if (scenario.profile().faults()) {
      fault(staying, victim);
    }
  }

  private void handOff(SimNode victim) {
    var partitions = new BitSet();
    do {
      partitions.set(random.nextInt(scenario.partitions()));
    } while (random.nextBoolean());
    cluster.move(victim, partitions, null);
  }

  private void coming(List<SimNode> staying) {
    if (staying.size() <= scenario.nodes()) {
      join();
    }
  }

  private void join() {
    // A node may return at the address of one that died.
    int address = random.nextBoolean() ? ++started : random.nextInt(1, started + 1);
    var name = "n" + address;
    if (cluster.serving().stream().anyMatch(node -> node.id().address().equals(name))) {
      return;
    }
    var node = cluster.start(name);
    population.settle(node);
    cluster.rebalance(node);
  }

  private void going(List<SimNode> staying, SimNode victim) {
    if (staying.size() > 1) {
      cluster.leave(victim);
    }
  }

  private void fault(List<SimNode> staying, SimNode victim) {
    int choice = random.nextInt(100);
    if (choice < 20) {
      badStorage();
    } else if (choice < 30) {
      victim.clock().jump(Duration.ofSeconds(random.nextInt(-3_600, 3_600)));
    } else if (choice < 40) {
      cluster.pause(victim, random.nextLong(3 * SECOND), false);
    } else if (staying.size() > 1) {
      faultAmongMany(staying, victim, random.nextInt(100));
    }
  }

  private void faultAmongMany(List<SimNode> staying, SimNode victim, int choice) {
    boolean downed = scenario.profile().split() && random.nextInt(3) > 0;
    if (choice < 30) {
      cluster.isolate(victim, random.nextLong(4 * SECOND), downed);
    } else if (choice < 60 && scenario.profile().split()) {
      cluster.pause(victim, random.nextLong(4 * SECOND), downed);
    } else if (choice < 75) {
      breakConnection(staying, victim);
    } else {
      cluster.kill(victim);
    }
  }

  private void breakConnection(List<SimNode> staying, SimNode victim) {
    var other = staying.get(random.nextInt(staying.size()));
    if (other != victim) {
      network.breakConnection(victim.id(), other.id());
    }
  }

  private void badStorage() {
    storage.failures(scenario.storageFailures());
    scheduler.after(random.nextLong(3 * SECOND), scheduler.world(), () -> storage.failures(0));
  }
}
