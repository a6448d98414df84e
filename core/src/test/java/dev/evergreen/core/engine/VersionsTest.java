package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.version.Program;
import dev.evergreen.core.version.Shop;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes of two versions of a program call and read each other's grains, in both directions. */
@Timeout(120)
@SuppressWarnings("NullAway") // the programs are compiled before all tests
final class VersionsTest {

  private static final NodeId OLDER = WiredNodes.id("older");
  private static final NodeId NEWER = WiredNodes.id("newer");

  private static Program oldProgram;
  private static Program newProgram;

  private final WiredNodes wired = new WiredNodes(NEWER);
  private final NodeRuntime older = start(OLDER, oldProgram);
  private final NodeRuntime newer = start(NEWER, newProgram);

  @BeforeAll
  static void compile(@TempDir Path directory) {
    oldProgram = Shop.older(directory);
    newProgram = Shop.newer(directory);
  }

  private NodeRuntime start(NodeId self, Program program) {
    return wired.start(
        self,
        WiredNodes.quick()
            .withPushRetryAfter(Duration.ofMillis(300))
            .withCycleSuspicion(Duration.ofMillis(300))
            // Cycles are looked after often, and no renewal mends what that breaks.
            .withIdleAfter(Duration.ofMillis(600)),
        program.types());
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  private String old(String what) {
    return oldProgram.ask(older.grains(), what);
  }

  private String fresh(String what) {
    return newProgram.ask(newer.grains(), what);
  }

  private ReactiveComputation<String> watchOld(String what) {
    return older.reactive(() -> old(what));
  }

  private ReactiveComputation<String> watchNew(String what) {
    return newer.reactive(() -> fresh(what));
  }

  private void awaitNothingLeft() {
    for (var node : List.of(older, newer)) {
      await(
          "everything to go, but there is " + node.counts(),
          () -> node.counts().summaries() == 0 && node.counts().caches() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void readsWithArgumentsAndResultsOfAnotherVersionFollowTheirGrains(boolean newHosts) {
    wired.hosts = grain -> newHosts ? NEWER : OLDER;
    var green = newHosts ? "[green]" : "[]";
    try (var oldCount = watchOld("count s");
        var newCount = watchNew("count s x");
        var oldItem = watchOld("item s");
        var newItem = watchNew("item s x")) {
      var results =
          List.of(oldCount.tracker(), newCount.tracker(), oldItem.tracker(), newItem.tracker());
      for (int n = 7; n < 10; n++) {
        assertEquals(String.valueOf(n), results.get(0).next(SOON));
        assertEquals(String.valueOf(n), results.get(1).next(SOON));
        assertEquals("Item[name=apple, count=%d]".formatted(n), results.get(2).next(SOON));
        assertEquals(
            "Item[name=apple, count=%d, colours=%s]".formatted(n, green),
            results.get(3).next(SOON));
        assertEquals(String.valueOf(n), old("count s"));
        assertEquals(String.valueOf(n), fresh("count s"));
        old("put s " + (n - 6));
      }
    }
    awaitNothingLeft();
    assertEquals(List.of(), wired.escaped());
  }

  @Test
  @SuppressWarnings("try") // one is closed in the middle, and again at the end
  void aCallThatTwoVersionsWriteDifferentlyIsOneSummary() {
    try (var one = watchOld("count s");
        var other = watchNew("count s")) {
      var trackers = List.of(one.tracker(), other.tracker());
      trackers.forEach(tracker -> assertEquals("7", tracker.next(SOON)));
      assertEquals(1, newer.counts().summaries(), "no tag is what the older one means");
      assertEquals(2, newer.counts().subscriptions());
      old("put s 1");
      trackers.forEach(tracker -> assertEquals("8", tracker.next(SOON)));
    }
    wired.hosts = grain -> OLDER;
    try (var one = watchOld("count t");
        var other = watchNew("count t x");
        var third = watchNew("count t y")) {
      var trackers = List.of(one.tracker(), other.tracker(), third.tracker());
      trackers.forEach(tracker -> assertEquals("7", tracker.next(SOON)));
      assertEquals(1, older.counts().summaries(), "the older one knows no tags");
      assertEquals(3, older.counts().subscriptions());
      old("put t 1");
      trackers.forEach(tracker -> assertEquals("8", tracker.next(SOON)));
      other.close();
      await("the end of one subscription", () -> older.counts().subscriptions() == 2);
      old("put t 2");
      assertEquals("9", trackers.get(0).next(SOON));
      assertEquals("9", trackers.get(2).next(SOON));
    }
    awaitNothingLeft();
  }

  @Test
  void aConstantThatTheReaderDoesNotKnowFailsThatReadUntilTheNextResult() {
    try (var kind = watchOld("kind s");
        var count = watchOld("count s")) {
      var kinds = kind.tracker();
      var counts = count.tracker();
      assertEquals("TOY", kinds.next(SOON));
      assertEquals("7", counts.next(SOON));
      fresh("put s 2");
      assertNames(
          assertThrows(GrainFailureException.class, () -> kinds.next(SOON)),
          "Kind has no constant BOOK");
      assertEquals("9", counts.next(SOON));
      assertNames(
          assertThrows(GrainFailureException.class, () -> old("kind s")),
          "Kind has no constant BOOK");
      fresh("put s 1");
      assertEquals("TOOL", kinds.next(SOON));
      assertEquals("8", counts.next(SOON));
    }
    awaitNothingLeft();
  }

  @Test
  void aSubtypeThatTheReaderDoesNotKnowFailsThatReadUntilTheNextResult() {
    try (var offer = watchOld("offer s")) {
      var offers = offer.tracker();
      assertEquals("Plain[price=0]", offers.next(SOON));
      fresh("put s 1");
      assertNames(
          assertThrows(GrainFailureException.class, () -> offers.next(SOON)),
          "Offer permits no Sale");
      assertThrows(GrainFailureException.class, () -> old("offer s"));
      fresh("put s 2");
      assertEquals("Plain[price=2]", offers.next(SOON));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sells s BOOK", "added s", "till s"})
  void whatTheHostDoesNotKnowFailsThatCallAndThatComputationAtOnce(String what) {
    wired.hosts = grain -> OLDER;
    var wrong = what.startsWith("till") ? ActivationException.class : InvalidGrainException.class;
    try (var unknown = watchNew(what);
        var known = watchNew("count s x")) {
      var results = known.tracker();
      assertEquals("7", results.next(SOON));
      assertThrows(wrong, () -> unknown.tracker().next(SOON));
      assertThrows(wrong, () -> fresh(what));
      old("put s 1");
      assertEquals("8", results.next(SOON));
    }
    awaitNothingLeft();
    assertEquals(0, older.counts().calls());
  }

  @Test
  void theRestOfARequestIsAnsweredWhenOnePartOfItCannotBeRead() {
    wired.hosts = grain -> OLDER;
    try (var all =
        newer.reactive(
            () -> {
              String books;
              try {
                books = fresh("sells s BOOK");
              } catch (InvalidGrainException e) {
                books = "unknown";
              }
              return books + " " + fresh("sells s TOY") + " " + fresh("count s x");
            })) {
      var results = all.tracker();
      assertEquals("unknown true 7", results.next(SOON));
      older.linkBroken(NEWER);
      newer.linkBroken(OLDER);
      old("put s 1");
      assertEquals("unknown true 8", results.next(SOON));
    }
  }

  private void host(NodeId host) {
    wired.hosts = grain -> host;
    older.release(WiredNodes.everything());
    newer.release(WiredNodes.everything());
  }

  @ParameterizedTest
  @ValueSource(strings = {"first", "more", "byName"})
  void anOlderNodeDoesNotSaveOverWhatItDoesNotKnow(String where) {
    fresh("fill s " + where);
    var stored = fresh("stock s");
    host(OLDER);
    var known = old("stock s");
    for (int i = 0; i < 2; i++) {
      var refused = assertThrows(StateNotSavedException.class, () -> old("fill s none"));
      assertNames(refused, "Shelf/s");
      assertNames(refused, "Item.colours");
      assertEquals(known, old("stock s"), "the operation is undone, and reading goes on");
    }
    old("fill s " + where); // The same as far as it can tell: there is nothing to save.
    host(NEWER);
    assertEquals(stored, fresh("stock s"));
    fresh("fill s none");
    host(OLDER);
    old("fill s first");
    assertEquals("Stock[first=Item[name=fig, count=2], more=[], byName={}]", old("stock s"));
  }

  @Test
  void anOlderNodeSavesOverWhatItDoesNotKnowIfItIsTold() {
    var again =
        wired.start(
            WiredNodes.id("again"),
            WiredNodes.quick().withOverwriteNewer(true),
            oldProgram.types());
    fresh("fill s first");
    host(again.peers.self());
    oldProgram.ask(again.grains(), "fill s more");
    host(NEWER);
    var kept = "Item[name=fig, count=2, colours=[]]";
    assertEquals(
        "Stock[first=null, more=[%s, %s], byName={}]".formatted(kept, kept), fresh("stock s"));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aCycleOfReadsThatCrossesVersionsIsFoundAndForgotten(boolean newReads) {
    wired.hosts = grain -> grain.key().startsWith("o") ? OLDER : NEWER;
    var ways = new ArrayList<ReactiveComputation<String>>();
    var random = new Random(7);
    // Of each the same member must be chosen to find it, whatever the arguments' bytes are.
    for (int i = 0; i < 20; i++) {
      old("point o%d n%d".formatted(i, i));
      fresh("point n%d o%d".formatted(i, i));
      int number = random.nextInt();
      ways.add(
          newReads ? watchNew("far n" + i + " " + number) : watchOld("far o" + i + " " + number));
    }
    for (var way : ways) {
      assertThrows(CycleException.class, () -> way.tracker().next(SOON));
      way.close();
    }
    awaitNothingLeft();
  }

  @Test
  void aCycleThatANodeOfAnotherVersionReadsIsKeptUntilItIsBroken() {
    wired.hosts = grain -> grain.key().startsWith("o") ? OLDER : NEWER;
    old("point o n");
    fresh("point n o");
    var asked = new AtomicInteger();
    wired.wire =
        (from, to, message) -> {
          wired.deliver(from, to, message);
          if (message instanceof Message.Probe) {
            asked.incrementAndGet();
          }
        };
    try (var way = watchNew("way o x")) {
      var ways = way.tracker();
      awaitCycle(ways);
      await("the question whether anybody needs the cycle", () -> asked.get() > 8);
      fresh("point n p");
      await("the way that ends", () -> ways.next(SOON).equals("2"));
    }
    awaitNothingLeft();
  }

  @Test
  void allMembersTellACycleInTheSameWordsWhateverTheirVersions() {
    wired.hosts = grain -> grain.key().startsWith("o") ? OLDER : NEWER;
    old("point o n");
    fresh("point n o");
    try (var one = watchOld("far o 7");
        var other = watchNew("far n " + Integer.reverse(7))) {
      assertEquals(cycle(one), cycle(other));
    }
    awaitNothingLeft();
  }

  @Test
  void aNodeReadsItsOwnListsThoughOneOfAnotherVersionHasReadThemFirst() {
    wired.hosts = grain -> OLDER;
    try (var computation = watchNew("way s x")) {
      assertEquals("0", computation.tracker().next(SOON));
      var name = newer.caches.all().iterator().next().key().wire();
      awaitList(newer, name);
      awaitList(older, older.models.ownName(name));
    }
  }

  private static void awaitList(NodeRuntime node, SummaryKey of) {
    var list = node.caches.retain(node.models.graph().readsOf(of), WiredNodes.NOBODY);
    await("the list", () -> list.cache().present() instanceof Outcome.Returned);
  }

  /** What a computation says of the cycle when that is settled. */
  private static String cycle(ReactiveComputation<String> computation) {
    return String.valueOf(
        assertThrows(CycleException.class, () -> computation.after(() -> {}, SOON)).getMessage());
  }

  @Test
  void aCycleThatIsClosedLaterAndCrossesVersionsIsFoundAndRecovers() {
    wired.hosts = grain -> grain.key().startsWith("o") ? OLDER : NEWER;
    old("point o n");
    try (var one = watchOld("way o");
        var other = watchNew("way n x")) {
      var ways = one.tracker();
      var others = other.tracker();
      assertEquals("1", ways.next(SOON));
      assertEquals("0", others.next(SOON));
      fresh("point n o");
      awaitCycle(ways);
      awaitCycle(others);
      old("point o p");
      await("the way that ends", () -> ways.next(SOON).equals("1"));
      await("the longer way that ends", () -> others.next(SOON).equals("2"));
    }
    awaitNothingLeft();
  }

  /** Whose members are about to run again is no cycle yet: longer ways may be seen before. */
  private static void awaitCycle(ResultTracker<String> tracker) {
    await(
        "a cycle",
        () -> {
          try {
            tracker.next(SOON);
            return false;
          } catch (CycleException e) {
            return true;
          }
        });
  }
}
