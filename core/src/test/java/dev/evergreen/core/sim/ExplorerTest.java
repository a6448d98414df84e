package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.sim.Explorer.Limit;
import dev.evergreen.core.sim.Schedule.Deviation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The properties of the design in every order of steps of small scopes. Options, as system
 * properties: {@code evergreen.explore.minutes} is how long all scopes together are explored,
 * instead of by a number of schedules; {@code evergreen.explore.scope} is a part of the name of the
 * only one, {@code evergreen.explore.schedule} its only schedule, as a failure names it.
 */
final class ExplorerTest {

  private static final long COMPARED = 15;
  private static final long STARTED = System.nanoTime();
  private static final AtomicInteger explored = new AtomicInteger();
  private static final String SCOPE = System.getProperty("evergreen.explore.scope", "");

  static List<Scope> scopes() {
    return Scopes.all().stream().filter(scope -> scope.name.contains(SCOPE)).toList();
  }

  @ParameterizedTest
  @MethodSource("scopes")
  void whatMustHoldHoldsInEveryOrderOfSteps(Scope scope) throws InterruptedException {
    var schedule = System.getProperty("evergreen.explore.schedule");
    if (schedule != null) {
      replay(scope, Deviation.parse(schedule));
      return;
    }
    var findings = Explorer.explore(Stage.program(scope), limit());
    System.out.println(scope + ": " + findings);
    assertFalse(findings.failed(), () -> "-Devergreen.explore.scope='" + scope + "'");
  }

  /** What a scope leaves of its part of the time is for those that follow. */
  private static Limit limit() {
    var minutes = Long.getLong("evergreen.explore.minutes");
    if (minutes == null) {
      return Limit.ordinary();
    }
    long left = TimeUnit.MINUTES.toNanos(minutes) - (System.nanoTime() - STARTED);
    return Limit.nanos(left / Math.max(1, scopes().size() - explored.getAndIncrement()));
  }

  private static void replay(Scope scope, List<Deviation> deviations) {
    var trace = new Trace(true);
    var attempt = Stage.perform(scope, deviations, trace, state -> true);
    trace.lines().forEach(System.out::println);
    assertEquals(null, attempt.failure());
  }

  @Test
  void everyOrderOfTwoThreadsIsTried() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    Set<String> orders = ConcurrentHashMap.newKeySet();
    var findings =
        Explorer.explore(
            (d, isNew) -> twoThreads(d, orders, "none", isNew), Limit.schedules(5_000));
    assertFalse(findings.failed());
    assertEquals(Set.of("aabb", "abab", "abba", "baab", "baba", "bbaa"), orders);
  }

  @Test
  void whatFailsIsFoundWithTheFewestDeviationsAndFailsAgain() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    Set<String> orders = ConcurrentHashMap.newKeySet();
    var findings =
        Explorer.explore(
            (d, isNew) -> twoThreads(d, orders, "baba", isNew), Limit.schedules(5_000));
    var found = Objects.requireNonNull(findings.failure(), "nothing was found").deviations();
    for (var each : found) {
      var fewer = found.stream().filter(deviation -> !deviation.equals(each)).toList();
      assertEquals(null, twoThreads(fewer, orders, "baba", state -> true).failure());
    }
    assertTrue(twoThreads(found, orders, "baba", state -> true).failure() != null);
  }

  @Test
  void ordersThatNobodyCanTellApartArePerformedOnce() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    long apart = performedToTheEnd(Life::new);
    long together = performedToTheEnd(any -> null);
    assertTrue(apart * 2 < together, apart + " of two nodes, " + together + " of one");
  }

  private static long performedToTheEnd(Function<String, @Nullable Life> lives)
      throws InterruptedException {
    Set<String> orders = ConcurrentHashMap.newKeySet();
    var findings =
        Explorer.explore(
            (d, isNew) -> twoThreads(d, orders, "none", isNew, lives), Limit.schedules(5_000));
    assertTrue(findings.all(), findings::toString);
    return findings.performed() - findings.cutOff();
  }

  /** However busy the machine is, so that who has found something finds it again. */
  @Test
  void whatIsPerformedDependsOnTheScopeAlone() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    var scope = Scopes.all().getFirst();
    assertEquals(performed(scope, 0), performed(scope, 3));
  }

  /** The schedules, while so many threads hold some of them up. */
  private static Set<String> performed(Scope scope, int slow) throws InterruptedException {
    Set<String> schedules = ConcurrentHashMap.newKeySet();
    var started = new AtomicInteger();
    var program = Stage.program(scope);
    Explorer.explore(
        (deviations, isNew) -> {
          if (slow > 0 && started.getAndIncrement() % slow == 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(3));
          }
          var attempt = program.perform(deviations, isNew);
          schedules.add(Deviation.text(deviations) + " " + attempt.widths().length);
          return attempt;
        },
        Limit.ordinary());
    return schedules;
  }

  /** So that to cut off equal states leaves nothing out. */
  @ParameterizedTest
  @MethodSource("scopes")
  void equalStatesAreGoneOnFromAlike(Scope scope) throws InterruptedException {
    assumeTrue(System.getProperty("evergreen.explore.schedule") == null);
    Map<Long, Long> next = new ConcurrentHashMap<>();
    Set<String> unlike = ConcurrentHashMap.newKeySet();
    var findings =
        Explorer.explore(
            (deviations, isNew) -> {
              var states = new ArrayList<Long>();
              var attempt = Stage.perform(scope, deviations, new Trace(false), states::add);
              states.add(0L);
              for (int i = 1; i < states.size(); i++) {
                var before = next.putIfAbsent(states.get(i - 1), states.get(i));
                if (before != null && !before.equals(states.get(i))) {
                  unlike.add(Deviation.text(deviations) + " from state " + i);
                }
              }
              return attempt;
            },
            Limit.schedules(COMPARED));
    assertFalse(findings.failed());
    assertEquals(Set.of(), unlike);
  }

  private static Explorer.Attempt twoThreads(
      List<Deviation> deviations, Set<String> orders, String wrong, LongPredicate isNew) {
    return twoThreads(deviations, orders, wrong, isNew, any -> null);
  }

  private static Explorer.Attempt twoThreads(
      List<Deviation> deviations,
      Set<String> orders,
      String wrong,
      LongPredicate isNew,
      Function<String, @Nullable Life> lives) {
    var schedule = new Schedule(deviations, false, isNew);
    var scheduler = new Scheduler(schedule, new Trace(false));
    var order = new StringBuilder();
    try {
      scheduler.run(
          () -> {
            for (var letter : List.of("a", "b")) {
              var life = lives.apply(letter);
              scheduler.start(
                  life == null ? scheduler.world() : life,
                  letter,
                  () -> {
                    order.append(letter);
                    scheduler.interleave();
                    order.append(letter);
                  });
            }
            scheduler.sleep(Duration.ofHours(1).toNanos());
            if (wrong.contentEquals(order)) {
              throw new SimulationFailure("the wrong order");
            }
          });
      return new Explorer.Attempt(schedule, null);
    } catch (SimulationFailure e) {
      return new Explorer.Attempt(schedule, e);
    } finally {
      orders.add(order.toString());
    }
  }
}
