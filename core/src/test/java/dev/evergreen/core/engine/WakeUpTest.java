package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.engine.CycleTest.Link;
import dev.evergreen.core.engine.CycleTest.LinkGrain;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What ends a waiting ends it at once: nodes here look again only after an hour, so that no look at
 * a clock makes up for a wake-up that is missing.
 */
@Timeout(60)
class WakeUpTest {

  private static final Duration HOUR = Duration.ofHours(1);
  private static final NodeSettings PATIENT =
      NodeSettings.DEFAULT
          .withCallTimeout(HOUR)
          .withCycleSuspicion(HOUR)
          .withPushRetryAfter(HOUR)
          .withRenewEvery(HOUR)
          .withLeaseFor(HOUR.multipliedBy(3));

  private final AtomicReference<@Nullable Thread> reader = new AtomicReference<>();
  private final CountDownLatch atLast = new CountDownLatch(1);
  private final CountDownLatch isBusy = new CountDownLatch(1);
  private final Node node =
      EmbeddedNode.builder()
          .grain(Link.class, LinkGrain::new)
          .grain(Late.class, this::late)
          .grain(Board.class, BoardGrain::new)
          .settings(PATIENT)
          .start();

  @AfterEach
  void stop() {
    atLast.countDown();
    Compared.before = Compared::nothing;
    Rude.BEFORE.set(Rude::nothing);
    node.close();
  }

  interface Late extends Grain {
    @ReadOnly
    int value();
  }

  /**
   * Gives its value, or cannot be activated, when a computation waits for that; or when three are
   * waited for; or at last.
   */
  private Late late(GrainContext<String> context) {
    if (context.key().equals("broken")) {
      awaitReader();
      throw new IllegalStateException("broken");
    }
    return () -> {
      switch (context.key()) {
        case "third" -> WiredNodes.await("three reads", () -> node.counts().caches() == 3);
        case "at last", "at last, too" -> awaitOpen(atLast);
        default -> awaitReader();
      }
      return 7;
    };
  }

  private int valueOf(String key) {
    return node.grains().get(Late.class, key).value();
  }

  /** Shows what another one says. */
  interface Board extends Grain {
    @ReadOnly
    int shown();

    @ReadOnly
    String name();

    void change();
  }

  private static final class BoardGrain implements Board {
    private final GrainContext<String> context;

    BoardGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public int shown() {
      return context.grains().get(Late.class, context.key()).value();
    }

    @Override
    public String name() {
      return context.key();
    }

    @Override
    public void change() {}
  }

  private void awaitReader() {
    while (true) {
      var thread = reader.get();
      // One that has ended does not wait for what is tried again.
      if (thread != null && (isParked(thread) || !thread.isAlive())) {
        return;
      }
      Thread.onSpinWait();
    }
  }

  /** Something done by a thread of its own, since it blocks. */
  private static final class Aside {
    private final CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
    private final Thread thread;

    Aside(Runnable body) {
      thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      body.run();
                      done.complete(null);
                    } catch (RuntimeException e) {
                      done.completeExceptionally(e);
                    }
                  });
    }

    void awaitParked() {
      WiredNodes.await("its waiting", () -> isParked(thread));
    }

    void awaitEnd() throws Exception {
      done.get(20, TimeUnit.SECONDS);
    }

    @Nullable Throwable failure() {
      return assertThrows(ExecutionException.class, this::awaitEnd).getCause();
    }
  }

  private ReactiveComputation<Integer> reading(String key) {
    return node.reactive(
        () -> {
          reader.set(Thread.currentThread());
          return valueOf(key);
        });
  }

  @Test
  void whoWaitsForAFirstResultIsWokenByIt() {
    try (var computation = reading("good")) {
      assertEquals(7, computation.tracker().next(SOON));
    }
  }

  @Test
  void whoWaitsForAFirstResultIsWokenByTheReasonThatThereIsNone() {
    try (var computation = reading("broken")) {
      assertThrows(ActivationException.class, () -> computation.tracker().next(SOON));
    }
  }

  @Test
  void aCircleOfWaitingInAProcessIsFoundAtOnce() {
    pointInACircle(node);
    try (var computation = node.reactive(() -> node.grains().get(Link.class, "a").length())) {
      assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
    }
  }

  @Test
  void aSearchGoesOnAsSoonAsOtherNodesHaveAnswered() {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var settings = PATIENT.withCycleSuspicion(Duration.ofMillis(20));
      var a = wired.start(first, settings, types);
      wired.start(second, settings, types);
      pointInACircle(a);
      try (var computation = a.reactive(() -> a.grains().get(Link.class, "a").length())) {
        assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
      }
    }
  }

  @Test
  void whoWaitsForAnAnswerIsWokenByTheEndOfTheConnection() throws Exception {
    var here = WiredNodes.id("a");
    var there = WiredNodes.id("b");
    try (var wired = new WiredNodes(there)) {
      var caller = wired.start(here, PATIENT);
      var called = new CountDownLatch(1);
      wired.wire = (from, to, message) -> called.countDown();
      var waiting = new Aside(() -> caller.grains().get(Cell.class, "c").touch());
      called.await();
      waiting.awaitParked();
      caller.linkBroken(there);
      assertInstanceOf(OutcomeUnknownException.class, waiting.failure());
    }
  }

  @Test
  void whoCollectsCirclesIsWokenByTheAnswersOfOtherNodes() throws Exception {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var settings =
          PATIENT.withCycleSuspicion(Duration.ofMillis(20)).withCacheGrace(Duration.ofMillis(1));
      var a = wired.start(first, settings, types);
      wired.start(second, settings, types);
      pointInACircle(a);
      try (var computation = a.reactive(() -> a.grains().get(Link.class, "a").length())) {
        assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
      }
      var sweeper = new AtomicReference<@Nullable Aside>();
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.ProbeAnswer) {
              Thread.startVirtualThread(
                  () -> {
                    WiredNodes.await("the sweeper", () -> sweeper.get() != null);
                    Objects.requireNonNull(sweeper.get()).awaitParked();
                    wired.deliver(from, to, message);
                  });
            } else {
              wired.deliver(from, to, message);
            }
          };
      var sweeping = new Aside(a::sweep);
      sweeper.set(sweeping);
      sweeping.awaitEnd();
    }
  }

  /** Else what is idle would not be closed until all its circles were asked about in vain. */
  @Test
  void whoDoesNotAnswerHoldsUpASweepOnceHoweverManyCirclesItIsIn() {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    var asked = new AtomicInteger();
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var settings =
          PATIENT
              .withCycleSuspicion(Duration.ofMillis(20))
              .withPushRetryAfter(Duration.ofMillis(100));
      var node = wired.start(first, settings, types);
      wired.start(second, settings, types);
      for (var circle : List.of("1", "2", "3")) {
        node.grains().get(Link.class, "a" + circle).pointTo("b" + circle);
        node.grains().get(Link.class, "b" + circle).pointTo("a" + circle);
        try (var member =
            node.reactive(() -> node.grains().get(Link.class, "a" + circle).length())) {
          assertThrows(CycleException.class, () -> member.tracker().next(SOON));
        }
        var key = WiredNodes.key(node, Link.class, "a" + circle, "length()");
        var summary = Objects.requireNonNull(node.activations.summary(key));
        WiredNodes.await("the circle", summary::inCircle);
      }
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Probe) {
              asked.incrementAndGet();
            } else {
              wired.deliver(from, to, message);
            }
          };
      node.sweep();
      assertEquals(1, asked.get());
    }
  }

  @Test
  void whoSendsResultsIsWokenByTheEndOfTheNodeThatDoesNotAcknowledgeThem() throws Exception {
    var here = WiredNodes.id("a");
    var there = WiredNodes.id("b");
    try (var wired = new WiredNodes(there)) {
      var reader = wired.start(here, PATIENT);
      var publisher = wired.start(there, PATIENT);
      var cell = publisher.grains().get(Cell.class, "c");
      try (var computation = reader.reactive(() -> reader.grains().get(Cell.class, "c").text())) {
        var texts = computation.tracker();
        assertEquals("", texts.next(SOON));
        wired.wire =
            (from, to, message) -> {
              if (!(message instanceof Message.PushAck)) {
                wired.deliver(from, to, message);
              }
            };
        cell.set("x");
        assertEquals("x", texts.next(SOON));
        publisher.nodesRemoved(Set.of(here));
        wired.awaitNoThreads();
      }
    }
  }

  // Computations

  @Test
  void whoObservesIsWokenByAChangeOfFreshnessAlone() throws Exception {
    var here = WiredNodes.id("a");
    var there = WiredNodes.id("b");
    try (var wired = new WiredNodes(there)) {
      var reader = wired.start(here, PATIENT);
      wired.start(there, PATIENT);
      try (var computation = reader.reactive(() -> reader.grains().get(Cell.class, "c").text())) {
        var texts = computation.tracker();
        assertEquals(Freshness.CURRENT, texts.observe(SOON).orElseThrow().freshness());
        var observing = new Aside(() -> texts.observe(HOUR));
        observing.awaitParked();
        wired.connected = node -> false;
        reader.linkBroken(there);
        observing.awaitEnd();
      }
    }
  }

  @Test
  void whoWaitsForAResultIsWokenByTheEndOfHisTracker() {
    var tracker = node.reactive(() -> 1).tracker();
    assertEquals(1, tracker.next());
    var waiting = new Aside(tracker::next);
    waiting.awaitParked();
    tracker.close();
    assertInstanceOf(ComputationClosedException.class, waiting.failure());
  }

  @Test
  void whoWaitsForResultsIsNotWokenByAChangeOfFreshnessAlone() throws Exception {
    var here = WiredNodes.id("a");
    var there = WiredNodes.id("b");
    try (var wired = new WiredNodes(there)) {
      var reader = wired.start(here, PATIENT);
      var other = wired.start(there, PATIENT);
      var cell = other.grains().get(Cell.class, "c");
      try (var computation = reader.reactive(() -> reader.grains().get(Cell.class, "c").text())) {
        var texts = computation.tracker();
        texts.next(SOON);
        var snapshots = computation.tracker();
        snapshots.observe(SOON);
        var waiting = new Aside(() -> texts.poll(HOUR));
        var observing = new Aside(() -> snapshots.observe(HOUR));
        waiting.awaitParked();
        observing.awaitParked();
        var woken = ConcurrentHashMap.<Thread>newKeySet();
        wired.whenUnparked = woken::add;
        wired.connected = node -> false;
        reader.linkBroken(there);
        observing.awaitEnd();
        assertFalse(woken.contains(waiting.thread));
        wired.connected = node -> true;
        cell.set("x");
        waiting.awaitEnd();
      }
    }
  }

  /** As one who waits for a result that reflects a write. */
  @Test
  void whoWatchesASummaryIsWokenByItsEnd() throws Exception {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT);
      var workers = started.caches.workers();
      var root = ((LiveComputation<Integer>) started.reactive(() -> 1)).root();
      var watching =
          new Aside(
              () -> {
                root.watchers.add(Thread.currentThread());
                workers.await(root::isOver, workers.never(), false);
              });
      watching.awaitParked();
      root.close();
      watching.awaitEnd();
    }
  }

  // Turns and runs

  /** A read waits behind an older write, which its caller takes back. */
  @Test
  void whoWaitsBehindAWriteIsAdmittedWhenThatIsTakenBack() {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT);
      assertEquals(0, started.grains().get(Cell.class, "c").length());
      var cell = started.activations.all().getFirst();
      var admitted = new Tasks();
      var write = turn(cell, false);
      cell.submit(turn(cell, true), admitted);
      cell.submit(write, admitted);
      cell.submit(turn(cell, true), admitted);
      assertEquals(2, cell.waiting());
      cell.withdraw(write, admitted);
      assertEquals(0, cell.waiting());
    }
  }

  /** The caller of that write gives it up, while what keeps it out goes on. */
  @Test
  void whoWaitsBehindAWriteRunsWhenThatIsGivenUp() throws Exception {
    var self = WiredNodes.id("a");
    var types = GrainTypes.create().add(Late.class, this::late).add(Board.class, BoardGrain::new);
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT, types);
      var board = started.grains().get(Board.class, "at last");
      var first = new Aside(board::shown);
      WiredNodes.await("its call", () -> started.activations.size() == 2);
      first.awaitParked();
      var hurried =
          started.grains().withTimeout(Duration.ofMillis(500)).get(Board.class, "at last");
      var write = new Aside(hurried::change);
      WiredNodes.await("the write", () -> write.done.isDone() || waiting(started) == 1);
      var second = new Aside(board::name);
      WiredNodes.await("the other", () -> write.done.isDone() || waiting(started) == 2);
      assertInstanceOf(GrainTimeoutException.class, write.failure());
      second.awaitEnd();
      assertFalse(first.done.isDone());
    }
  }

  private static int waiting(NodeRuntime node) {
    return node.activations.all().stream().mapToInt(Activation::waiting).sum();
  }

  private static long runs(NodeRuntime node) {
    return node.activations.all().stream()
        .flatMap(activation -> activation.summaries().stream())
        .mapToLong(Summary::runs)
        .sum();
  }

  private static Turn turn(Activation home, boolean readOnly) {
    return new Turn(home, "test", readOnly, grain -> null, outcome -> {});
  }

  /** The run that it waits for waits itself, for what does not come. */
  @Test
  void aWriteThatARunHoldsUpIsAdmittedWhenItHasWaitedForLong() throws Exception {
    var board = node.grains().get(Board.class, "at last");
    try (var computation = node.reactive(board::shown)) {
      assertTrue(computation.tracker().poll(Duration.ZERO).isEmpty());
      WiredNodes.await("the run", () -> node.counts().summaries() == 2);
      var writing =
          new Aside(
              () -> {
                // After three that it made way for a run is protected.
                for (int i = 0; i < 8; i++) {
                  board.change();
                }
              });
      writing.awaitEnd();
    }
  }

  @Test
  void aWriteThatARunHoldsUpIsAdmittedWhenThatEnds() throws Exception {
    var self = WiredNodes.id("a");
    var types = GrainTypes.create().add(Late.class, this::late).add(Board.class, BoardGrain::new);
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT.withWriteDelay(HOUR), types);
      var board = started.grains().get(Board.class, "at last");
      try (var computation = started.reactive(board::shown)) {
        assertTrue(computation.tracker().poll(Duration.ZERO).isEmpty());
        WiredNodes.await("the run", () -> started.counts().summaries() == 2);
        for (int i = 1; i <= 3; i++) {
          long again = runs(started) + 1;
          board.change();
          WiredNodes.await("the next run", () -> runs(started) == again);
        }
        var held = new Aside(board::change);
        WiredNodes.await("its waiting", () -> waiting(started) == 1);
        atLast.countDown();
        held.awaitEnd();
      }
    }
  }

  @Test
  void branchesAreWokenByTheInterruptionOfWhoWaitsForThem() throws Exception {
    var keys = List.of("at last", "at last, too");
    try (var computation = node.reactive(() -> Parallel.map(keys, this::valueOf))) {
      var waiting = new Aside(() -> computation.tracker().next());
      WiredNodes.await("both reads", () -> node.counts().caches() == 2);
      waiting.thread.interrupt();
      assertInstanceOf(CallInterruptedException.class, waiting.failure());
    }
  }

  private int nameOrValue(String key) {
    if (key.equals("at last")) {
      return valueOf(key);
    }
    int length = node.grains().get(Board.class, key).name().length();
    reader.set(Thread.currentThread());
    return length;
  }

  /** By nothing else, as what it has read itself was there before. */
  @Test
  void whoHasTakenItsBranchesIsWokenByTheEndOfTheLastOne() throws Exception {
    var keys = List.of("b", "at last");
    try (var computation = node.reactive(() -> Parallel.map(keys, this::nameOrValue))) {
      var waiting = new Aside(() -> computation.tracker().next());
      WiredNodes.await(
          "the other's branch",
          () -> {
            var owner = reader.get();
            return owner != null && isParked(owner);
          });
      atLast.countDown();
      waiting.awaitEnd();
    }
  }

  /** One of them waits on a thread of its own, which knows only the inner branches. */
  @Test
  void branchesInABranchAreWokenWhenThatIsNotWantedAnyMore() {
    var keys = List.of("at last", "at last, too");
    List<Callable<Integer>> branches =
        List.of(() -> Parallel.map(keys, this::valueOf).size(), () -> valueOf("third"));
    try (var computation = node.reactive(() -> Parallel.first(branches))) {
      assertEquals(7, computation.tracker().next(SOON));
    }
  }

  // Caches

  @Test
  void whoWaitsUntilAllKnowOfAResultIsWokenByThat() throws Exception {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT);
      var workers = started.caches.workers();
      var cache = new Cache(started.caches, WiredNodes.key(started, Cell.class, "c", "text()"));
      var version = new Message.Version(1, 1);
      var result = new Outcome.Returned("x");
      cache.install(new Cache.Update(0, version, result, 1, false, false, null));
      var waiting =
          new Aside(
              () -> {
                cache.addWaiter(Thread.currentThread());
                workers.await(() -> cache.haveToldOf(version), workers.never(), false);
              });
      waiting.awaitParked();
      cache.told(version);
      waiting.awaitEnd();
    }
  }

  /** Whoever searches for circles waits for lists that are heard of. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoWaitsUntilAPublisherIsHeardOfIsWokenByItsAnswer(boolean fails) throws Exception {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT);
      var workers = started.caches.workers();
      var cache = new Cache(started.caches, WiredNodes.key(started, Cell.class, "c", "text()"));
      var result = new Outcome.Returned("x");
      cache.install(new Cache.Update(0, new Message.Version(1, 1), result, 1, false, false, null));
      var waiting =
          new Aside(
              () -> {
                cache.addWaiter(Thread.currentThread());
                workers.await(() -> !cache.isSilent(), workers.never(), false);
              });
      waiting.awaitParked();
      long wish = cache.wish(self);
      if (fails) {
        cache.install(Cache.Update.provisional(wish, new Outcome.NotStarted("not now", true)));
      } else {
        assertTrue(cache.heard(wish));
      }
      waiting.awaitEnd();
    }
  }

  /** What was taken for a circle that nobody reads has got a reader. */
  @Test
  void aSummaryThatHasLostACacheAndIsStillThereRunsAgain() {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var started = wired.start(self, PATIENT.withPushRetryAfter(Duration.ofMillis(1)), types);
      started.grains().get(Link.class, "a").pointTo("b");
      try (var computation =
          started.reactive(() -> started.grains().get(Link.class, "a").length())) {
        var lengths = computation.tracker();
        assertEquals(1, lengths.next(SOON));
        started.caches.closeIfReadOnlyBy(
            Set.of(
                WiredNodes.key(started, Link.class, "a", "length()"),
                WiredNodes.key(started, Link.class, "b", "length()")));
        started.grains().get(Link.class, "b").pointTo("c");
        assertEquals(2, lengths.next(SOON));
      }
    }
  }

  /** It was found when others read it, which do not any more. */
  @Test
  void aCacheWhoseFirstResultIsAwaitedIsNotTakenForPartOfACircle() {
    var self = WiredNodes.id("a");
    var types = GrainTypes.create().add(Late.class, this::late).add(Board.class, BoardGrain::new);
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT, types);
      var board = started.grains().get(Board.class, "at last");
      try (var computation = started.reactive(board::shown)) {
        assertTrue(computation.tracker().poll(Duration.ZERO).isEmpty());
        WiredNodes.await("the read", () -> started.caches.size() == 2);
        started.caches.closeIfReadOnlyBy(
            Set.of(
                WiredNodes.key(started, Board.class, "at last", "shown()"),
                WiredNodes.key(started, Late.class, "at last", "value()")));
        atLast.countDown();
        assertEquals(7, computation.tracker().next(SOON));
      }
    }
  }

  // The end

  /** Says when a save has begun, and ends it when told. */
  private static final class SlowStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    private final CountDownLatch saving = new CountDownLatch(1);
    private final CountDownLatch maySave = new CountDownLatch(1);

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      saving.countDown();
      awaitOpen(maySave);
      return memory.save(grain, expected, state);
    }

    @Override
    public void close() {}
  }

  private static void awaitOpen(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whoever closes waits for what runs as long as it may, and for saves in any case. */
  @ParameterizedTest
  @ValueSource(longs = {0, 3_600})
  void whoClosesANodeIsWokenByTheEndOfWhatIsUnderWay(long grace) throws Exception {
    var self = WiredNodes.id("a");
    var storage = new SlowStorage();
    try (var wired = new WiredNodes(self, storage)) {
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var closing = wired.start(self, PATIENT.withStopGrace(Duration.ofSeconds(grace)), types);
      var link = closing.grains().get(Link.class, "a");
      var first = CompletableFuture.runAsync(() -> link.pointTo("b"), Thread::startVirtualThread);
      storage.saving.await();
      var second = CompletableFuture.runAsync(() -> link.pointTo("c"), Thread::startVirtualThread);
      WiredNodes.await("the second", () -> closing.activations.all().getFirst().waiting() == 1);

      var releasing = new Aside(() -> closing.release(WiredNodes.part("a")));
      // What waits is refused at once, to be asked for again, however long the grace is.
      WiredNodes.await(
          "the refusal", () -> closing.activations.all().stream().allMatch(a -> a.waiting() == 0));
      releasing.awaitParked();
      storage.maySave.countDown();

      releasing.awaitEnd();
      if (grace > 0) {
        first.get(20, TimeUnit.SECONDS);
        second.get(20, TimeUnit.SECONDS);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoClosesANodeIsWokenByTheEndOfTheLastTurnOrOfItsActivation(boolean fenced)
      throws Exception {
    var running = new CountDownLatch(1);
    var mayEnd = new CountDownLatch(1);
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var types =
          GrainTypes.create()
              .add(
                  Late.class,
                  context ->
                      () -> {
                        running.countDown();
                        awaitOpen(mayEnd);
                        return 7;
                      });
      var closing = wired.start(self, PATIENT.withStopGrace(HOUR), types);
      var value =
          CompletableFuture.supplyAsync(
              () -> closing.grains().get(Late.class, "a").value(), Thread::startVirtualThread);
      running.await();
      var closer = new Aside(closing::close);
      closer.awaitParked();
      if (fenced) {
        closing.fence("the test wants it");
        closer.awaitEnd();
        mayEnd.countDown();
      } else {
        mayEnd.countDown();
        closer.awaitEnd();
        assertEquals(7, value.get(20, TimeUnit.SECONDS));
      }
    }
  }

  private static boolean isParked(Thread thread) {
    var state = thread.getState();
    return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
  }

  private static void pointInACircle(Node node) {
    node.grains().get(Link.class, "a").pointTo("b");
    node.grains().get(Link.class, "b").pointTo("c");
    node.grains().get(Link.class, "c").pointTo("a");
  }

  @Test
  void whoAsksAGrainThatIsBeingClosedAsksAgain() throws Exception {
    var asked = new CountDownLatch(1);
    var observer =
        new NodeObserver() {
          @Override
          public void askedAgain(int caches) {
            asked.countDown();
          }
        };
    var here = WiredNodes.id("b");
    try (var wired = WiredNodes.observed(here, node -> observer)) {
      var node = wired.start(here, PATIENT);
      var gate = node.grains().get(Gate.class, "g");
      GateGrain.shut();
      var write = new Aside(gate::writeWhenOpen);
      awaitOpen(GateGrain.entered);
      var closing = new Aside(() -> node.release(WiredNodes.everything()));
      closing.awaitParked();
      try (var computation = node.reactive(gate::readWhenOpen)) {
        var tracker = computation.tracker();
        assertEquals(Optional.empty(), tracker.poll(Duration.ZERO));
        awaitOpen(asked);
        GateGrain.open.countDown();
        assertEquals("read", tracker.next(SOON));
      }
      write.awaitEnd();
      closing.awaitEnd();
    }
  }

  @Test
  void whoCallsANodeThatHasStoppedIsAnswered() throws Exception {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      wired.start(far, PATIENT).fence("the test wants it");
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Reply) {
              wired.hosts = grain -> near;
            }
            wired.deliver(from, to, message);
          };
      new Aside(() -> node.grains().get(Cell.class, "c").text()).awaitEnd();
    }
  }

  @Test
  void whoReadsAGrainThatMovesFollowsIt() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      var host = wired.start(far, PATIENT);
      var cell = node.grains().get(Cell.class, "c");
      try (var computation = node.reactive(cell::text)) {
        var texts = computation.tracker();
        assertEquals("", texts.next(SOON));
        wired.hosts = grain -> near;
        host.release(WiredNodes.everything());
        cell.set("moved");
        assertEquals("moved", texts.next(SOON));
      }
    }
  }

  /** It has moved, and where to is known only to who knows that it is not there. */
  @Test
  void whoAsksTheWrongNodeForAGrainAsksAgain() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      wired.start(far, PATIENT);
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Subscribe) {
              wired.hosts = grain -> WiredNodes.id("nowhere");
            }
            wired.deliver(from, to, message);
          };
      wired.whenNotThere = grain -> wired.hosts = moved -> near;
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        assertEquals("", computation.tracker().next(SOON));
      }
    }
  }

  /** Of what is in a circle, lists are read by those who do not read the results. */
  @Test
  void whoReadsAListOfReadsOfAGrainThatMovesFollowsIt() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      var host = wired.start(far, PATIENT);
      try (var computation = host.reactive(host.grains().get(Cell.class, "c")::text)) {
        computation.tracker().next(SOON);
        var key = WiredNodes.key(node, Cell.class, "c", "text()").wire();
        var list = node.caches.retain(node.models.graph().readsOf(key), WiredNodes.NOBODY).cache();
        WiredNodes.await("the list", () -> list.present() != null);
        wired.hosts = grain -> near;
        host.release(WiredNodes.everything());
        WiredNodes.await("its new place", () -> near.equals(list.publisher()));
      }
    }
  }

  /** Nobody answers where it is now. */
  @Test
  void whatIsReadOfAGrainThatMovesAwayIsInDoubtAtOnce() {
    var here = WiredNodes.id("a");
    try (var wired = new WiredNodes(here)) {
      var node = wired.start(here, PATIENT);
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertEquals("", texts.next(SOON));
        wired.hosts = grain -> WiredNodes.id("b");
        node.release(WiredNodes.everything());
        WiredNodes.await("doubt", () -> texts.freshness() == Freshness.IN_DOUBT);
      }
    }
  }

  /** Where it is now others may have changed it. */
  @Test
  void whatWasUnderWayWhenItsGrainMovedEndsNoDoubt() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      var host = wired.start(far, PATIENT);
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertEquals("", texts.next(SOON));
        var push = new HeldPush(wired);
        host.grains().get(Cell.class, "c").set("last");
        moveAway(wired, host, push);
        WiredNodes.await("doubt", () -> texts.freshness() == Freshness.IN_DOUBT);
        push.deliver();
        assertEquals("last", texts.next(SOON));
        assertEquals(Freshness.IN_DOUBT, texts.freshness());
      }
    }
  }

  /** It was asked for by a former cache. */
  @Test
  void whatWasUnderWayWhenItsGrainMovedIsInDoubtInANewCache() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT.withCacheGrace(Duration.ofMillis(1)));
      var host = wired.start(far, PATIENT);
      var push = pushToFormerCache(wired, node, host);
      moveAway(wired, host, push);
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertTrue(texts.poll(Duration.ofMillis(1)).isEmpty());
        WiredNodes.await("its wish", () -> asked(node, WiredNodes.id("c")));
        push.deliver();
        assertEquals("last", texts.next(SOON));
        assertEquals(Freshness.IN_DOUBT, texts.freshness());
      }
    }
  }

  /** It had nothing when it asked: that it is subscribed says nothing of what came meanwhile. */
  @Test
  void anAnswerEndsNoDoubtOfAResultThatItDoesNotKnow() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var now = WiredNodes.id("c");
    var question = new CompletableFuture<Message.Subscribe>();
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT.withCacheGrace(Duration.ofMillis(1)));
      var host = wired.start(far, PATIENT);
      var push = pushToFormerCache(wired, node, host);
      moveAway(wired, host, push);
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Subscribe asked && !asked.waits()) {
              question.complete(asked);
            }
          };
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertTrue(texts.poll(Duration.ofMillis(1)).isEmpty());
        WiredNodes.await("its wish", () -> asked(node, now));
        node.linkBroken(now);
        long asked = question.orTimeout(20, TimeUnit.SECONDS).join().request();
        push.deliver();
        assertEquals("last", texts.next(SOON));
        node.receive(now, new Message.SubscribeAnswer(asked, List.of(), List.of(), List.of(), 0));
        assertEquals(Freshness.IN_DOUBT, texts.freshness());
      }
    }
  }

  /** The cache is closed, and the push is still under way. */
  private static HeldPush pushToFormerCache(WiredNodes wired, NodeRuntime node, NodeRuntime host) {
    var former = node.reactive(node.grains().get(Cell.class, "c")::text);
    assertEquals("", former.tracker().next(SOON));
    var push = new HeldPush(wired);
    host.grains().get(Cell.class, "c").set("last");
    push.awaitSent();
    former.close();
    WiredNodes.await("the end of its cache", () -> node.caches.size() == 0);
    return push;
  }

  private static boolean asked(NodeRuntime node, NodeId where) {
    return node.caches.all().stream().anyMatch(cache -> where.equals(cache.publisher()));
  }

  /** To a node that gives no answer. */
  private static void moveAway(WiredNodes wired, NodeRuntime host, HeldPush push) {
    push.awaitSent();
    wired.hosts = grain -> WiredNodes.id("c");
    host.release(WiredNodes.everything());
  }

  /** The first push that is sent from now on is delivered when the test says so. */
  private static final class HeldPush {
    private final CompletableFuture<Runnable> sent = new CompletableFuture<>();

    HeldPush(WiredNodes wired) {
      wired.wire =
          (from, to, message) -> {
            if (!(message instanceof Message.Push)
                || !sent.complete(() -> wired.deliver(from, to, message))) {
              wired.deliver(from, to, message);
            }
          };
    }

    void awaitSent() {
      sent.orTimeout(20, TimeUnit.SECONDS).join();
    }

    void deliver() {
      sent.join().run();
    }
  }

  /** Nobody asks whether it has. */
  @Test
  void thatAGrainHasMovedIsToldAsSoonAsThereIsRoomForThat() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT);
      var host = wired.start(far, PATIENT);
      try (var computation = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertEquals("", texts.next(SOON));
        wired.connected = to -> to.equals(far);
        wired.hosts = grain -> WiredNodes.id("c");
        host.release(WiredNodes.everything());
        assertEquals(Freshness.CURRENT, texts.freshness());
        wired.connected = to -> true;
        WiredNodes.await("doubt", () -> texts.freshness() == Freshness.IN_DOUBT);
      }
    }
  }

  /** Its farewell went before it, and nothing that is pushed would be refused. */
  @Test
  void aSubscriptionWhoseCacheIsClosedWhileItIsSentIsEnded() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var sent = new CountDownLatch(1);
    var farewell = new CountDownLatch(1);
    try (var wired = new WiredNodes(far)) {
      var node = wired.start(near, PATIENT.withCacheGrace(Duration.ofMillis(1)));
      var host = wired.start(far, PATIENT);
      try (var other = host.reactive(host.grains().get(Cell.class, "c")::text)) {
        assertEquals("", other.tracker().next(SOON));
        var computation = node.reactive(node.grains().get(Cell.class, "c")::text);
        assertEquals("", computation.tracker().next(SOON));
        wired.wire =
            (from, to, message) -> {
              if (message instanceof Message.Subscribe) {
                computation.close();
                awaitOpen(farewell);
              }
              wired.deliver(from, to, message);
              if (message instanceof Message.Subscribe) {
                sent.countDown();
              } else if (message instanceof Message.Unsubscribe) {
                farewell.countDown();
              }
            };
        node.linkBroken(far); // so that it is subscribed again
        awaitOpen(sent);
        var summary = host.activations.summary(WiredNodes.key(host, Cell.class, "c", "text()"));
        var results = Objects.requireNonNull(summary).results();
        WiredNodes.await("its end", () -> results.subscribers() == 1);
      }
    }
  }

  /** Does something before results are compared. */
  static final class Compared implements BiPredicate<String, String> {
    static volatile Runnable before = Compared::nothing;

    private static void nothing() {}

    @Override
    public boolean test(String one, String other) {
      before.run();
      return one.equals(other);
    }
  }

  /** Its results are compared. */
  interface Word extends Grain {
    @ReadOnly
    @SameBy(Compared.class)
    String word();

    void say(String word);
  }

  private static Word word(GrainContext<String> context) {
    var said = context.state(String.class, "");
    return new Word() {
      @Override
      public String word() {
        return said.get();
      }

      @Override
      public void say(String text) {
        said.set(text);
      }
    };
  }

  /** However deep it reads, its end is the same. */
  interface Hop extends Grain {
    @ReadOnly
    @SameBy(Compared.class)
    String end();

    void pointTo(List<String> others);
  }

  private static final class HopGrain implements Hop {
    private final GrainContext<String> context;
    private List<String> others = List.of();

    HopGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public String end() {
      others.forEach(other -> context.grains().get(Hop.class, other).end());
      return "end";
    }

    @Override
    public void pointTo(List<String> now) {
      others = now;
    }
  }

  private static void point(Node node, String hop, String... others) {
    node.grains().get(Hop.class, hop).pointTo(List.of(others));
  }

  /** Else a circle among those that read it would not be suspected. */
  @Test
  void whatBecomesDeeperMakesItsReadersDeeper() {
    var here = WiredNodes.id("a");
    try (var wired = new WiredNodes(here)) {
      var node = wired.start(here, PATIENT, GrainTypes.create().add(Hop.class, HopGrain::new));
      point(node, "a", "b");
      point(node, "b", "c");
      point(node, "d", "e");
      try (var computation = node.reactive(node.grains().get(Hop.class, "a")::end)) {
        assertEquals("end", computation.tracker().next(SOON));
        assertEquals(3, depth(node, "a"));
        point(node, "c", "d");
        WiredNodes.await("its depth", () -> depth(node, "a") == 5);
      }
    }
  }

  /** Its reader has seen how deep it was, and depends on it only after that. */
  @Test
  void whatBecomesDeeperBeforeItsReaderIsAcceptedMakesThatDeeper() {
    var here = WiredNodes.id("a");
    try (var wired = new WiredNodes(here)) {
      var node = wired.start(here, PATIENT, GrainTypes.create().add(Hop.class, HopGrain::new));
      point(node, "c", "d");
      try (var computation = node.reactive(node.grains().get(Hop.class, "a")::end)) {
        assertEquals("end", computation.tracker().next(SOON));
        var first = new AtomicBoolean(true);
        Compared.before =
            () -> {
              if (first.getAndSet(false)) {
                CompletableFuture.runAsync(() -> point(node, "b", "c")).join();
                WiredNodes.await("that what is read is deeper", () -> depth(node, "b") == 3);
              }
            };
        point(node, "a", "b");
        WiredNodes.await("its depth", () -> depth(node, "a") == 4);
      }
    }
  }

  /** Reads how one hop ends. */
  interface Behind extends Grain {
    @ReadOnly
    @SameBy(Compared.class)
    String end();

    /** Until the end of the test. */
    @ReadOnly
    String busy();
  }

  private Behind behind(GrainContext<String> context) {
    return new Behind() {
      @Override
      public String end() {
        return context.grains().get(Hop.class, "t").end();
      }

      @Override
      public String busy() {
        isBusy.countDown();
        awaitOpen(atLast);
        return "";
      }
    };
  }

  /** It runs again for that, which may take its time. */
  @Test
  void whatHasBecomeDeeperTellsItsDoubtAtOnce() throws Exception {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var types = GrainTypes.create().add(Hop.class, HopGrain::new).add(Behind.class, this::behind);
      var node = wired.start(near, PATIENT, types);
      var host = wired.start(far, PATIENT, types);
      wired.hosts = grain -> grain.type().endsWith("Behind") ? near : far;
      var reader = node.grains().get(Behind.class, "s");
      try (var computation = node.reactive(reader::end)) {
        var ends = computation.tracker();
        assertEquals("end", ends.next(SOON));
        var busy = new Aside(reader::busy);
        awaitOpen(isBusy);
        point(host, "t", "x");
        var read = cacheOf(node, "t");
        WiredNodes.await("that it is deeper", () -> read.depth() == 2);
        assertEquals(Freshness.CURRENT, ends.freshness());
        wired.connected = to -> false;
        node.linkBroken(far);
        WiredNodes.await("doubt", () -> ends.freshness() == Freshness.IN_DOUBT);
        atLast.countDown();
        busy.awaitEnd();
      }
    }
  }

  /** It is the application's, and may take long; what else comes from there must not wait. */
  @Test
  void nothingIsComparedByWhoDeliversMessages() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var deliveries = new ConcurrentHashMap<Thread, Integer>();
    var compared = ConcurrentHashMap.<Thread>newKeySet();
    try (var wired = new WiredNodes(far)) {
      wired.wire =
          (from, to, message) -> {
            deliveries.merge(Thread.currentThread(), 1, Integer::sum);
            wired.deliver(from, to, message);
            deliveries.merge(Thread.currentThread(), -1, Integer::sum);
          };
      var types = GrainTypes.create().add(Hop.class, HopGrain::new);
      var node = wired.start(near, PATIENT, types);
      var host = wired.start(far, PATIENT, types);
      try (var computation = node.reactive(node.grains().get(Hop.class, "t")::end)) {
        assertEquals("end", computation.tracker().next(SOON));
        Compared.before =
            () -> {
              if (deliveries.getOrDefault(Thread.currentThread(), 0) > 0) {
                compared.add(Thread.currentThread());
              }
            };
        point(host, "t", "x");
        var read = cacheOf(node, "t");
        WiredNodes.await("that it is deeper", () -> read.depth() == 2);
        assertEquals(Set.of(), compared);
      }
    }
  }

  /** Each time that they come again another thread would be in it, and what is behind them wait. */
  @Test
  void aComparerThatDoesNotEndIsCalledOnceAndHoldsUpNothingElse() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var comparisons = new AtomicInteger();
    var acknowledged = ConcurrentHashMap.<Long>newKeySet();
    var updates = new ConcurrentLinkedQueue<Message.Update>();
    try (var wired = new WiredNodes(far)) {
      var types = TestGrains.types().add(Hop.class, HopGrain::new);
      var node = wired.start(near, PATIENT, types);
      var host = wired.start(far, PATIENT.withPushRetryAfter(Duration.ofMillis(10)), types);
      try (var ends = node.reactive(node.grains().get(Hop.class, "t")::end);
          var texts = node.reactive(node.grains().get(Cell.class, "c")::text)) {
        assertEquals("end", ends.tracker().next(SOON));
        var text = texts.tracker();
        assertEquals("", text.next(SOON));
        holdPushes(
            wired,
            updates,
            message -> {
              if (message instanceof Message.PushAck(var batch)) {
                acknowledged.add(batch);
              }
            });
        point(host, "t", "x");
        var first = sent(updates, update -> update.depth() == 2);
        point(host, "x", "y");
        var latest = sent(updates, update -> update.depth() == 3);
        host.grains().get(Cell.class, "c").set("new");
        var other = sent(updates, update -> !update.key().equals(first.key()));
        Compared.before =
            () -> {
              comparisons.incrementAndGet();
              awaitOpen(atLast);
            };
        node.receive(far, new Message.Push(-1, List.of(first, other)));
        assertEquals("new", text.next(SOON));
        WiredNodes.await("the comparison", () -> comparisons.get() == 1);
        node.receive(far, new Message.Push(-2, List.of(first, other)));
        node.receive(far, new Message.Push(-3, List.of(latest)));
        node.receive(far, new Message.Push(-4, List.of(first)));
        assertTrue(acknowledged.containsAll(Set.of(-1L, -2L, -3L, -4L)));
        atLast.countDown();
        WiredNodes.await("the latest", () -> cacheOf(node, "t").depth() == 3);
        assertEquals(2, comparisons.get());
      }
    }
  }

  /** Else a root that has begun to run shows what was before, and looks at nothing else either. */
  @Test
  void whatWasComparedIsSeenWhileTheNextIsCompared() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var comparisons = new AtomicInteger();
    var updates = new ConcurrentLinkedQueue<Message.Update>();
    try (var wired = new WiredNodes(far)) {
      var types = GrainTypes.create().add(Word.class, WakeUpTest::word);
      var node = wired.start(near, PATIENT, types);
      var host = wired.start(far, PATIENT.withPushRetryAfter(Duration.ofMillis(10)), types);
      try (var words = node.reactive(node.grains().get(Word.class, "w")::word)) {
        var word = words.tracker();
        assertEquals("", word.next(SOON));
        holdPushes(wired, updates, message -> {});
        host.grains().get(Word.class, "w").say("first");
        var first = sent(updates, _ -> true);
        host.grains().get(Word.class, "w").say("second");
        var second =
            sent(updates, update -> update.version().sequence() > first.version().sequence());
        var mayEnd = new CountDownLatch(1);
        Compared.before =
            () -> {
              if (comparisons.incrementAndGet() == 1) {
                awaitOpen(mayEnd);
              } else {
                awaitOpen(atLast);
              }
            };
        node.receive(far, new Message.Push(-1, List.of(first)));
        WiredNodes.await("the first comparison", () -> comparisons.get() == 1);
        node.receive(far, new Message.Push(-2, List.of(second)));
        mayEnd.countDown();
        WiredNodes.await("the second comparison", () -> comparisons.get() == 2);
        assertEquals("first", word.next(SOON));
        atLast.countDown();
        assertEquals("second", word.next(SOON));
      }
    }
  }

  /** Else it would be in doubt for ever, and what it says be sent and compared again and again. */
  @Test
  void whatANewActivationSaysIsTakenThoughWishesOvertakeItsComparison() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var types = GrainTypes.create().add(Word.class, WakeUpTest::word);
      var node = wired.start(near, PATIENT.withRenewEvery(Duration.ofMillis(10)), types);
      var host = wired.start(far, PATIENT, types);
      try (var words = node.reactive(node.grains().get(Word.class, "w")::word)) {
        var word = words.tracker();
        assertEquals("", word.next(SOON));
        var cache =
            Objects.requireNonNull(
                node.caches.get(WiredNodes.key(node, Word.class, "w", "word()")));
        Compared.before =
            () -> {
              long wish = cache.generation();
              WiredNodes.await("the next wish", () -> cache.generation() > wish);
            };
        host.release(WiredNodes.everything());
        host.grains().get(Word.class, "w").say("next");
        assertEquals("next", word.next(SOON));
        WiredNodes.await("its certainty", () -> word.freshness() == Freshness.CURRENT);
      }
    }
  }

  /** Whoever searches for circles waits a while for what is not heard of, as long as for others. */
  @Test
  void whatWishesOvertookIsNotHeardOfSinceThen() {
    var self = WiredNodes.id("a");
    var clock = new HandClock();
    try (var wired = new WiredNodes(self)) {
      var started = wired.start(self, PATIENT);
      var key = WiredNodes.key(started, Cell.class, "c", "text()");
      var cache = new Cache(new ByHand(clock.workers()), key);
      cache.install(result(cache.wish(self), 1));
      clock.passTo(10 * HandClock.MILLI);
      long overtaken = cache.wish(self);
      cache.wish(self);
      cache.install(result(overtaken, 2));
      assertTrue(cache.isSilent());
      assertEquals(0, cache.unheardFor());
    }
  }

  private static Cache.Update result(long wish, long epoch) {
    var version = new Message.Version(epoch, 1);
    return new Cache.Update(wish, version, new Outcome.Returned("x"), 1, false, false, null);
  }

  /** Caches that go by a test's clock. */
  private static final class ByHand implements Cache.Keeper {
    private final Workers workers;
    private long generation;

    ByHand(Workers workers) {
      this.workers = workers;
    }

    @Override
    public Workers workers() {
      return workers;
    }

    @Override
    public long grace() {
      return 0;
    }

    @Override
    public long nextGeneration() {
      return ++generation;
    }

    @Override
    public void idle(Cache cache, boolean graceSpent) {}
  }

  /** What its grain has computed when it was activated anew is another object, and the same. */
  @Test
  void whatStandsOtherwiseAndIsTheSameIsNotCompared() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    var comparisons = new AtomicInteger();
    try (var wired = new WiredNodes(far)) {
      var types = GrainTypes.create().add(Hop.class, HopGrain::new).add(Behind.class, this::behind);
      var node = wired.start(near, PATIENT, types);
      wired.start(far, PATIENT, types);
      wired.hosts = grain -> grain.type().endsWith("Behind") ? near : far;
      try (var computation = node.reactive(node.grains().get(Behind.class, "s")::end)) {
        var ends = computation.tracker();
        assertEquals("end", ends.next(SOON));
        var key = WiredNodes.key(node, Behind.class, "s", "end()");
        var cache = Objects.requireNonNull(node.caches.get(key));
        long epoch = Objects.requireNonNull(cache.version()).epoch();
        node.release(WiredNodes.part("s"));
        WiredNodes.await(
            "its next life",
            () ->
                Objects.requireNonNull(cache.version()).epoch() != epoch
                    && ends.freshness() == Freshness.CURRENT);
        Compared.before = comparisons::incrementAndGet;
        wired.connected = to -> false;
        node.linkBroken(far);
        WiredNodes.await("doubt", () -> ends.freshness() == Freshness.IN_DOUBT);
        assertEquals(0, comparisons.get());
      }
    }
  }

  /** What is pushed from now on is not delivered by itself. Others are told of the rest. */
  private static void holdPushes(
      WiredNodes wired, Collection<Message.Update> held, Consumer<Message> others) {
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Push push) {
            held.addAll(push.updates());
          } else {
            others.accept(message);
            wired.deliver(from, to, message);
          }
        };
  }

  private static Message.Update sent(
      Collection<Message.Update> updates, Predicate<Message.Update> which) {
    WiredNodes.await("a result", () -> updates.stream().anyMatch(which));
    return updates.stream().filter(which).findFirst().orElseThrow();
  }

  private static Cache cacheOf(NodeRuntime node, String hop) {
    return Objects.requireNonNull(node.caches.get(WiredNodes.key(node, Hop.class, hop, "end()")));
  }

  /** Whoever makes it is interrupted; and whoever makes the next one does something before. */
  record Rude(String text) {
    static final AtomicReference<Runnable> BEFORE = new AtomicReference<>(Rude::nothing);

    private static void nothing() {}

    Rude {
      BEFORE.getAndSet(Rude::nothing).run();
      if (text.equals("rude")) {
        Thread.currentThread().interrupt();
      }
    }
  }

  interface Speaker extends Grain {
    @ReadOnly
    Rude word();

    void say(String text);
  }

  private static Speaker speaker(GrainContext<String> context) {
    var said = context.state(String.class, "");
    return new Speaker() {
      @Override
      public Rude word() {
        return new Rude(said.get());
      }

      @Override
      public void say(String text) {
        said.set(text);
      }
    };
  }

  /** The JDK would close the connection that it reads. */
  @Test
  void whoDeliversMessagesIsNotInterruptedByWhatIsInThem() {
    var interrupted = new CompletableFuture<Boolean>();
    try (var wired = new WiredNodes(WiredNodes.id("b"))) {
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Push) {
              Thread.startVirtualThread(
                  () -> {
                    wired.deliver(from, to, message);
                    interrupted.complete(Thread.currentThread().isInterrupted());
                  });
            } else {
              wired.deliver(from, to, message);
            }
          };
      listen(
          wired,
          (speaker, words) -> {
            speaker.say("rude");
            assertEquals("rude", words.next(SOON));
            assertFalse(interrupted.orTimeout(20, TimeUnit.SECONDS).join());
          });
    }
  }

  /** Two nodes, of which the first reads what a speaker on the second says: nothing yet. */
  private static void listen(WiredNodes wired, BiConsumer<Speaker, ResultTracker<String>> test) {
    var types = GrainTypes.create().add(Speaker.class, WakeUpTest::speaker);
    var node = wired.start(WiredNodes.id("a"), PATIENT, types);
    wired.start(WiredNodes.id("b"), PATIENT, types);
    var speaker = node.grains().get(Speaker.class, "s");
    try (var computation = node.reactive(() -> speaker.word().text())) {
      var words = computation.tracker();
      assertEquals("", words.next(SOON));
      test.accept(speaker, words);
    }
  }

  /** What is made of it may take its time. */
  @Test
  void whoHasAReplyLeavesItsRoomToOthers() {
    var near = WiredNodes.id("a");
    var far = WiredNodes.id("b");
    try (var wired = new WiredNodes(far)) {
      var types = GrainTypes.create().add(Speaker.class, WakeUpTest::speaker);
      var node = wired.start(near, PATIENT.withMaxCallsInFlight(1), types);
      wired.start(far, PATIENT, types);
      var hurried = node.grains().withTimeout(Duration.ofSeconds(2)).get(Speaker.class, "s");
      var first = new AtomicBoolean(true);
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Reply && first.getAndSet(false)) {
              Rude.BEFORE.set(() -> hurried.say("other"));
            }
            wired.deliver(from, to, message);
          };
      assertEquals("", node.grains().get(Speaker.class, "s").word().text());
      assertEquals("other", hurried.word().text());
    }
  }

  /** It is no result of the operation's, and nobody sends the true one again by himself. */
  @Test
  void whatCouldNotBeReadForWantOfMemoryIsAskedForAgain() {
    try (var wired = new WiredNodes(WiredNodes.id("b"))) {
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Push) {
              Rude.BEFORE.set(
                  () -> {
                    throw new OutOfMemoryError("says the test");
                  });
            }
            wired.deliver(from, to, message);
          };
      listen(
          wired,
          (speaker, words) -> {
            speaker.say("next");
            WiredNodes.await("the push", () -> words.freshness() == Freshness.IN_DOUBT);
            wired.wire = wired::deliver;
            assertEquals("next", words.next(SOON));
            assertEquals(Freshness.CURRENT, words.freshness());
          });
    }
  }

  private static int depth(NodeRuntime node, String hop) {
    var summary = node.activations.summary(WiredNodes.key(node, Hop.class, hop, "end()"));
    return Objects.requireNonNull(summary).results().depth();
  }

  /** Who follows its list looks no further than at what is deep enough. */
  @Test
  void aListTellsHowDeepThatIsWhichIsRead() {
    var here = WiredNodes.id("a");
    try (var wired = new WiredNodes(here)) {
      var node = wired.start(here, PATIENT, GrainTypes.create().add(Hop.class, HopGrain::new));
      point(node, "a", "b", "5");
      point(node, "b", "1");
      point(node, "2", "1");
      point(node, "3", "2");
      point(node, "4", "3");
      point(node, "5", "4");
      try (var computation = node.reactive(node.grains().get(Hop.class, "a")::end)) {
        assertEquals("end", computation.tracker().next(SOON));
        var key = WiredNodes.key(node, Hop.class, "a", "end()").wire();
        var list = node.caches.retain(node.models.graph().readsOf(key), WiredNodes.NOBODY).cache();
        WiredNodes.await("its list", () -> depths(list).equals(List.of(2, 5)));
        point(node, "b", "3");
        WiredNodes.await("the other depth", () -> depths(list).equals(List.of(4, 5)));
      }
    }
  }

  private static List<Integer> depths(Cache list) {
    return Graph.Names.list(list.present()).stream().map(Graph.Read::depth).toList();
  }

  interface Slow extends Grain {
    @ReadOnly
    String text(String cell);
  }

  @Test
  void aSummaryWhoseCacheChangesDuringItsRunRunsAgain() {
    var here = WiredNodes.id("b");
    var entered = new CountDownLatch(1);
    Function<GrainContext<String>, Slow> slow =
        context ->
            cell -> {
              var text = context.grains().get(Cell.class, cell).text();
              entered.countDown();
              awaitOpen(atLast);
              return text;
            };
    try (var wired = new WiredNodes(here)) {
      var node = wired.start(here, PATIENT, TestGrains.types().add(Slow.class, slow));
      var cell = node.grains().get(Cell.class, "c");
      try (var watch = node.reactive(cell::text);
          var computation = node.reactive(() -> node.grains().get(Slow.class, "s").text("c"))) {
        var texts = watch.tracker();
        var results = computation.tracker();
        assertEquals("", texts.next(SOON));
        assertEquals(Optional.empty(), results.poll(Duration.ZERO));
        awaitOpen(entered);
        cell.set("new");
        assertEquals("new", texts.next(SOON));
        atLast.countDown();
        WiredNodes.await("the other result", () -> results.next(SOON).equals("new"));
      }
    }
  }
}
