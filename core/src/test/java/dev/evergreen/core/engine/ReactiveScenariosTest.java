package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SHORTLY;
import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Sum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a user of reactive computations sees, on one node. */
class ReactiveScenariosTest {

  private final Node node =
      TestGrains.node()
          .grain(ByLong.class, context -> () -> context.key().toString())
          .grain(ByUuid.class, context -> () -> context.key().toString())
          .grain(ByRecord.class, context -> () -> context.key().toString())
          .grain(Own.class, OwnGrain::new)
          .settings(NodeSettings.DEFAULT.withCacheGrace(Duration.ofMillis(50)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  private Cell cell(String key) {
    return node.grains().get(Cell.class, key);
  }

  private Sum sum(String key) {
    return node.grains().get(Sum.class, key);
  }

  private static <T> void assertQuiet(ResultTracker<T> tracker) {
    assertTrue(tracker.poll(SHORTLY).isEmpty(), "there should be no new result");
  }

  @Test
  void theFirstResultComesAtOnce() {
    cell("a").set("x");
    try (var computation = node.reactive(() -> cell("a").text())) {
      assertEquals("x", computation.tracker().next(SOON));
    }
  }

  @Test
  void anUpdateWhileAResultIsWaitedForArrives() throws Exception {
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      var waiting = CompletableFuture.supplyAsync(tracker::next);
      cell("a").set("y");
      assertEquals("y", waiting.get(20, TimeUnit.SECONDS));
    }
  }

  @Test
  void updatesBeforeAndAfterAreSeen() {
    cell("a").set("before");
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("before", tracker.next(SOON));
      cell("a").set("after");
      assertEquals("after", tracker.next(SOON));
    }
  }

  @Test
  void anEqualResultIsNotPropagated() {
    cell("a").set("same");
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("same", tracker.next(SOON));
      cell("a").touch();
      cell("a").set("same");
      assertQuiet(tracker);
    }
  }

  @Test
  void equalResultsAreFilteredOnTheWay() {
    cell("a").set("one");
    var runs = new AtomicInteger();
    try (var computation =
        node.reactive(
            () -> {
              runs.incrementAndGet();
              return cell("a").length();
            })) {
      var tracker = computation.tracker();
      assertEquals(3, tracker.next(SOON));
      cell("a").set("two");
      assertQuiet(tracker);
      assertEquals(1, runs.get(), "a text of the same length runs nothing above");
      cell("a").set("three");
      assertEquals(5, tracker.next(SOON));
    }
  }

  @Test
  void severalTrackersFollowOneComputation() {
    try (var computation = node.reactive(() -> cell("a").text())) {
      var one = computation.tracker();
      var two = computation.tracker();
      assertEquals("", one.next(SOON));
      cell("a").set("x");
      assertEquals("x", one.next(SOON));
      assertEquals("x", two.next(SOON), "a late tracker starts with the latest");
      cell("a").set("y");
      assertEquals("y", two.next(SOON));
      assertEquals("y", one.next(SOON));
      one.close();
      assertThrows(ComputationClosedException.class, one::next);
      cell("a").set("z");
      assertEquals("z", two.next(SOON));
    }
  }

  @Test
  void layersOfComputationsFollow() {
    try (var computation = node.reactive(() -> sum("top").below("middle", List.of("a", "b")))) {
      var tracker = computation.tracker();
      assertEquals("[,]", tracker.next(SOON));
      cell("b").set("x");
      assertEquals("[,x]", tracker.next(SOON));
    }
  }

  @Test
  void onlyTheLatestValueIsDelivered() {
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      for (int i = 1; i <= 100; i++) {
        cell("a").set("v" + i);
      }
      var seen = new ArrayList<String>();
      while (seen.isEmpty() || !seen.getLast().equals("v100")) {
        seen.add(tracker.next(SOON));
      }
      assertTrue(seen.size() <= 100);
      for (int i = 1; i < seen.size(); i++) {
        assertTrue(number(seen.get(i - 1)) < number(seen.get(i)), "results go back: " + seen);
      }
      assertQuiet(tracker);
    }
  }

  private static int number(String value) {
    return Integer.parseInt(value.substring(1));
  }

  @Test
  void thereAndBackUnseenDeliversNothing() {
    cell("a").set("A");
    try (var computation = node.reactive(() -> cell("a").text())) {
      var slow = computation.tracker();
      var fast = computation.tracker();
      assertEquals("A", slow.next(SOON));
      assertEquals("A", fast.next(SOON));
      cell("a").set("B");
      assertEquals("B", fast.next(SOON));
      cell("a").set("A");
      assertEquals("A", fast.next(SOON));
      assertQuiet(slow);
    }
  }

  @Test
  void oneOperationServesSeveralComputations() {
    try (var first = node.reactive(() -> sum("s").joined(List.of("a", "b")));
        var second = node.reactive(() -> sum("s").joined(List.of("a", "b")));
        var third = node.reactive(() -> sum("other").joined(List.of("a", "b")))) {
      var trackers = List.of(first.tracker(), second.tracker(), third.tracker());
      trackers.forEach(tracker -> assertEquals(",", tracker.next(SOON)));
      assertEquals(4, node.counts().summaries(), "two cells, and the sum in two activations");
      cell("a").set("x");
      trackers.forEach(tracker -> assertEquals("x,", tracker.next(SOON)));
    }
  }

  @Test
  void oneComputationMakesManyCalls() {
    var keys = IntStream.range(0, 200).mapToObj(i -> "c" + i).toList();
    try (var computation = node.reactive(() -> sum("s").totalLength(keys))) {
      var tracker = computation.tracker();
      assertEquals(0, tracker.next(SOON));
      cell("c77").set("xx");
      assertEquals(2, tracker.next(SOON));
      Parallel.forEach(keys, key -> cell(key).set("yyy"));
      int last = 2;
      while (last != 600) {
        last = tracker.next(SOON);
      }
    }
  }

  @Test
  void anExceptionIsAResult() {
    cell("a").set("!broken");
    try (var computation = node.reactive(() -> cell("a").textOrThrow())) {
      var tracker = computation.tracker();
      var thrown = assertThrows(IllegalStateException.class, () -> tracker.next(SOON));
      assertEquals("!broken", thrown.getMessage());
      cell("a").set("!other");
      assertEquals(
          "!other",
          assertThrows(IllegalStateException.class, () -> tracker.next(SOON)).getMessage());
      cell("a").touch();
      assertQuiet(tracker);
      cell("a").set("whole");
      assertEquals("whole", tracker.next(SOON));
    }
  }

  @Test
  void anExceptionIsCaughtUpstreamAndRecoveredFrom() {
    try (var computation = node.reactive(() -> sum("s").orElse("a", "default"))) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      cell("a").set("!");
      assertEquals("default", tracker.next(SOON));
      cell("a").set("!!");
      assertQuiet(tracker);
      cell("a").set("fine");
      assertEquals("fine", tracker.next(SOON));
    }
  }

  record Place(String town, int number, boolean upstairs) {}

  interface ByLong extends KeyedGrain<Long> {
    @ReadOnly
    String key();
  }

  interface ByUuid extends KeyedGrain<UUID> {
    @ReadOnly
    String key();
  }

  interface ByRecord extends KeyedGrain<Place> {
    @ReadOnly
    String key();
  }

  @Test
  void everyTypeOfKeyWorks() {
    var uuid = UUID.fromString("00000000-0000-0001-0000-000000000002");
    var place = new Place("a+b%2B/ü", -7, true);
    try (var computation =
        node.reactive(
            () ->
                List.of(
                    node.grains().get(ByLong.class, Long.MIN_VALUE).key(),
                    node.grains().get(ByUuid.class, uuid).key(),
                    node.grains().get(ByRecord.class, place).key(),
                    cell("é\u0000 %").text()))) {
      assertEquals(
          List.of(String.valueOf(Long.MIN_VALUE), uuid.toString(), place.toString(), ""),
          computation.tracker().next(SOON));
    }
    assertNotEquals(
        node.grains().get(ByRecord.class, new Place("a+1", 1, true)),
        node.grains().get(ByRecord.class, new Place("a", 11, true)));
  }

  @Test
  void aConditionDropsADependency() {
    cell("switch").set("a");
    cell("a").set("x");
    var runs = new AtomicInteger();
    try (var computation =
        node.reactive(
            () -> {
              runs.incrementAndGet();
              return sum("s").selected("switch");
            })) {
      var tracker = computation.tracker();
      assertEquals("x", tracker.next(SOON));
      cell("switch").set("b");
      assertEquals("", tracker.next(SOON));
      int before = runs.get();
      cell("a").set("unseen");
      assertQuiet(tracker);
      assertEquals(before, runs.get());
      cell("b").set("seen");
      assertEquals("seen", tracker.next(SOON));
    }
  }

  @Test
  void aThousandComputationsWithTwoTrackersEach() {
    var computations = new ArrayList<ReactiveComputation<String>>();
    var trackers = new ArrayList<ResultTracker<String>>();
    for (int i = 0; i < 1_000; i++) {
      var keys = List.of("c" + i % 50, "c" + (i + 1) % 50);
      var computation = node.reactive(() -> sum("s" + keys).joined(keys));
      computations.add(computation);
      trackers.add(computation.tracker());
      trackers.add(computation.tracker());
    }
    trackers.forEach(tracker -> assertEquals(",", tracker.next(SOON)));
    IntStream.range(0, 50).forEach(i -> cell("c" + i).set("x"));
    for (var tracker : trackers) {
      var last = "";
      while (!last.equals("x,x")) {
        last = tracker.next(SOON);
      }
    }
    computations.forEach(ReactiveComputation::close);
    awaitNothingLeft();
  }

  private void awaitNothingLeft() {
    long deadline = System.nanoTime() + SOON.toNanos();
    while (node.counts().caches() + node.counts().summaries() > 0) {
      assertTrue(System.nanoTime() < deadline, () -> "left over: " + node.counts());
      Thread.onSpinWait();
    }
    assertEquals(0, node.counts().computations());
    assertEquals(0, node.counts().subscriptions());
  }

  @Test
  void closingCleansUpToNothing() {
    var computation = node.reactive(() -> sum("top").below("middle", List.of("a", "b", "c")));
    assertEquals("[,,]", computation.tracker().next(SOON));
    assertEquals(5, node.counts().summaries());
    assertEquals(5, node.counts().caches());
    computation.close();
    awaitNothingLeft();
  }

  @Test
  void theSameCallTwiceInOneRunSeesOneValue() {
    try (var computation = node.reactive(() -> sum("s").twice("a"))) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      for (int i = 0; i < 50; i++) {
        cell("a").set("" + i % 10);
        var pair = tracker.next(SOON);
        assertEquals(pair.substring(0, pair.length() / 2), pair.substring(pair.length() / 2));
      }
    }
  }

  @Test
  void aWriteThatThrowsMarksButChangesNothing() {
    cell("a").set("kept");
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("kept", tracker.next(SOON));
      assertThrows(IllegalArgumentException.class, () -> cell("a").setAndThrow("lost"));
      assertQuiet(tracker);
      assertEquals("kept", cell("a").text());
    }
  }

  @Test
  void aComputationMayNotWrite() {
    try (var computation =
        node.reactive(
            () -> {
              cell("a").set("x");
              return 1;
            })) {
      var thrown =
          assertThrows(ReadOnlyViolationException.class, () -> computation.tracker().next(SOON));
      assertNames(thrown, "Cell/a.set");
    }
  }

  @Test
  void aResultThatIsSlowToComeTimesOutAndArrivesLater() {
    GateGrain.shut();
    try (var computation =
        node.reactive(
            () ->
                node.grains()
                    .withTimeout(Duration.ofMillis(100))
                    .get(Gate.class, "g")
                    .readWhenOpen())) {
      var tracker = computation.tracker();
      var thrown = assertThrows(GrainTimeoutException.class, () -> tracker.next(SOON));
      assertNames(thrown, "Gate/g.readWhenOpen");
      GateGrain.open.countDown();
      assertEquals("read", tracker.next(SOON));
    }
  }

  @Test
  void aTrackerWithALimitSaysThatThereIsNothingNew() {
    try (var computation = node.reactive(() -> cell("a").text())) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      assertThrows(NoNewResultException.class, () -> tracker.next(Duration.ofMillis(20)));
      assertEquals(Freshness.CURRENT, tracker.freshness());
    }
  }

  @Test
  void closingEndsAWaitingTracker() throws Exception {
    var computation = node.reactive(() -> cell("a").text());
    var tracker = computation.tracker();
    assertEquals("", tracker.next(SOON));
    var waiting =
        CompletableFuture.supplyAsync(
            () -> assertThrows(ComputationClosedException.class, tracker::next));
    computation.close();
    waiting.get(20, TimeUnit.SECONDS);
    assertThrows(ComputationClosedException.class, computation::tracker);
  }

  @Test
  void stoppingTheNodeEndsTrackers() throws Exception {
    var tracker = node.reactive(() -> cell("a").text()).tracker();
    assertEquals("", tracker.next(SOON));
    var waiting =
        CompletableFuture.supplyAsync(
            () -> assertThrows(NodeStoppedException.class, tracker::next));
    node.close();
    waiting.get(20, TimeUnit.SECONDS);
    assertThrows(NodeStoppedException.class, () -> cell("a").text());
    assertThrows(NodeStoppedException.class, () -> node.reactive(() -> 1));
  }

  @Test
  void aPublisherDeliversTheLatestOnDemand() throws Exception {
    var received = new CopyOnWriteArrayList<Object>();
    var completed = new CountDownLatch(1);
    var first = new CountDownLatch(1);
    var subscriptions = new CompletableFuture<Flow.Subscription>();
    var computation = node.reactive(() -> cell("a").text());
    computation
        .publisher()
        .subscribe(
            new Flow.Subscriber<>() {
              @Override
              public void onSubscribe(Flow.Subscription subscription) {
                subscriptions.complete(subscription);
                subscription.request(1);
              }

              @Override
              public void onNext(Result<String> result) {
                received.add(result.get());
                first.countDown();
              }

              @Override
              public void onError(Throwable thrown) {
                received.add(thrown);
              }

              @Override
              public void onComplete() {
                completed.countDown();
              }
            });
    assertTrue(first.await(20, TimeUnit.SECONDS));
    cell("a").set("unwanted");
    cell("a").set("latest");
    computation.close();
    assertTrue(completed.await(20, TimeUnit.SECONDS), "it completes also without demand");
    assertEquals(List.of(""), received);
  }

  @Test
  void anIteratorEndsWithTheComputation() {
    var computation = node.reactive(() -> cell("a").text());
    var results = computation.tracker().iterator();
    assertEquals("", results.next());
    cell("a").set("x");
    assertTrue(results.hasNext());
    assertEquals("x", results.next());
    computation.close();
    assertTrue(!results.hasNext());
  }

  @Test
  void resultsAreUnmodifiable() {
    try (var computation = node.reactive(() -> new ArrayList<>(List.of(cell("a").text())))) {
      List<String> result = computation.tracker().next(SOON);
      assertThrows(UnsupportedOperationException.class, () -> result.add("y"));
    }
  }

  @Test
  void aComparerDecidesWhatIsNew() {
    try (var computation = node.reactive(() -> cell("a").text(), (a, b) -> a.equalsIgnoreCase(b))) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(SOON));
      cell("a").set("x");
      assertEquals("x", tracker.next(SOON));
      cell("a").set("X");
      assertQuiet(tracker);
    }
  }

  /** A grain with a computation of its own. */
  interface Own extends Grain {
    @ReadOnly
    String once(List<String> cells);

    String onceInAWrite(List<String> cells);

    @ReadOnly
    String own();

    void set(String text);

    void watch();

    @ReadOnly
    List<String> watched();

    String waitForOwnChange();
  }

  static final class OwnGrain implements Own {
    private final GrainContext<String> context;
    private String text = "";
    private final List<String> watched = new CopyOnWriteArrayList<>();

    OwnGrain(GrainContext<String> context) {
      this.context = context;
    }

    private String join(List<String> cells) {
      return String.join(
          ",", Parallel.map(cells, key -> context.grains().get(Cell.class, key).text()));
    }

    @Override
    public String once(List<String> cells) {
      try (var computation = context.reactive(() -> join(cells))) {
        return computation.tracker().next();
      }
    }

    @Override
    public String onceInAWrite(List<String> cells) {
      return once(cells);
    }

    @Override
    public String own() {
      return text;
    }

    @Override
    public void set(String text) {
      this.text = text;
    }

    @Override
    public void watch() {
      var computation = context.reactive(() -> text + "/" + join(List.of("a")));
      var tracker = computation.tracker();
      Thread.startVirtualThread(
          () -> {
            try {
              tracker.iterator().forEachRemaining(watched::add);
            } catch (GrainException e) {
              watched.add(e.toString());
            }
          });
    }

    @Override
    public List<String> watched() {
      return List.copyOf(watched);
    }

    @Override
    public String waitForOwnChange() {
      try (var computation = context.reactive(() -> text)) {
        var tracker = computation.tracker();
        tracker.next();
        text = text + "+";
        return tracker.next();
      }
    }
  }

  @Test
  void aGrainMakesAOneTimeQuery() {
    var own = node.grains().get(Own.class, "o");
    cell("a").set("x");
    assertEquals("x,", own.once(List.of("a", "b")));
    assertEquals("x,", own.onceInAWrite(List.of("a", "b")));
    awaitNothingLeft();
  }

  @Test
  void aGrainsOwnComputationFollowsItsWritesAndOthers() {
    var own = node.grains().get(Own.class, "o");
    own.watch();
    awaitWatched(own, "/");
    own.set("mine");
    awaitWatched(own, "mine/");
    cell("a").set("theirs");
    awaitWatched(own, "mine/theirs");
  }

  private static void awaitWatched(Own own, String expected) {
    long deadline = System.nanoTime() + SOON.toNanos();
    while (!own.watched().contains(expected)) {
      assertTrue(System.nanoTime() < deadline, () -> expected + " is missing in " + own.watched());
      Thread.onSpinWait();
    }
  }

  @Test
  void aWriteThatWaitsForItsOwnChangeIsACycle() {
    var own = node.grains().get(Own.class, "o");
    var thrown = assertThrows(CycleException.class, own::waitForOwnChange);
    assertNames(thrown, "Own/o.waitForOwnChange");
  }
}
