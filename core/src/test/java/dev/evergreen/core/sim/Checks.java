package dev.evergreen.core.sim;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.spi.NodeCounts;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What must hold (design §4) of a world in which nothing goes wrong any more. */
final class Checks {

  /**
   * How long the checks wait, in virtual nanoseconds.
   *
   * @param settling how long after the last change everything must be right
   * @param calls after which time the checks' own calls cause nothing any more
   * @param collecting after which time circles that nobody reads any more are collected, which are
   *     looked for now and then only
   * @param quiet how long nothing may happen when nothing changes
   * @param reclaiming how long after the last use everything must be given back
   */
  record Patience(long settling, long calls, long collecting, long quiet, long reclaiming) {}

  private static final long SECOND = 1_000_000_000;
  private static final long MESSAGES_PER_SWEEP = 100;

  /** Of one grain, which may have several summaries. */
  private static final long RUNS_PER_SWEEP = 10;

  private final World world;
  private final Scenario scenario;
  private final Scheduler scheduler;
  private final SimNetwork network;
  private final Cluster cluster;
  private final App app;
  private final Population population;
  private final Patience patience;

  Checks(World world, Patience patience) {
    this.world = world;
    this.scenario = world.scenario;
    this.scheduler = world.scheduler;
    this.network = world.network;
    this.cluster = world.cluster;
    this.app = world.app;
    this.population = world.population;
    this.patience = patience;
  }

  // Property 1

  void settle(String when) {
    world.phase(when);
    scheduler.sleep(patience.settling());
    var expectation = new Expectation(app, world.anyNode());
    for (var watch : population.open()) {
      for (var consumer : watch.consumers()) {
        checkResult(watch, consumer, expectation.by(watch.node()), when);
      }
    }
    checkCouriers(expectation, when);
  }

  /** What is shown as current is right, now. */
  void checkCurrent() {
    var any = new Expectation(app, world.anyNode());
    for (var watch : population.open()) {
      var expectation = any.by(watch.node());
      for (var consumer : watch.consumers()) {
        var got = consumer.log.last();
        if (got != null
            && consumer.freshness() == Freshness.CURRENT
            && !expectation.accepts(watch.query(), got)) {
          app.violation(
              "1: tracker "
                  + consumer
                  + " of "
                  + watch
                  + " shows "
                  + got
                  + " as current, but it is "
                  + expectation.describe(watch.query()));
        }
      }
    }
  }

  private void checkResult(
      Watch watch, Watch.Consumer consumer, Expectation expectation, String when) {
    var got = consumer.log.last();
    if (got == null) {
      throw app.violation(
          "1: after " + when + " tracker " + consumer + " of " + watch + " has no result");
    }
    if (!expectation.accepts(watch.query(), got)) {
      app.violation(
          "1: after "
              + when
              + " tracker "
              + consumer
              + " of "
              + watch
              + " has "
              + got
              + ", "
              + consumer.freshness()
              + ", but it is "
              + expectation.describe(watch.query()));
    }
    if (consumer.freshness() == Freshness.IN_DOUBT) {
      app.violation("1: after " + when + " tracker " + consumer + " of " + watch + " is in doubt");
    }
  }

  private void checkCouriers(Expectation expectation, String when) {
    for (var key : app.wiring().couriers()) {
      var courier = world.anyNode().engine().grains().get(Courier.class, key);
      // The first to ask for a result starts the computation.
      courier.watched();
      scheduler.sleep(SECOND);
      for (var watched : courier.watched()) {
        if (!expectation.accepts(watched.ref(), watched.seen())) {
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

  void writeAll() {
    world.phase("every grain is written");
    var client = new Client(app, world.anyNode());
    app.wiring().cells().forEach(key -> insist(() -> client.writeCell(key)));
    for (long key = 1; key <= scenario.formulas(); key++) {
      long formula = key;
      insist(() -> client.rewire(formula));
    }
    app.wiring().meters().forEach(key -> app.changeMeter(key, app.meter(key) + 1));
    app.wiring().rings().forEach(key -> insist(() -> nest(client, key)));
    app.wiring().stalls().forEach(key -> insist(() -> put(client, key)));
  }

  /** Two branches come back to a ring, and each comes back once more, so that it blocks inside. */
  private void nest(Client client, String ring) {
    long chain = app.nextAction();
    var one = change(chain, 1, ring, change(chain, 2, ring));
    var other = change(chain, 3, ring, change(chain, 4, ring));
    client.nest(change(chain, 0, ring, one, other));
    for (long action = chain; action <= chain + 4; action++) {
      if (!app.writes().isAcknowledged(action)) {
        app.violation("3: nothing is wrong any more, but a chain goes on without " + action);
      }
    }
  }

  private static Ring.Course change(long chain, int place, String ring, Ring.Course... next) {
    return new Ring.Course(
        chain, place, ring, Ring.Task.CHANGE, Duration.ofMinutes(1), List.of(next));
  }

  /** Where an older node hosts what a newer one has written, it does not. */
  private void put(Client client, String stall) {
    try {
      client.put(stall);
    } catch (StateNotSavedException e) {
      if (!scenario.mixed() || !App.isOfOlderNode(e)) {
        throw e;
      }
    }
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

  void checkQuiet() {
    scheduler.sleep(patience.calls() + patience.collecting());
    world.phase("quiet");
    var before = app.executionsByGrain();
    long sent = network.sent();
    scheduler.sleep(patience.quiet());
    var executed = difference(before, app.executionsByGrain());
    if (areTooMany(executed, patience.quiet())) {
      app.violation("4: nothing changes, but operations are executed: " + executed);
    }
    long messages = network.sent() - sent;
    // Members of a cycle keep each other alive, so they ask now and then whether they are read.
    long allowed = scenario.cyclic() ? sweeps(patience.quiet()) * MESSAGES_PER_SWEEP : 0;
    boolean renews = scenario.settings().renewEvery().toNanos() <= patience.quiet();
    if (!renews && messages > allowed) {
      app.violation(
          "4: nothing changes and renewal is off, but there were " + messages + " messages");
    }
  }

  /** How often circles are looked for in a span of time, at most. */
  private long sweeps(long nanos) {
    return nanos * 3 / scenario.settings().idleAfter().toNanos() + 1;
  }

  /**
   * Whether operations are executed without a reason. Where a lost farewell keeps a member of a
   * circle that nobody reads, each sweep collects the circle in vain, and what is left runs again.
   */
  private boolean areTooMany(Map<String, Integer> executed, long nanos) {
    boolean kept = scenario.cyclic() && !scenario.profile().reclaims();
    long most = kept ? sweeps(nanos) * RUNS_PER_SWEEP : 0;
    return executed.values().stream().anyMatch(count -> count > most);
  }

  static Map<String, Integer> difference(Map<String, Integer> before, Map<String, Integer> after) {
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

  void checkTouches() {
    for (var key : app.wiring().cells()) {
      checkTouch(
          "Cell/" + key, () -> world.anyNode().engine().grains().get(Cell.class, key).touch());
    }
  }

  /**
   * A write by which no result becomes another executes the operations of its grain, and no others.
   */
  void checkTouch(String grain, Runnable write) {
    scheduler.sleep(patience.calls());
    var before = app.executionsByGrain();
    write.run();
    scheduler.sleep(patience.calls());
    var executed = difference(before, app.executionsByGrain());
    executed.remove(grain);
    if (areTooMany(executed, patience.calls())) {
      app.violation(
          "4: a write that left the results of "
              + grain
              + " as they were led to executions of "
              + executed);
    }
  }

  void closeAll() {
    world.phase("all computations are closed");
    population.open().forEach(Watch::close);
    for (var key : app.wiring().couriers()) {
      world.anyNode().engine().grains().get(Courier.class, key).unwatch();
    }
  }

  void checkNothingLeft() {
    scheduler.sleep(patience.reclaiming());
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

  void checkStates() {
    world.phase("all nodes are replaced");
    var before = Model.of(app, world.anyNode());
    var old = cluster.serving();
    var fresh = cluster.start("fresh");
    old.forEach(cluster::leave);
    world.await("the old nodes have left", cluster::settled);
    var after = Model.of(app, fresh);
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
