package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.version.Program;
import dev.evergreen.core.version.Shop;
import dev.evergreen.storage.SqliteStorage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A rolling upgrade: nodes of two versions of a program in one cluster, with one storage. */
@Timeout(120)
@SuppressWarnings("try") // nodes are closed in the middle, and again at the end
final class UpgradeTest {

  private static final int GRAINS = 20;
  private static final int PARTITIONS = 16;
  private static final String EMPTY = "Stock[first=null, more=[], byName={}]";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final Program older;
  private final Program newer;
  private final SqliteStorage storage;

  UpgradeTest(@TempDir Path directory) {
    older = Shop.older(directory);
    newer = Shop.newer(directory);
    storage = SqliteStorage.open(directory.resolve("states.db"));
  }

  @AfterEach
  void close() {
    storage.close();
  }

  private ClusterNode start(Program program, String... seeds) {
    var builder =
        ClusterNode.builder()
            .name("shop")
            .listen("127.0.0.1", 0)
            .storage(storage)
            .partitions(PARTITIONS)
            .grains(program.types());
    if (seeds.length > 0) {
      builder.seeds(seeds);
    }
    return builder.whenFenced(reason -> {}).start();
  }

  private static void awaitHalfEach(ClusterNode one, ClusterNode other) {
    await(
        "a share each",
        () -> one.ownedPartitions() == PARTITIONS / 2 && other.ownedPartitions() == PARTITIONS / 2);
  }

  /** Asks the same of all grains; in place of an answer there may be a failure. */
  private static String askAll(Program program, ClusterNode node, IntFunction<String> what) {
    return IntStream.range(0, GRAINS)
        .mapToObj(i -> answer(() -> program.ask(node.grains(), what.apply(i))))
        .collect(Collectors.joining(" "));
  }

  private static String answer(Supplier<String> question) {
    try {
      return question.get();
    } catch (GrainException e) {
      return e.getClass().getSimpleName();
    }
  }

  private static String all(IntFunction<String> of) {
    return IntStream.range(0, GRAINS).mapToObj(of).collect(Collectors.joining(" "));
  }

  private static void awaitResult(ResultTracker<String> tracker, String expected) {
    for (var result = tracker.next(PATIENCE); !result.equals(expected); ) {
      result = tracker.next(PATIENCE);
    }
  }

  @Test
  void callsAndReadsOfTwoVersionsFollowUntilTheOldNodesAreGone() {
    try (var first = start(older)) {
      askAll(older, first, i -> "fill s" + i + " first");
      try (var second = start(newer, first.self().address())) {
        awaitHalfEach(first, second);
        var fig = "Item[name=fig, count=2";
        assertEquals(
            all(i -> "Stock[first=" + fig + "], more=[], byName={}]"),
            askAll(older, first, i -> "stock s" + i));
        assertEquals(
            all(i -> "Stock[first=" + fig + ", colours=[]], more=[], byName={}]"),
            askAll(newer, second, i -> "stock s" + i));
        try (var counts = first.reactive(() -> askAll(older, first, i -> "count s" + i));
            var tagged = second.reactive(() -> askAll(newer, second, i -> "count s" + i + " x"));
            var items = first.reactive(() -> askAll(older, first, i -> "item s" + i));
            var coloured = second.reactive(() -> askAll(newer, second, i -> "item s" + i))) {
          var oldCounts = counts.tracker();
          var newCounts = tagged.tracker();
          var oldItems = items.tracker();
          var newItems = coloured.tracker();
          assertEquals(all(i -> "7"), oldCounts.next(PATIENCE));
          assertEquals(all(i -> "7"), newCounts.next(PATIENCE));
          assertEquals(all(i -> "Item[name=apple, count=7]"), oldItems.next(PATIENCE));
          assertTrue(newItems.next(PATIENCE).contains("colours=[green]"));
          for (int round = 1; round <= 2; round++) {
            int n = round;
            if (round == 1) {
              askAll(older, first, i -> "put s" + i + " " + (n + i));
            } else {
              askAll(newer, second, i -> "put s" + i + " " + (n + i));
            }
            awaitResult(oldCounts, all(i -> "" + (7 + n + i)));
            awaitResult(newCounts, all(i -> "" + (7 + n + i)));
            awaitResult(oldItems, all(i -> "Item[name=apple, count=" + (7 + n + i) + "]"));
          }
          first.close();
          awaitResult(
              newItems, all(i -> "Item[name=apple, count=" + (9 + i) + ", colours=[green]]"));
          askAll(newer, second, i -> "put s" + i + " 0");
          awaitResult(newCounts, all(i -> "7"));
        }
      }
    }
  }

  @Test
  void whatTheOtherVersionDoesNotKnowFailsThatReadUntilTheGrainOrItsResultIsAnother() {
    try (var first = start(older);
        var second = start(newer, first.self().address())) {
      awaitHalfEach(first, second);
      var onNewer = keyOn(newer, second);
      var onOlder = keyOn(older, first);
      try (var kind = first.reactive(() -> older.ask(first.grains(), "kind " + onNewer));
          var offer = first.reactive(() -> older.ask(first.grains(), "offer " + onNewer));
          var books =
              second.reactive(() -> newer.ask(second.grains(), "sells " + onOlder + " BOOK"));
          var added = second.reactive(() -> newer.ask(second.grains(), "added " + onOlder))) {
        var kinds = kind.tracker();
        var offers = offer.tracker();
        var sells = books.tracker();
        var adds = added.tracker();
        assertEquals("TOY", kinds.next(PATIENCE));
        assertEquals("Plain[price=0]", offers.next(PATIENCE));
        assertThrows(InvalidGrainException.class, () -> sells.next(PATIENCE));
        assertThrows(InvalidGrainException.class, () -> adds.next(PATIENCE));
        older.ask(first.grains(), "put " + onNewer + " 5");
        assertThrows(GrainFailureException.class, () -> kinds.next(PATIENCE));
        assertThrows(GrainFailureException.class, () -> offers.next(PATIENCE));
        older.ask(first.grains(), "put " + onNewer + " 4");
        assertEquals("TOOL", kinds.next(PATIENCE));
        assertEquals("Plain[price=4]", offers.next(PATIENCE));
        first.close();
        assertEquals("true", sells.next(PATIENCE));
        assertEquals("0", adds.next(PATIENCE));
      }
    }
  }

  /** A grain that is active on this node. */
  private static String keyOn(Program program, ClusterNode host) {
    for (int i = 0; ; i++) {
      var key = "k" + i;
      int before = host.counts().activations();
      program.ask(host.grains(), "count " + key);
      if (host.counts().activations() > before) {
        return key;
      }
    }
  }

  @Test
  void whatTheNewerVersionHasStoredOutlivesAnOlderNode() {
    try (var first = start(newer)) {
      askAll(newer, first, i -> "fill s" + i + " more");
      var stored = askAll(newer, first, i -> "stock s" + i);
      try (var second = start(older, first.self().address())) {
        awaitHalfEach(first, second);
        var fig = "Item[name=fig, count=2]";
        assertEquals(
            all(i -> "Stock[first=null, more=[" + fig + ", " + fig + "], byName={}]"),
            askAll(older, second, i -> "stock s" + i));
        var refused = StateNotSavedException.class.getSimpleName();
        var answers = askAll(older, second, i -> "fill s" + i + " none");
        assertTrue(answers.contains(refused), answers);
        var now = askAll(newer, first, i -> "stock s" + i).split("(?<=}]) ", -1);
        var outcomes = answers.split(" ", -1);
        var before = stored.split("(?<=}]) ", -1);
        for (int i = 0; i < GRAINS; i++) {
          boolean saved = outcomes[i].isEmpty();
          var onOlder = before[i].replace("[green]", "[]");
          assertTrue(
              saved ? now[i].equals(EMPTY) : now[i].equals(onOlder), outcomes[i] + " " + now[i]);
        }
        second.close();
        for (int i = 0; i < GRAINS; i++) {
          var grain = "s" + i;
          var expected = outcomes[i].isEmpty() ? EMPTY : before[i];
          assertEquals(expected, newer.ask(first.grains(), "stock " + grain));
          newer.ask(first.grains(), "fill " + grain + " first");
        }
      }
    }
  }
}
