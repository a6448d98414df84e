package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.sim.Explorer.Limit;
import dev.evergreen.core.sim.Schedule.Deviation;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
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

  private static final long SCHEDULES = 600;
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
    var findings = Explorer.explore(d -> Stage.perform(scope, d, new Trace(false)), limit());
    System.out.println(scope + ": " + findings);
    assertFalse(findings.failed(), () -> "-Devergreen.explore.scope='" + scope + "'");
  }

  private static Limit limit() {
    var minutes = Long.getLong("evergreen.explore.minutes");
    return minutes == null
        ? Limit.schedules(SCHEDULES)
        : Limit.nanos(TimeUnit.MINUTES.toNanos(minutes) / scopes().size());
  }

  private static void replay(Scope scope, List<Deviation> deviations) {
    var trace = new Trace(true);
    var attempt = Stage.perform(scope, deviations, trace);
    trace.lines().forEach(System.out::println);
    assertEquals(null, attempt.failure());
  }

  @Test
  void everyOrderOfTwoThreadsIsTried() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    Set<String> orders = ConcurrentHashMap.newKeySet();
    var findings = Explorer.explore(d -> twoThreads(d, orders, "none"), Limit.schedules(5_000));
    assertFalse(findings.failed());
    assertEquals(Set.of("aabb", "abab", "abba", "baab", "baba", "bbaa"), orders);
  }

  @Test
  void whatFailsIsFoundWithTheFewestDeviationsAndFailsAgain() throws InterruptedException {
    assumeTrue(SCOPE.isEmpty());
    Set<String> orders = ConcurrentHashMap.newKeySet();
    var findings = Explorer.explore(d -> twoThreads(d, orders, "baba"), Limit.schedules(5_000));
    var found = Objects.requireNonNull(findings.failure(), "nothing was found").deviations();
    for (var each : found) {
      var fewer = found.stream().filter(deviation -> !deviation.equals(each)).toList();
      assertEquals(null, twoThreads(fewer, orders, "baba").failure());
    }
    assertTrue(twoThreads(found, orders, "baba").failure() != null);
  }

  private static Explorer.Attempt twoThreads(
      List<Deviation> deviations, Set<String> orders, String wrong) {
    var schedule = new Schedule(deviations, false);
    var scheduler = new Scheduler(schedule, new Trace(false));
    var order = new StringBuilder();
    try {
      scheduler.run(
          () -> {
            for (var letter : List.of("a", "b")) {
              scheduler.start(
                  scheduler.world(),
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
