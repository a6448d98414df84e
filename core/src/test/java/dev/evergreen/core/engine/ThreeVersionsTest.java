package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.version.Program;
import dev.evergreen.core.version.Shop;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Nodes of three versions of a program, of which each has added a component to an argument. A key
 * begins with the name of the node that hosts the grain.
 */
@Timeout(120)
final class ThreeVersionsTest {

  private static final String OLD = "old";
  private static final String NEW = "new";
  private static final String NEWEST = "newest";

  /** A version, and a node that runs it. */
  private record Running(Program program, NodeRuntime node) {
    String ask(String what) {
      return program.ask(node.grains(), what);
    }

    ReactiveComputation<String> watch(String what) {
      return node.reactive(() -> ask(what));
    }
  }

  private final WiredNodes wired = new WiredNodes(id(OLD));
  private final Map<String, Running> versions = new LinkedHashMap<>();

  private static NodeId id(String name) {
    return WiredNodes.id(name);
  }

  @BeforeEach
  void start(@TempDir Path directory) {
    wired.hosts = grain -> id(grain.key().substring(0, grain.key().indexOf('-')));
    start(OLD, Shop.older(directory));
    start(NEW, Shop.newer(directory));
    start(NEWEST, Shop.newest(directory));
  }

  private void start(String name, Program program) {
    var settings =
        WiredNodes.quick()
            .withPushRetryAfter(Duration.ofMillis(300))
            .withCycleSuspicion(Duration.ofMillis(300))
            .withIdleAfter(Duration.ofMillis(600));
    versions.put(name, new Running(program, wired.start(id(name), settings, program.types())));
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  private Running version(String name) {
    var running = versions.get(name);
    if (running == null) {
      throw new IllegalArgumentException(name);
    }
    return running;
  }

  private void awaitNothingLeft() {
    for (var running : versions.values()) {
      await(
          "everything to go",
          () -> {
            var counts = running.node().counts();
            return counts.summaries() == 0 && counts.caches() == 0;
          });
    }
    assertEquals(List.of(), wired.escaped());
  }

  @Test
  void eachCallsAndReadsTheGrainsOfEach() {
    for (var asker : versions.entrySet()) {
      for (var host : versions.keySet()) {
        var key = host + "-from-" + asker.getKey();
        var running = asker.getValue();
        try (var count = running.watch("count " + key + " x")) {
          var results = count.tracker();
          for (int n = 7; n < 10; n++) {
            assertEquals(String.valueOf(n), results.next(SOON), key);
            assertEquals(String.valueOf(n), running.ask("count " + key), key);
            running.ask("put " + key + " " + (n - 6));
          }
        }
      }
    }
    awaitNothingLeft();
  }

  /** Each points to the one of the next version, and the last to the first. */
  private void pointAround(String member) {
    point(OLD, NEW, member);
    point(NEW, NEWEST, member);
    point(NEWEST, OLD, member);
  }

  private void point(String from, String to, String member) {
    version(from).ask("point %s-%s %s-%s".formatted(from, member, to, member));
  }

  @Test
  void allMembersTellACycleInTheSameWords() {
    // Which of them finds a cycle first depends on the names.
    for (var member : List.of("a", "b", "c", "d")) {
      pointAround(member);
      try (var old = version(OLD).watch("far old-%s 7".formatted(member));
          var other = version(NEW).watch("far new-%s %d".formatted(member, Integer.reverse(7)));
          var newest = version(NEWEST).watch("far newest-%s 7".formatted(member))) {
        var told = new LinkedHashSet<String>();
        for (var computation : List.of(old, other, newest)) {
          told.add(cycle(computation));
        }
        assertEquals(1, told.size(), told::toString);
        for (var name : versions.keySet()) {
          var part = "Shop/" + name + "-" + member + ".way";
          assertTrue(told.iterator().next().contains(part), () -> part + " is missing in " + told);
        }
      }
    }
    awaitNothingLeft();
  }

  /** What a computation says of the cycle when that is settled. */
  private static String cycle(ReactiveComputation<String> computation) {
    return String.valueOf(
        assertThrows(CycleException.class, () -> computation.after(() -> {}, SOON)).getMessage());
  }

  @Test
  void aCycleThatIsClosedLaterIsFoundAndRecoversWhereverItIsOpened() {
    for (var opened : versions.keySet()) {
      var member = "to-" + opened;
      var open = "point %s-%s ".formatted(opened, member);
      pointAround(member);
      version(opened).ask(open);
      try (var old = version(OLD).watch("way old-%s x".formatted(member));
          var other = version(NEW).watch("way new-%s x".formatted(member));
          var newest = version(NEWEST).watch("way newest-%s x".formatted(member))) {
        var ways = List.of(old.tracker(), other.tracker(), newest.tracker());
        awaitLengths(ways, opened);
        pointAround(member);
        ways.forEach(way -> awaitResult(way, "cycle"));
        version(opened).ask(open);
        awaitLengths(ways, opened);
      }
    }
    awaitNothingLeft();
  }

  /** How many steps it is from each version's grain to the one where the cycle is open. */
  private void awaitLengths(List<ResultTracker<String>> ways, String opened) {
    int end = List.copyOf(versions.keySet()).indexOf(opened);
    for (int i = 0; i < ways.size(); i++) {
      awaitResult(ways.get(i), String.valueOf(Math.floorMod(end - i, ways.size())));
    }
  }

  private static void awaitResult(ResultTracker<String> way, String expected) {
    await(expected, () -> result(way).equals(expected));
  }

  private static String result(ResultTracker<String> way) {
    try {
      return way.next(SOON);
    } catch (CycleException e) {
      return "cycle";
    }
  }
}
