package dev.evergreen.core.sim;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.NodeCounts;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.sim.Expectation.Judgement;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;

/**
 * One run: a cluster under a random application and random trouble, then the properties of the
 * design (§4, "What must hold"), in this order.
 *
 * <ol>
 *   <li>Clients and trackers work while the {@link Nemesis} makes trouble. Meanwhile the records
 *       that the application keeps are checked with every result and every acknowledged write
 *       (properties 2 and 3).
 *   <li>Trouble ends and time passes: every tracker's last result is what fresh calls yield, which
 *       is what a {@link Model} without any runtime makes of the grains' states (property 1).
 *   <li>More time passes: nothing is executed (property 4).
 *   <li>Every grain is written once more: the graph of dependencies still works (property 1 again).
 *   <li>All computations are closed and time passes: nothing is left (property 4).
 *   <li>All nodes are replaced: the states that the new ones load hold every acknowledged write
 *       (property 3).
 * </ol>
 */
final class Run {

  private static final long SECOND = 1_000_000_000;
  private static final long QUIET_NANOS = 300 * SECOND;
  private static final long MESSAGES_PER_SWEEP = 100;

  private final Scenario scenario;
  private final Scheduler scheduler;
  private final SimNetwork network;
  private final Cluster cluster;
  private final App app;
  private final Population population;
  private final Nemesis nemesis;

  private Run(Scenario scenario, Trace trace) {
    this.scenario = scenario;
    var random = new SplittableRandom(scenario.seed() * 0x9e3779b97f4a7c15L + 1);
    this.scheduler = new Scheduler(random.split(), scenario.pace(), trace);
    this.network = new SimNetwork(scheduler, random.split());
    var storage = new SimStorage(scheduler, random.split(), scenario.storageNanos());
    this.app = new App(scheduler, storage, scenario, random.split());
    this.cluster = new Cluster(scheduler, random.split(), scenario, network, storage, app::types);
    this.population = new Population(app);
    this.nemesis =
        new Nemesis(scheduler, random.split(), scenario, cluster, network, storage, population);
  }

  /**
   * Runs a scenario to its end.
   *
   * @throws SimulationFailure if a property does not hold
   */
  static Run of(Scenario scenario, Trace trace) {
    var run = new Run(scenario, trace);
    run.scheduler.run(run::main);
    return run;
  }

  /** Numbers about the run, for people. */
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

  private void main() {
    cluster.startAll(scenario.nodes());
    cluster.serving().forEach(population::settle);
    nemesis.start();
    await("the clients' work ends", population::idle);
    nemesis.stop();
    await("the cluster settles", cluster::settled);
    population.watchMore(cluster.serving());
    settle("the first settling");
    checkQuiet();
    writeAll();
    settle("the second settling");
    checkTouches();
    closeAll();
    checkNothingLeft();
    checkStates();
  }

  private void await(String what, BooleanSupplier condition) {
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

  private void phase(String name) {
    scheduler.trace().add(scheduler.now(), "run", name);
  }

  private SimNode anyNode() {
    var serving = cluster.serving();
    return serving.get(app.random().nextInt(serving.size()));
  }

  // Property 1

  private void settle(String when) {
    phase(when);
    scheduler.sleep(scenario.settleNanos());
    var expectation = new Expectation(app, anyNode().engine().grains());
    for (var watch : population.open()) {
      for (var consumer : watch.consumers()) {
        checkResult(watch, consumer, expectation, when);
      }
    }
    checkCouriers(expectation, when);
  }

  private void checkResult(
      Watch watch, Watch.Consumer consumer, Expectation expectation, String when) {
    var got = consumer.log.last();
    if (got == null) {
      throw app.violation(
          "1: after " + when + " tracker " + consumer + " of " + watch + " has no result");
    }
    var judgement = expectation.judge(watch.query(), got);
    if (judgement == Judgement.WRONG) {
      app.violation(
          "1: after "
              + when
              + " tracker "
              + consumer
              + " of "
              + watch
              + " has "
              + got
              + ", but it is "
              + expectation.describe(watch.query()));
    }
    if (judgement == Judgement.RIGHT && consumer.freshness() == Freshness.IN_DOUBT) {
      app.violation("1: after " + when + " tracker " + consumer + " of " + watch + " is in doubt");
    }
  }

  private void checkCouriers(Expectation expectation, String when) {
    for (var key : app.wiring().couriers()) {
      var courier = anyNode().engine().grains().get(Courier.class, key);
      // The first to ask for a result starts the computation.
      courier.watched();
      scheduler.sleep(SECOND);
      for (var watched : courier.watched()) {
        if (expectation.judge(watched.ref(), watched.seen()) == Judgement.WRONG) {
          app.violation(
              "1: after "
                  + when
                  + " the computation inside of "
                  + key
                  + " over "
                  + watched.ref()
                  + " has "
                  + watched.seen()
                  + ", but it is "
                  + expectation.describe(watched.ref()));
        }
      }
    }
  }

  private void writeAll() {
    phase("every grain is written");
    var client = new Client(app, anyNode());
    app.wiring().cells().forEach(key -> insist(() -> client.writeCell(key)));
    for (long key = 1; key <= scenario.formulas(); key++) {
      long formula = key;
      insist(() -> client.rewire(formula));
    }
    app.wiring().meters().forEach(key -> app.changeMeter(key, app.meter(key) + 1));
  }

  /**
   * Writes, which must succeed; but an activation whose grain was written elsewhere while two nodes
   * hosted it learns of that by its next write.
   */
  private void insist(Runnable write) {
    try {
      write.run();
    } catch (StateNotSavedException e) {
      if (!scenario.profile().split()) {
        throw e;
      }
      write.run();
    }
  }

  // Property 4

  private void checkQuiet() {
    // The checks' own calls may still cause something.
    scheduler.sleep(30 * SECOND);
    phase("quiet");
    long executions = app.executions();
    var before = app.executionsByGrain();
    long sent = network.sent();
    scheduler.sleep(QUIET_NANOS);
    if (app.executions() != executions) {
      app.violation(
          "4: nothing changes, but operations are executed: "
              + difference(before, app.executionsByGrain()));
    }
    long messages = network.sent() - sent;
    // Members of a cycle keep each other alive, so they ask now and then whether they are read.
    long sweeps = QUIET_NANOS * 3 / scenario.settings().idleAfter().toNanos() + 1;
    long allowed = scenario.cyclic() ? sweeps * MESSAGES_PER_SWEEP : 0;
    if (!scenario.profile().renews() && messages > allowed) {
      app.violation(
          "4: nothing changes and renewal is off, but there were " + messages + " messages");
    }
  }

  private static Map<String, Integer> difference(
      Map<String, Integer> before, Map<String, Integer> after) {
    var difference = new TreeMap<String, Integer>();
    after.forEach(
        (grain, count) -> {
          int more = count - before.getOrDefault(grain, 0);
          if (more != 0) {
            difference.put(grain, more);
          }
        });
    return difference;
  }

  /** A write that changes nothing executes the operations of its grain, and no others. */
  private void checkTouches() {
    for (var key : app.wiring().cells()) {
      scheduler.sleep(10 * SECOND);
      var before = app.executionsByGrain();
      anyNode().engine().grains().get(Cell.class, key).touch();
      scheduler.sleep(10 * SECOND);
      var executed = difference(before, app.executionsByGrain());
      executed.remove("Cell/" + key);
      if (!executed.isEmpty()) {
        app.violation(
            "4: a write that left cell " + key + " as it was led to executions of " + executed);
      }
    }
  }

  private void closeAll() {
    phase("all computations are closed");
    population.open().forEach(Watch::close);
    for (var key : app.wiring().couriers()) {
      anyNode().engine().grains().get(Courier.class, key).unwatch();
    }
  }

  private void checkNothingLeft() {
    scheduler.sleep(scenario.reclaimNanos());
    for (var node : cluster.serving()) {
      var counts = node.engine().counts();
      if (!counts.equals(least(counts))) {
        app.violation("4: nothing is used any more, but " + node + " holds " + counts);
      }
    }
  }

  private NodeCounts least(NodeCounts counts) {
    return scenario.profile().reclaims()
        ? new NodeCounts(0, 0, 0, 0, 0, 0)
        : new NodeCounts(
            counts.activations(),
            0,
            counts.summaries(),
            counts.caches(),
            counts.subscriptions(),
            0);
  }

  // Property 3

  private void checkStates() {
    phase("all nodes are replaced");
    var before = Model.of(app, anyNode().engine().grains());
    var old = cluster.serving();
    var fresh = cluster.start("fresh");
    old.forEach(cluster::leave);
    await("the old nodes have left", cluster::settled);
    var after = Model.of(app, fresh.engine().grains());
    after.judge();
    if (!scenario.profile().split() && !after.sameStates(before)) {
      app.violation(
          "3: the states before the nodes were replaced were "
              + before.states()
              + ", now they are "
              + after.states());
    }
  }
}
