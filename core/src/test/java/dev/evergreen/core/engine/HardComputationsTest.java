package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.Result;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Computations under circumstances that nobody wishes for. */
class HardComputationsTest {

  private final FailingStorage storage = new FailingStorage();
  private final Node node =
      TestGrains.node()
          .grain(Own.class, OwnGrain::new)
          .storage(storage)
          .settings(
              NodeSettings.DEFAULT
                  .withCallTimeout(Duration.ofSeconds(10))
                  .withCacheGrace(Duration.ofMillis(10))
                  .withIdleAfter(Duration.ofMillis(100))
                  .withStopGrace(Duration.ofSeconds(1)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  private Cell cell(String key) {
    return node.grains().get(Cell.class, key);
  }

  private static final class FailingStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    volatile boolean broken;

    private void check() {
      if (broken) {
        throw new StorageException("the disk is on fire");
      }
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      check();
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      check();
      return memory.save(grain, expected, state);
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  interface Own extends Grain {
    String askMyself();

    String askThrough(String sum);

    void count();

    @ReadOnly
    int counted();

    @ReadOnly
    String self();

    @ReadOnly
    String readAsk();

    @ReadOnly
    String external();

    void leave();

    @ReadOnly
    String racing(List<String> gatesAndCells);
  }

  static volatile String external = "";
  static final AtomicReference<GrainContext<String>> EXPOSED = new AtomicReference<>();

  static final class OwnGrain implements Own {
    private final GrainContext<String> context;

    OwnGrain(GrainContext<String> context) {
      this.context = context;
      EXPOSED.set(context);
    }

    @Override
    public String askMyself() {
      try (var own =
          context.reactive(() -> context.grains().get(Own.class, context.key()).self())) {
        return own.tracker().next();
      }
    }

    @Override
    public String askThrough(String other) {
      try (var own = context.reactive(() -> context.grains().get(Own.class, other).readAsk())) {
        return own.tracker().next();
      }
    }

    private int count;

    @Override
    public void count() {
      count++;
      context.sleep(Duration.ofMillis(1));
    }

    @Override
    public int counted() {
      return count;
    }

    @Override
    public String self() {
      return "self";
    }

    @Override
    public String readAsk() {
      return context.grains().get(Own.class, "a").self();
    }

    @Override
    public String external() {
      return external;
    }

    @Override
    public void leave() {
      context.deactivate();
    }

    @Override
    public String racing(List<String> keys) {
      try {
        return Parallel.first(
            List.of(
                () -> context.grains().get(Gate.class, keys.get(0)).readWhenOpen(),
                () -> context.grains().get(Cell.class, keys.get(1)).text()));
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  // Starvation

  @Test
  void resultsArriveWhileWritesNeverPause() throws Exception {
    var cell = cell("busy");
    cell.set("0");
    var stop = new AtomicBoolean();
    var written = new AtomicInteger();
    var writers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 8; i++) {
      writers.add(
          CompletableFuture.runAsync(
              () -> {
                while (!stop.get()) {
                  cell.set(Integer.toString(written.incrementAndGet()));
                }
              },
              Thread::startVirtualThread));
    }
    try (var computation = node.reactive(() -> node.grains().get(Sum.class, "s").twice("busy"))) {
      var results = computation.tracker();
      var seen = new ArrayList<Integer>();
      for (int i = 0; i < 20; i++) {
        results.next(SOON);
        seen.add(written.get());
      }
      assertTrue(written.get() > 20, seen.toString());
    } finally {
      stop.set(true);
      for (var writer : writers) {
        writer.get();
      }
    }
  }

  @Test
  void resultsArriveWhileAWriteIsAlwaysWaiting() throws Exception {
    var own = node.grains().get(Own.class, "busy");
    var stop = new AtomicBoolean();
    var writers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 4; i++) {
      writers.add(
          CompletableFuture.runAsync(
              () -> {
                while (!stop.get()) {
                  own.count();
                }
              },
              Thread::startVirtualThread));
    }
    try (var computation = node.reactive(own::counted)) {
      var results = computation.tracker();
      for (int i = 0; i < 20; i++) {
        results.next(SOON);
      }
    } finally {
      stop.set(true);
      for (var writer : writers) {
        writer.get();
      }
    }
  }

  // Comparing

  /** Its equals is no equals. */
  static final class Liar {
    @Override
    public boolean equals(@Nullable Object other) {
      throw new IllegalStateException("not comparable");
    }

    @Override
    public int hashCode() {
      throw new IllegalStateException("not hashable");
    }
  }

  @Test
  void aResultThatCannotBeComparedIsANewOne() {
    var cell = cell("a");
    try (var computation =
        node.reactive(
            () -> {
              cell.text();
              return new Liar();
            })) {
      var results = computation.tracker();
      assertNotNull(results.next(SOON));
      cell.set("b");
      assertNotNull(results.next(SOON));
      cell.set("c");
      assertNotNull(results.next(SOON));
    }
    try (var computation =
        node.reactive(
            cell::text,
            (a, b) -> {
              throw new AssertionError("a comparer with an error");
            })) {
      var results = computation.tracker();
      assertEquals("c", results.next(SOON));
      cell.set("d");
      assertEquals("d", results.next(SOON));
    }
  }

  // Writes that ask

  @Test
  void aWriteThatAsksItselfByAComputationIsACycleAtOnce() {
    var own = node.grains().get(Own.class, "a");
    assertThrows(CycleException.class, own::askMyself);
    assertEquals("self", own.self());
  }

  @Test
  void aWriteThatAsksItselfThroughAnotherIsACycle() {
    var own = node.grains().get(Own.class, "a");
    assertThrows(CycleException.class, () -> own.askThrough("b"));
    assertEquals("self", own.self());
  }

  @Test
  void aComputationThatWritesFailsAtOnceAlsoInParallelAndNothingIsWritten() {
    var cell = cell("a");
    try (var computation =
        node.reactive(() -> Parallel.map(List.of("x", "y"), key -> write(cell(key))).toString())) {
      var failure = assertThrows(ReadOnlyViolationException.class, computation.tracker()::next);
      assertNames(failure, "Cell/x.set");
    }
    assertEquals("", cell("x").text());
    assertEquals("", cell.text());
  }

  private static String write(Cell cell) {
    cell.set("written");
    return "done";
  }

  // Life and death

  @Test
  void aSubscribedGrainIsNotIdleAndOneThatLeavesIsFollowed() {
    var own = node.grains().get(Own.class, "a");
    external = "1";
    try (var computation = node.reactive(own::external)) {
      var results = computation.tracker();
      assertEquals("1", results.next(SOON));
      external = "2";
      assertThrows(NoNewResultException.class, () -> results.next(Duration.ofMillis(400)));
      own.leave();
      assertEquals("2", results.next(SOON));
      external = "3";
      Objects.requireNonNull(EXPOSED.get()).markChanged();
      assertEquals("3", results.next(SOON));
    }
    WiredNodes.await("nothing", () -> node.counts().equals(new NodeCounts(0, 0, 0, 0, 0, 0)));
  }

  @Test
  void aStorageThatFailsIsSurvivedByItsReaders() {
    var cell = cell("a");
    cell.set("1");
    try (var computation = node.reactive(cell::text);
        var other = node.reactive(() -> cell("new").text())) {
      var results = computation.tracker();
      assertEquals("1", results.next(SOON));
      storage.broken = true;
      assertThrows(StateNotSavedException.class, () -> cell.set("2"));
      var newcomer = other.tracker();
      assertThrows(ActivationException.class, () -> newcomer.next(SOON));
      assertThrows(NoNewResultException.class, () -> results.next(Duration.ofMillis(100)));
      WiredNodes.await("doubt", () -> results.freshness() == Freshness.IN_DOUBT);
      storage.broken = false;
      assertEquals("", newcomer.next(SOON));
      cell.set("3");
      assertEquals("3", results.next(SOON));
      WiredNodes.await("no doubt", () -> results.freshness() == Freshness.CURRENT);
    }
  }

  @Test
  void closingEndsNextWhileTheFirstRunIsUnderWayOnItsThread() throws Exception {
    GateGrain.shut();
    var computation = node.reactive(() -> node.grains().get(Gate.class, "g").readWhenOpen());
    var waiting =
        CompletableFuture.supplyAsync(
            () -> computation.tracker().next(), Thread::startVirtualThread);
    GateGrain.entered.await();
    computation.close();
    var failure = assertThrows(ExecutionException.class, waiting::get);
    assertInstanceOf(ComputationClosedException.class, failure.getCause());
    assertThrows(ComputationClosedException.class, computation::tracker);
    GateGrain.open.countDown();
  }

  @Test
  void anInterruptedNextGoesOnAfterwards() throws Exception {
    var cell = cell("a");
    try (var computation = node.reactive(cell::text)) {
      var results = computation.tracker();
      assertEquals("", results.next());
      Thread.currentThread().interrupt();
      assertThrows(CallInterruptedException.class, results::next);
      assertTrue(Thread.interrupted());
      cell.set("b");
      assertEquals("b", results.next());
    }
  }

  @Test
  void aTrackerAfterItsEnd() {
    var computation = node.reactive(() -> cell("a").text());
    var tracker = computation.tracker();
    var other = computation.tracker();
    var iterator = tracker.iterator();
    assertEquals("", iterator.next());
    tracker.close();
    tracker.close();
    assertFalse(iterator.hasNext());
    assertThrows(NoSuchElementException.class, iterator::next);
    assertThrows(ComputationClosedException.class, tracker::next);
    assertThrows(ComputationClosedException.class, () -> tracker.poll(Duration.ZERO));
    assertEquals("", other.next());
    computation.close();
    assertThrows(ComputationClosedException.class, other::next);
    assertFalse(other.iterator().hasNext());
  }

  @Test
  @SuppressWarnings("NullAway") // it does not see that T may be null in a lambda's result
  void aComputationOfNothingHasNullAndOneThatThrowsGoesOn() {
    var cell = cell("a");
    try (ReactiveComputation<@Nullable String> computation =
        node.<@Nullable String>reactive(() -> cell.text().isEmpty() ? null : cell.text())) {
      var results = computation.tracker();
      assertNull(results.next(SOON));
      cell.set("x");
      assertEquals("x", results.next(SOON));
      cell.set("");
      assertNull(results.next(SOON));
    }
    try (var computation =
        node.reactive(
            () -> {
              if (cell.text().isEmpty()) {
                throw new Exception("checked");
              }
              return cell.text();
            })) {
      var results = computation.tracker();
      assertThrows(ComputationFailedException.class, () -> results.next(SOON));
      cell.set("y");
      assertEquals("y", results.next(SOON));
    }
  }

  @Test
  void thousandsOfComputationsComeAndGoAndLeaveNothing() {
    for (int round = 0; round < 5; round++) {
      var open = new ArrayList<ReactiveComputation<String>>();
      for (int i = 0; i < 1_000; i++) {
        var key = "c" + i % 50;
        var computation = node.reactive(() -> node.grains().get(Sum.class, key).twice(key));
        computation.tracker().next(SOON);
        open.add(computation);
      }
      open.forEach(ReactiveComputation::close);
    }
    WiredNodes.await("nothing", () -> node.counts().equals(new NodeCounts(0, 0, 0, 0, 0, 0)));
  }

  @Test
  void oneComputationReadsTwentyThousandGrains() {
    var keys = IntStream.range(0, 20_000).mapToObj(i -> "k" + i).toList();
    try (var computation =
            node.reactive(() -> node.grains().get(Sum.class, "s").totalLength(keys));
        var direct =
            node.reactive(
                () ->
                    Parallel.map(keys, key -> cell(key).length()).stream()
                        .mapToInt(n -> n)
                        .sum())) {
      var results = computation.tracker();
      var directly = direct.tracker();
      assertEquals(0, results.next());
      assertEquals(0, directly.next());
      cell("k19999").set("abc");
      assertEquals(3, results.next());
      assertEquals(3, directly.next());
    }
    WiredNodes.await("nothing", () -> node.counts().equals(new NodeCounts(0, 0, 0, 0, 0, 0)));
  }

  @Test
  void theFirstAnswerInAComputation() {
    GateGrain.shut();
    var own = node.grains().get(Own.class, "a");
    try (var computation = node.reactive(() -> own.racing(List.of("g", "c")))) {
      var results = computation.tracker();
      assertEquals("", results.next(SOON));
      cell("c").set("x");
      assertEquals("x", results.next(SOON));
      cell("c").set("y");
      assertEquals("y", results.next(SOON));
    }
    GateGrain.open.countDown();
  }

  @Test
  void aReadThatIsLateInAComputationIsCaughtAndComesLater() {
    GateGrain.shut();
    var gate = node.grains().withTimeout(Duration.ofMillis(50)).get(Gate.class, "g");
    try (var computation =
        node.reactive(
            () -> {
              try {
                return gate.readWhenOpen() + cell("a").text();
              } catch (GrainTimeoutException e) {
                return "late" + cell("a").text();
              }
            })) {
      var results = computation.tracker();
      assertEquals("late", results.next(SOON));
      cell("a").set("!");
      assertEquals("late!", results.next(SOON));
      GateGrain.open.countDown();
      assertEquals("read!", results.next(SOON));
    }
  }

  @Test
  void aComputationInsideAComputation() {
    try (var outer =
            node.reactive(
                () -> {
                  try (var inner = node.reactive(() -> cell("a").text())) {
                    return inner.tracker().next() + cell("b").text();
                  }
                });
        var beside = node.reactive(() -> cell("a").text())) {
      var results = outer.tracker();
      assertEquals("", results.next(SOON));
      cell("b").set("b");
      assertEquals("b", results.next(SOON));
      // The outer one does not depend on it: it must be known before that runs again.
      assertEquals("a", beside.after(() -> cell("a").set("a"), SOON));
      cell("b").set("c");
      assertEquals("ac", results.next(SOON));
    }
  }

  // Publishers

  private static class Collector implements Flow.Subscriber<Result<String>> {
    final CountDownLatch ended = new CountDownLatch(1);
    final List<String> events = new ArrayList<>(); // guarded by itself
    volatile Flow.@Nullable Subscription subscription;
    volatile boolean leaves;

    void note(String event) {
      synchronized (events) {
        events.add(event);
      }
    }

    List<String> events() {
      synchronized (events) {
        return List.copyOf(events);
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
    }

    void request(long n) {
      var s = subscription;
      if (s != null) {
        s.request(n);
      }
    }

    @Override
    public void onNext(Result<String> result) {
      note(result.get());
      if (leaves && result.get().equals("cancel")) {
        var s = subscription;
        if (s != null) {
          s.cancel();
          s.request(1);
        }
        note("cancelled");
      }
      if (result.get().equals("interrupt")) {
        Thread.currentThread().interrupt();
      }
      if (result.get().equals("throw")) {
        throw new IllegalStateException("a subscriber that fails");
      }
    }

    @Override
    public void onError(Throwable thrown) {
      note(thrown.getClass().getSimpleName());
      ended.countDown();
    }

    @Override
    public void onComplete() {
      note("complete");
      ended.countDown();
    }
  }

  @Test
  void aSubscriberMayAskForTooMuchForNothingAndForAnEnd() throws Exception {
    var cell = cell("a");
    var computation = node.reactive(cell::text);
    var greedy = new Collector();
    computation.publisher().subscribe(greedy);
    greedy.request(Long.MAX_VALUE);
    greedy.request(Long.MAX_VALUE);
    var bad = new Collector();
    computation.publisher().subscribe(bad);
    bad.request(0);
    bad.ended.await();
    assertEquals(List.of("IllegalArgumentException"), bad.events());
    var leaving = new Collector();
    leaving.leaves = true;
    computation.publisher().subscribe(leaving);
    leaving.request(10);
    WiredNodes.await("the first", () -> greedy.events().size() == 1);
    cell.set("cancel");
    WiredNodes.await("the end", () -> leaving.events().contains("cancelled"));
    cell.set("more");
    WiredNodes.await("the last", () -> greedy.events().contains("more"));
    var late = new Collector();
    computation.close();
    greedy.ended.await();
    assertEquals("complete", greedy.events().getLast());
    assertFalse(leaving.events().contains("more"));
    assertFalse(leaving.events().contains("complete"));
    computation.publisher().subscribe(late);
    late.ended.await();
    assertEquals(List.of("complete"), late.events());
    assertThrows(NullPointerException.class, () -> computation.publisher().subscribe(null));
  }

  /** Seen: what it had caught was shown for ever, as current. */
  @Test
  void whatAnInterruptedThreadHasComputedWithoutItsBranchesIsNoResult() throws Exception {
    GateGrain.shut();
    var gate = node.grains().get(Gate.class, "g");
    try (var computation = node.reactive(() -> bothOrCaught(gate))) {
      var other = computation.tracker();
      var lent =
          Thread.ofPlatform()
              .start(() -> assertThrows(GrainException.class, () -> computation.tracker().next()));
      GateGrain.entered.await();
      WiredNodes.await("it waits", () -> WiredNodes.waits(lent));
      lent.interrupt();
      lent.join();
      GateGrain.open.countDown();
      assertEquals(cell("a").text() + "|read", other.next());
    }
  }

  /** What two branches read, one of which waits; passes over an interrupt. */
  private String bothOrCaught(Gate gate) {
    try {
      return String.join(
          "|", Parallel.map(List.of(1, 2), i -> i == 1 ? cell("a").text() : gate.readWhenOpen()));
    } catch (CallInterruptedException e) {
      return "caught";
    }
  }

  /** Else it would look without a pause until somebody asks for more. */
  @Test
  void aSubscribersThreadThatIsInterruptedWaitsOn() {
    var threads = new CopyOnWriteArrayList<Thread>();
    try (var computation = node.reactive(cell("a")::text)) {
      var collector =
          new Collector() {
            @Override
            public void onNext(Result<String> result) {
              threads.add(Thread.currentThread());
              super.onNext(result);
            }
          };
      computation.publisher().subscribe(collector);
      collector.request(1);
      WiredNodes.await("the first", () -> threads.size() == 1);
      threads.getFirst().interrupt();
      WiredNodes.await("that it waits", () -> !threads.getFirst().isInterrupted());
      cell("a").set("more");
      collector.request(1);
      WiredNodes.await("the next", () -> collector.events().contains("more"));
    }
  }

  @Test
  void aSubscriberIsToldOfItsMistakeWhileItWaitsForAResult() throws Exception {
    try (var computation = node.reactive(() -> cell("a").text())) {
      var collector = new Collector();
      computation.publisher().subscribe(collector);
      collector.request(2);
      WiredNodes.await("the first", () -> collector.events().size() == 1);
      collector.request(0);
      assertTrue(collector.ended.await(20, TimeUnit.SECONDS), "nothing is told");
      assertEquals(List.of("", "IllegalArgumentException"), collector.events());
    }
  }

  @Test
  void aSubscriberMayInterruptItself() throws Exception {
    var cell = cell("a");
    try (var computation = node.reactive(cell::text)) {
      var collector = new Collector();
      computation.publisher().subscribe(collector);
      cell.set("interrupt");
      collector.request(2);
      WiredNodes.await("the interruption", () -> collector.events().contains("interrupt"));
      cell.set("more");
      collector.request(1);
      WiredNodes.await("the last", () -> collector.events().contains("more"));
    }
  }

  @Test
  void aNodeThatStopsTellsSubscribers() throws Exception {
    var computation = node.reactive(() -> cell("a").text());
    var collector = new Collector();
    computation.publisher().subscribe(collector);
    collector.request(1);
    WiredNodes.await("the first", () -> collector.events().size() == 1);
    node.close();
    collector.ended.await();
    assertEquals(List.of("", "NodeStoppedException"), collector.events());
  }
}
