package dev.evergreen.core.sim;

import java.util.SplittableRandom;

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

  /** So that all has settled in the time that there is for that. */
  private static final long MOST_COMPARING = 1_000_000_000;

  private static final long LATEST_INTERRUPT = 2_000_000_000;

  private final World world;
  private final Nemesis nemesis;
  private final Checks checks;

  private Run(Scenario scenario, Trace trace) {
    var random = new SplittableRandom(scenario.seed() * 0x9e3779b97f4a7c15L + 1);
    var policy = new RandomPolicy(random.split(), scenario.pace());
    var wiring = new Wiring(scenario, random.split());
    this.world = new World(scenario, wiring, address -> null, policy, random, trace);
    this.nemesis = new Nemesis(world, random.split());
    Slowness.of(scenario).atMost(MOST_COMPARING).slowDown(world.scheduler, world.app.random());
    this.checks = new Checks(world, scenario.patience());
    if (random.nextBoolean()) {
      world.app.callers().interruptSome(random.split());
    }
  }

  /**
   * Runs a scenario to its end.
   *
   * @return numbers about the run
   * @throws SimulationFailure if a property does not hold
   */
  static String of(Scenario scenario, Trace trace) {
    return new Run(scenario, trace).toEnd();
  }

  /** As {@link #of}, on nodes that are refused some of their threads and timers. */
  static String withRefusals(Scenario scenario, Trace trace) {
    var run = new Run(scenario, trace);
    run.world.cluster.refuseSome();
    return run.toEnd();
  }

  private String toEnd() {
    world.scheduler.run(this::main);
    return world.summary();
  }

  private void main() {
    var cluster = world.cluster;
    cluster.startAll(world.scenario.nodes());
    cluster.serving().forEach(world.population::settle);
    nemesis.start();
    world.await("the clients' work ends", world.population::idle);
    nemesis.stop();
    world.app.calmDown();
    world.await("the cluster settles", cluster::settled);
    world.population.watchMore(cluster.serving());
    if (world.app.callers().areInterrupted()) {
      // Nobody writes what these read, so that what they miss now would be missed for good.
      world.population.watchBranches(cluster.serving());
      world.scheduler.sleep(LATEST_INTERRUPT);
      world.app.callers().interruptNobody();
    }
    checks.settle("the first settling");
    checks.checkQuiet();
    checks.writeAll();
    checks.settle("the second settling");
    checks.checkTouches();
    checks.closeAll();
    checks.checkNothingLeft();
    checks.checkStates();
  }
}
