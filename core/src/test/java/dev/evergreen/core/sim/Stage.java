package dev.evergreen.core.sim;

import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.sim.Schedule.Deviation;
import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import java.util.function.IntUnaryOperator;
import java.util.function.LongPredicate;

/** Performs a {@link Scope} by a {@link Schedule}, then checks what must hold. */
final class Stage {

  private static final int PARTITIONS = 64;
  private static final long SECOND = 1_000_000_000;

  /** Enough for all messages that follow from a change. */
  private static final long MOMENT = Duration.ofMillis(100).toNanos();

  /** Shorter than the grace of a cache. */
  static final long SHORT = Duration.ofMillis(600).toNanos();

  /** Longer than a cache's grace and a lease. */
  static final long REST = Duration.ofMillis(2_500).toNanos();

  private final Scope scope;
  private final Schedule schedule;
  private final World world;
  private final Checks checks;
  private final Map<String, Watch> watches = new HashMap<>();
  private List<SimNode> nodes = List.of();

  /** Whether something was given up whose outcome is unknown: it may happen at any time. */
  private boolean someMayFollow;

  private Stage(Scope scope, Schedule schedule, Trace trace) {
    this.scope = scope;
    this.schedule = schedule;
    var random = new SplittableRandom(1);
    var scenario = Scenario.of(scope, PARTITIONS);
    var wiring = new Wiring(scenario, random.split(), scope.formulas);
    this.world = new World(scenario, wiring, scope::types, schedule, random, trace);
    this.checks =
        new Checks(world, new Checks.Patience(5 * SECOND, SECOND, 0, 5 * SECOND, 20 * SECOND));
  }

  /** A scope for the explorer. */
  static Explorer.Program program(Scope scope) {
    return (deviations, isNew) -> perform(scope, deviations, new Trace(false), isNew);
  }

  /** Performs a scope; blocks until its end. */
  static Explorer.Attempt perform(
      Scope scope, List<Deviation> deviations, Trace trace, LongPredicate isNew) {
    var schedule = new Schedule(deviations, scope.loses, isNew);
    try {
      var stage = new Stage(scope, schedule, trace);
      stage.world.scheduler.run(stage::main);
      return new Explorer.Attempt(schedule, null);
    } catch (SimulationFailure e) {
      return new Explorer.Attempt(schedule, e);
    }
  }

  App app() {
    return world.app;
  }

  private void main() {
    world.network.post(schedule::post);
    if (scope.savesFail) {
      world.storage.fates(schedule::save);
    }
    world.cluster.startAll(scope.nodes, owners());
    nodes = world.cluster.serving();
    for (var script : scope.scripts) {
      var node = node(script.node());
      world.population.add(node, "script", false, () -> play(script, node));
    }
    world.await("the scripts' end", world.population::idle);
    world.await("the cluster settles", world.cluster::settled);
    world.scheduler.sleep(SECOND);
    schedule.end();
    checkTimes();
    world.scheduler.sleep(2 * Schedule.LONG);
    checks.settle("the first settling");
    checks.checkQuiet();
    checks.checkTouches();
    checks.closeAll();
    checks.checkNothingLeft();
    checks.checkStates();
  }

  /** One of the first nodes, from 1 on. */
  private SimNode node(int number) {
    return nodes.get(number - 1);
  }

  /** Computations without a time limit of their own show no time-out, if nothing is delayed. */
  private void checkTimes() {
    for (var watch : watches.values()) {
      if (!schedule.delays() && watch.timedOut()) {
        app().violation("1: nothing is delayed, but " + watch + " has shown a time-out");
      }
    }
  }

  private IntUnaryOperator owners() {
    var owners = new int[PARTITIONS];
    var taken = new String[PARTITIONS];
    scope.hosts.forEach(
        (grain, node) -> {
          int slash = grain.indexOf('/');
          var id = new GrainId(grain.substring(0, slash), grain.substring(slash + 1));
          int partition = Math.floorMod(id.stableHash(), PARTITIONS);
          if (taken[partition] != null && owners[partition] != node - 1) {
            throw new IllegalArgumentException(
                grain + " and " + taken[partition] + " share a partition; name one otherwise");
          }
          taken[partition] = grain;
          owners[partition] = node - 1;
        });
    return partition -> owners[partition];
  }

  private void play(Scope.Script script, SimNode node) {
    for (var op : script.ops()) {
      world.scheduler.touchShared();
      app().trace(node.toString(), "script: " + op);
      try {
        op.body().run(this, node);
      } catch (SimulationFailure e) {
        throw e;
      } catch (RuntimeException e) {
        app().trace(node.toString(), op + " fails: " + Seen.failure(e));
        world.scheduler.touchShared();
        someMayFollow = true;
        if (e instanceof GrainTimeoutException && !schedule.delays()) {
          app().violation("3: nothing is delayed, but " + op + " ends with " + e);
        }
      }
    }
  }

  /** Waits for one of these spans, usually the first. */
  void pause(long... nanos) {
    int choice = schedule.choose(nanos.length, c -> "a pause of " + Duration.ofNanos(nanos[c]));
    world.scheduler.sleep(nanos[choice]);
  }

  void look() {
    world.scheduler.sleep(MOMENT);
    if (!schedule.delays()) {
      schedule.interrupt(checks::checkCurrent);
    }
  }

  /** Nothing changes, so nothing may be executed, if the schedule delays nothing. */
  void quiet() {
    world.scheduler.sleep(2 * SECOND);
    var before = app().executionsByGrain();
    world.scheduler.sleep(10 * SECOND);
    var executed = Checks.difference(before, app().executionsByGrain());
    if (!executed.isEmpty() && !schedule.delays()) {
      app().violation("4: nothing changes, but these are executed: " + executed);
    }
  }

  /** A cell cannot be loaded, which it takes a while to find out. */
  void unreadable(String cell) {
    world.storage.unreadable(new GrainId("Cell", cell), SHORT);
  }

  void readable(String cell) {
    world.storage.readable(new GrainId("Cell", cell));
  }

  /** Rewires a formula to one of these programs, usually the first. */
  void rewire(SimNode node, long formula, List<List<Step>> programs) {
    var program = programs.get(schedule.choose(programs.size(), c -> "to " + programs.get(c)));
    new Client(app(), node).rewire(formula, program);
  }

  void open(SimNode node, String name, Query query) {
    var watch = world.population.open(node, query, name);
    world.scheduler.touchShared();
    watches.put(name, watch);
    watch.follow();
  }

  void close(String name) {
    var watch = watches.get(name);
    if (watch != null) {
      watch.close();
    }
  }

  /** Does something, after which a computation shows what is so by then. */
  void after(String name, Scope.Op write, SimNode node) {
    var watch = Objects.requireNonNull(watches.get(name), name);
    var failed = new AtomicReference<RuntimeException>();
    Seen shown;
    try {
      shown = watch.after(() -> perform(write, node, failed));
    } catch (NoNewResultException e) {
      if (!schedule.delays()) {
        app().violation("1: nothing is delayed, but " + watch + " knows of no result: " + e);
      }
      return;
    }
    if (failed.get() != null) {
      throw failed.get();
    }
    world.scheduler.touchShared();
    if (someMayFollow) {
      return;
    }
    app().trace(node.toString(), watch + " shows " + shown + " after " + write);
    schedule.interrupt(
        () -> {
          var expectation = new Expectation(app(), world.anyNode());
          if (!expectation.accepts(watch.query(), shown)) {
            app()
                .violation(
                    "1: "
                        + watch
                        + " shows "
                        + shown
                        + " after "
                        + write
                        + ", but it is "
                        + expectation.describe(watch.query()));
          }
        });
  }

  private void perform(Scope.Op op, SimNode node, AtomicReference<RuntimeException> failed) {
    try {
      op.body().run(this, node);
    } catch (RuntimeException e) {
      failed.set(e);
      throw e;
    }
  }

  void giveUp(int node) {
    schedule.delay();
    world.cluster.pause(node(node), 4 * SECOND, true);
  }

  void die(int node) {
    schedule.delay();
    world.cluster.kill(node(node));
  }

  void touchOften(SimNode node, int count, String cell) {
    var client = new Client(app(), node);
    doOften(node, count, i -> client.touch(cell));
  }

  void setOften(SimNode node, int count, String cell) {
    var client = new Client(app(), node);
    doOften(node, count, i -> client.set(cell, i));
  }

  /** Every now and then; it fails where the node does not belong to the others any more. */
  private void doOften(SimNode node, int count, IntConsumer call) {
    for (int i = 1; i <= count; i++) {
      try {
        call.accept(i);
      } catch (SimulationFailure e) {
        throw e;
      } catch (RuntimeException e) {
        app().trace(node.toString(), "what is done often fails: " + Seen.failure(e));
      }
      world.scheduler.sleep(MOMENT * 4 / 10);
    }
  }

  void handOff(int from, int to) {
    var all = new BitSet();
    all.set(0, PARTITIONS);
    world.cluster.move(node(from), all, node(to));
  }

  /** Interrupts one of those whose calls are under way, usually who has called first. */
  void interrupt() {
    world.scheduler.touchShared();
    var underWay = app().callers().underWay();
    if (!underWay.isEmpty()) {
      int one = schedule.choose(underWay.size(), c -> "interrupts " + underWay.get(c));
      app().callers().interrupt(underWay.get(one));
    }
  }

  void breakLink(int a, int b) {
    world.network.breakConnection(node(a).id(), node(b).id());
  }
}
