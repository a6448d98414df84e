package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.State;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Held;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.work.Baton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Orders of events that hurt once, forced by holding a thread where it asks its world something.
 */
@Timeout(60)
class InterleavingTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final WiredNodes wired = new WiredNodes(A);

  @AfterEach
  void stop() {
    wired.close();
  }

  private NodeRuntime start(NodeId self) {
    return wired.start(
        self,
        WiredNodes.quick(),
        TestGrains.types().add(Relay.class, RelayGrain::new).add(Odd.class, OddGrain::new));
  }

  /** Runs on a thread of its own, since it blocks. */
  private static <T> CompletableFuture<T> aside(Supplier<T> body) {
    return CompletableFuture.supplyAsync(body, task -> Thread.ofPlatform().start(task));
  }

  private static Cell cell(Node node, String key) {
    return node.grains().get(Cell.class, key);
  }

  // Calls

  @Test
  void noCallIsTakenForARepeatedOneWhenManyAreMadeAtOnce() throws Exception {
    wired.hosts = grain -> B;
    var a = start(A);
    start(B);
    var failures = new CopyOnWriteArrayList<Throwable>();
    var threads = new ArrayList<Thread>();
    for (int t = 0; t < 8; t++) {
      var cell = a.grains().withTimeout(Duration.ofSeconds(5)).get(Cell.class, "c" + t);
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      for (int i = 0; i < 4_000; i++) {
                        cell.text();
                      }
                    } catch (GrainException e) {
                      failures.add(e);
                    }
                  }));
    }
    for (var thread : threads) {
      thread.join();
    }
    assertEquals(List.of(), failures);
  }

  /**
   * Who gave it up first comes last to where idle caches are kept, and thinks its grace is spent.
   */
  @Test
  void aCacheThatTwoGaveUpAtOnceIsClosed() {
    var a =
        wired.start(
            A,
            WiredNodes.quick().withCacheGrace(Duration.ofMillis(200)),
            TestGrains.types().add(Relay.class, RelayGrain::new));
    try (var text = a.reactive(() -> cell(a, "c").text())) {
      assertEquals("", text.tracker().next());
    }
    var cache = a.caches.all().iterator().next();
    await("that nobody reads it", () -> cache.readers() == 0);
    a.caches.idle(cache, true);
    await("the end of the cache", () -> a.caches.size() == 0);
  }

  @Test
  void aCallThatIsRefusedAsACycleLeavesItsTargetUsable() {
    var a = start(A);
    var text = WiredNodes.key(a, Cell.class, "c", "text()");
    var same = new Message.Hop(text.grain(), "text", text.digest(), true, 1, 1);
    var sum = a.models.model(Sum.class);
    var joined = Objects.requireNonNull(sum.operation("joined(java.util.List)"));
    var call = new CallKey(sum, sum.id("s"), joined, new Object[] {List.of("c")});
    wired.wire = (from, to, message) -> {};
    a.receive(
        B,
        new Message.Call(
            1,
            1,
            call.grain(),
            joined.signature(),
            call.encodedArguments(),
            true,
            List.of(same),
            0,
            null));
    wired.awaitNoThreads();
    assertEquals("", cell(a, "c").text());
  }

  @Test
  void aCallThatANodesEndOvertakesFailsAtOnce() {
    var a = start(A);
    wired.hosts =
        grain -> {
          a.fence("of a test");
          return B;
        };
    var cell = cell(a, "c");
    var call = aside(cell::text);
    var failure = assertThrows(ExecutionException.class, () -> call.get(3, TimeUnit.SECONDS));
    assertInstanceOf(NodeStoppedException.class, failure.getCause());
  }

  @Test
  void aTrackerThatANodesEndOvertakesSaysWhyTheNodeHasStopped() {
    var a = start(A);
    var cell = cell(a, "c");
    var tracker = a.reactive(cell::text).tracker();
    tracker.next();
    a.fence("the others regard it as dead");
    var failure = assertThrows(NodeStoppedException.class, tracker::next);
    assertTrue(
        String.valueOf(failure.getMessage()).contains("the others regard it as dead"),
        failure::getMessage);
  }

  // Activations

  /** Calls others and is called back. */
  interface Relay extends Grain {
    @ReadOnly
    String askOther(String other, Duration patience);

    @ReadOnly
    String askBackWhenTold(String back);

    @ReadOnly
    String text();

    String setAndFailWhenTold(String text);
  }

  static final class RelayGrain implements Relay {
    static volatile CountDownLatch reached = new CountDownLatch(0);
    static volatile CountDownLatch told = new CountDownLatch(0);
    static final List<String> ANSWERS = new CopyOnWriteArrayList<>();

    private final Grains grains;
    private final State<Held> state;

    RelayGrain(GrainContext<String> context) {
      grains = context.grains();
      state = context.state(Held.class, new Held(""));
    }

    static void prepare() {
      reached = new CountDownLatch(1);
      told = new CountDownLatch(1);
      ANSWERS.clear();
    }

    static void hold() {
      reached.countDown();
      try {
        assertTrue(told.await(20, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public String askOther(String other, Duration patience) {
      return grains.withTimeout(patience).get(Relay.class, other).askBackWhenTold("one");
    }

    @Override
    public String askBackWhenTold(String back) {
      hold();
      var answer = grains.get(Relay.class, back).text();
      ANSWERS.add(answer);
      return answer;
    }

    @Override
    public String text() {
      return state.get().text();
    }

    @Override
    public String setAndFailWhenTold(String text) {
      state.set(new Held(text));
      grains.get(Gate.class, "g").readWhenOpen();
      throw new IllegalArgumentException(text);
    }
  }

  private static Relay relay(Node node, String key) {
    return node.grains().get(Relay.class, key);
  }

  @Test
  void aReadOnBehalfOfAnEndedTurnSeesNothingOfAWriteUnderWay() throws Exception {
    var a = start(A);
    RelayGrain.prepare();
    assertThrows(
        GrainTimeoutException.class, () -> relay(a, "one").askOther("two", Duration.ofMillis(20)));
    GateGrain.shut();
    var write = aside(() -> relay(a, "one").setAndFailWhenTold("unsaved"));
    GateGrain.entered.await();
    RelayGrain.told.countDown();
    var outside = aside(() -> relay(a, "one").text());
    // The read either is wrongly admitted now, or is in the queue: both are over soon.
    await("the read", () -> !RelayGrain.ANSWERS.isEmpty() || waits(a, "one", 2));
    GateGrain.open.countDown();
    assertThrows(Exception.class, write::get);
    assertEquals("", outside.get(20, TimeUnit.SECONDS));
    await("the answer", () -> !RelayGrain.ANSWERS.isEmpty());
    assertEquals(List.of(""), RelayGrain.ANSWERS);
  }

  private static boolean waits(NodeRuntime node, String key, int turns) {
    var activation = node.activations.get(node.models.model(Relay.class).id(key));
    return activation != null && activation.waiting() >= turns;
  }

  @Test
  void aTurnThatRunsWhileItsGrainIsHandedOffMayComeBackToIt() throws Exception {
    var a = start(A);
    RelayGrain.prepare();
    var call = aside(() -> relay(a, "one").askOther("two", Duration.ofSeconds(9)));
    RelayGrain.reached.await();
    var handOff =
        aside(
            () -> {
              a.release(WiredNodes.part("one"));
              return "handed off";
            });
    await(
        "the hand-off",
        () -> {
          try {
            a.grains().withTimeout(Duration.ofMillis(1)).get(Relay.class, "one").text();
            return false;
          } catch (GrainTimeoutException e) {
            return false;
          } catch (NotStartedException e) {
            return true;
          }
        });
    RelayGrain.told.countDown();
    assertEquals("", call.get(3, TimeUnit.SECONDS), "within the time that the hand-off grants");
    handOff.get(20, TimeUnit.SECONDS);
  }

  @Test
  void onlyTheGrainsOfThePartThatIsHandedOffAreClosed() {
    var a = start(A);
    cell(a, "c").text();
    cell(a, "d").text();
    a.release(WiredNodes.part("c"));
    assertEquals(List.of("d"), a.activations.all().stream().map(open -> open.id().key()).toList());
  }

  @Test
  void severalNodesThatAreGoneTogetherLeaveNoSubscriptions() {
    var a = start(A);
    var others = List.of(start(B), start(WiredNodes.id("c")));
    for (var other : others) {
      assertEquals("", other.reactive(cell(other, "x")::text).tracker().next(SOON));
    }
    assertEquals(2, a.counts().subscriptions());
    a.nodesRemoved(Set.of(B, WiredNodes.id("c")));
    assertEquals(0, a.counts().subscriptions());
    assertEquals(0, a.counts().summaries());
  }

  /** It is removed before the outbox for it is made. */
  @Test
  void aResultForANodeThatIsBeingRemovedLeavesNoOutbox() {
    var a = start(A);
    a.outboxes.send(
        WiredNodes.withoutResult(
            () -> {
              a.nodesRemoved(Set.of(B));
              return B;
            }));
    wired.awaitNoThreads();
    assertEquals(Map.of(), a.outboxes.lengths());
  }

  /** Nobody else would ask for that. */
  @Test
  void whatHasMovedIsToldAlsoIfTheThreadEndsThatWaitsForALine() {
    var a = start(A);
    var b = start(B);
    var told = new CountDownLatch(1);
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Moved) {
            told.countDown();
          }
          wired.deliver(from, to, message);
        };
    assertEquals("", b.reactive(cell(b, "c")::text).tracker().next(SOON));
    var tellers = new CopyOnWriteArrayList<Thread>();
    var test = Thread.currentThread();
    wired.connected =
        node ->
            node.equals(A)
                || (Thread.currentThread() != test && !tellers.add(Thread.currentThread()));
    a.release(WiredNodes.everything());
    await("that it is tried again", () -> tellers.size() > 1);
    var teller = tellers.getLast();
    await(
        "the end of who waits",
        () -> {
          if (teller.getState() == Thread.State.TIMED_WAITING) {
            teller.interrupt();
          }
          return !teller.isAlive();
        });
    wired.connected = node -> true;
    await("that it is told", () -> told.getCount() == 0);
  }

  @Test
  void noActivationIsMadeBehindAHandOff() {
    var a = start(A);
    start(B);
    var once = new AtomicBoolean();
    wired.whenAsked =
        () -> {
          if (once.compareAndSet(false, true)) {
            wired.hosts = grain -> B;
            a.release(WiredNodes.everything());
          }
        };
    assertEquals("", cell(a, "c").text());
    assertEquals(0, a.counts().activations());
  }

  @Test
  void aNodeIsClosedByAnInterruptedThreadToo() throws Exception {
    var a =
        wired.start(A, WiredNodes.quick().withStopGrace(Duration.ofMillis(50)), TestGrains.types());
    GateGrain.shut();
    var write = aside(() -> a.grains().get(Gate.class, "g").writeWhenOpen());
    GateGrain.entered.await();
    Thread.currentThread().interrupt();
    a.close();
    assertTrue(Thread.interrupted(), "the interruption is kept");
    assertTrue(a.lifetime.stopped());
    GateGrain.open.countDown();
    var unknown = assertThrows(ExecutionException.class, () -> write.get(20, TimeUnit.SECONDS));
    assertInstanceOf(OutcomeUnknownException.class, unknown.getCause());
  }

  // Summaries and caches

  @Test
  void aReaderThatGivesUpAsTheAnswerArrivesTakesTheAnswer() {
    var a = start(A);
    var cache = new Cache(a.caches, WiredNodes.key(a, Cell.class, "c", "text()"));
    var answer = new Outcome.Returned("x");
    var reader = ((LiveComputation<Integer>) a.reactive(() -> 1)).root();
    var edge = Objects.requireNonNull(cache.retain(reader));
    var version = new Message.Version(1, 1);
    cache.install(new Cache.Update(cache.wish(B), version, answer, 1, false, false, null));
    assertEquals(
        answer, cache.goOnWithout(edge, Outcome.Threw.of(new GrainTimeoutException("too late"))));
    assertFalse(edge.inDoubt());
  }

  @Test
  void aCacheThatIsClosedWhileItSubscribesLeavesNoSubscription() {
    var a = start(A);
    var computation = a.reactive(() -> cell(a, "c").text());
    assertEquals("", computation.tracker().next(SOON));
    var once = new AtomicBoolean();
    wired.whenAsked =
        () -> {
          if (once.compareAndSet(false, true)) {
            computation.close();
            await("the end of the cache", () -> a.caches.size() == 0);
          }
        };
    a.release(WiredNodes.everything());
    await("the renewed subscription", once::get);
    wired.awaitNoThreads();
    assertEquals(0, a.counts().subscriptions());
    assertEquals(0, a.counts().summaries());
  }

  @Test
  void anAcknowledgementLetsTheNextResultGoAtOnce() {
    wired.hosts = grain -> B;
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.PushAck) {
            Thread.startVirtualThread(() -> wired.deliver(from, to, message));
          } else {
            wired.deliver(from, to, message);
          }
        };
    var patient = WiredNodes.quick().withPushRetryAfter(Duration.ofHours(1));
    wired.start(B, patient);
    var a = wired.start(A, patient);
    var results = a.reactive(cell(a, "c")::text).tracker();
    assertEquals("", results.next(SOON));
    for (int i = 0; i < 50; i++) {
      var text = "text " + i;
      cell(a, "c").set(text);
      assertEquals(text, results.next(SOON));
    }
  }

  /** The walk along all caches has passed by the place of the new one, and finds no other. */
  @Test
  void aCacheThatSubscribesWhileOthersAreRenewedIsRenewedToo() {
    wired.hosts = grain -> grain.key().equals("here") ? A : B;
    var renewed = new AtomicInteger();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Subscribe asked
              && asked.subscriptions().stream().anyMatch(one -> one.have() != null)) {
            renewed.incrementAndGet();
          }
          wired.deliver(from, to, message);
        };
    start(B);
    var settings = WiredNodes.quick().withRenewEvery(Duration.ofMillis(200));
    var a = wired.start(A, settings, TestGrains.types());
    int place = place(a, "here");
    var before = keyWhere(key -> place(a, key) < place);
    var after = keyWhere(key -> place(a, key) > place);
    var here = a.reactive(cell(a, "here")::text);
    here.tracker().next(SOON);
    var last = a.reactive(cell(a, after)::text);
    last.tracker().next(SOON);
    var cache = Objects.requireNonNull(a.caches.get(textOf(a, "here")));
    var threads = new CopyOnWriteArrayList<Thread>();
    synchronized (cache) {
      wired.whenStarted = threads::add;
      last.close();
      await("the end of the last remote cache", () -> a.caches.size() == 1);
      await(
          "the renewal",
          () -> threads.stream().anyMatch(thread -> thread.getState() == Thread.State.BLOCKED));
      a.reactive(cell(a, before)::text).tracker().next(SOON);
      renewed.set(0);
    }
    await("its renewal", () -> renewed.get() > 0);
  }

  /** Where a cache is in a small table. */
  private static int place(NodeRuntime node, String key) {
    int hash = textOf(node, key).hashCode();
    return (hash ^ (hash >>> 16)) & 15;
  }

  private static CallKey textOf(NodeRuntime node, String key) {
    return WiredNodes.key(node, Cell.class, key, "text()");
  }

  private static String keyWhere(Predicate<String> holds) {
    return IntStream.range(0, 1_000).mapToObj(i -> "" + i).filter(holds).findFirst().orElseThrow();
  }

  @Test
  void anUnwantedPushEndsTheSubscriptionThatItCameFromAndNoLaterOne() {
    var a = start(A);
    var sent = new CopyOnWriteArrayList<Message>();
    wired.wire = (from, to, message) -> sent.add(message);
    var key = new SummaryKey(a.models.model(Cell.class).id("c"), "text()", new byte[0]);
    a.caches.nextGeneration();
    a.caches.nextGeneration();
    a.receive(
        B,
        new Message.Push(
            1,
            List.of(
                new Message.Update(
                    key,
                    1,
                    new Message.Version(1, 1),
                    new Message.Answer.NotStarted("", true),
                    1,
                    false,
                    false,
                    null))));
    assertTrue(
        sent.contains(new Message.Unsubscribe(List.of(new Message.Subscription(key, 1, null)))),
        () -> "sent " + sent);
  }

  @Test
  void anInterruptedReaderIsNoResultForTheOthers() throws Exception {
    var a = start(A);
    GateGrain.shut();
    var computation = a.reactive(() -> a.grains().get(Gate.class, "g").readWhenOpen());
    var seen = new CompletableFuture<Throwable>();
    var reader =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    computation.tracker().next();
                    seen.complete(new AssertionError("there is no result"));
                  } catch (RuntimeException e) {
                    seen.complete(e);
                  }
                });
    GateGrain.entered.await();
    reader.interrupt();
    assertEquals(CallInterruptedException.class, seen.get(20, TimeUnit.SECONDS).getClass());
    GateGrain.open.countDown();
    assertEquals("read", computation.tracker().next(SOON));
  }

  // User code that misbehaves

  /** Never the same, and says so by an exception. */
  static final class Broken implements BiPredicate<Object, Object> {
    @Override
    public boolean test(Object a, Object b) {
      throw new IllegalStateException("a broken comparer");
    }
  }

  /** Whose message cannot be read. */
  static final class Mute extends RuntimeException {
    @Override
    public String getMessage() {
      throw new IllegalStateException("no message");
    }
  }

  /** Misbehaves. */
  interface Odd extends Grain {
    @ReadOnly
    @SameBy(Broken.class)
    String text();

    @ReadOnly
    String mute();

    void set(String text);
  }

  static final class OddGrain implements Odd {
    private final State<Held> state;

    OddGrain(GrainContext<String> context) {
      state = context.state(Held.class, new Held(""));
      if (context.key().equals("mute")) {
        throw new Mute();
      }
    }

    @Override
    public String text() {
      return state.get().text();
    }

    @Override
    public String mute() {
      throw new Mute();
    }

    @Override
    public void set(String text) {
      state.set(new Held(text));
    }
  }

  @Test
  void aComparerThatThrowsHoldsNoResultUp() {
    var a = start(A);
    var odd = a.grains().get(Odd.class, "o");
    try (var plain = a.reactive(odd::text);
        var compared = a.reactive(odd::text, (x, y) -> new Broken().test(x, y))) {
      var first = plain.tracker();
      var second = compared.tracker();
      assertEquals("", first.next(SOON));
      assertEquals("", second.next(SOON));
      for (var text : List.of("x", "y")) {
        odd.set(text);
        assertEquals(text, first.next(SOON));
        assertEquals(text, second.next(SOON));
      }
    }
    assertEquals(List.of(), wired.escaped());
  }

  @Test
  void anExceptionThatCannotBeReadEndsItsTurnLikeAnyOther() {
    var a = start(A);
    var odd = a.grains().get(Odd.class, "o");
    assertThrows(Mute.class, () -> odd.mute());
    odd.set("x");
    assertEquals("x", odd.text());
    assertThrows(ActivationException.class, () -> a.grains().get(Odd.class, "mute").text());
    assertEquals(List.of(), wired.escaped());
  }

  // The baton

  @Test
  void anInterruptedThreadWaitsForTheBatonWithoutSpinning() throws Exception {
    var parks = new AtomicInteger();
    try (var time = RealTime.create()) {
      var baton = new Baton(countingParks(time, parks));
      baton.acquire();
      var kept = new CompletableFuture<Boolean>();
      var waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    baton.acquire();
                    kept.complete(Thread.currentThread().isInterrupted());
                    baton.release();
                  });
      await("the waiter", () -> parks.get() == 1);
      waiter.interrupt();
      await("the waiter", () -> parks.get() > 1 && waiter.getState() == Thread.State.WAITING);
      assertTrue(parks.get() < 10, () -> "parked " + parks + " times");
      baton.release();
      assertTrue(kept.get(20, TimeUnit.SECONDS), "the interruption is kept");
    }
  }

  private static Threads countingParks(RealTime time, AtomicInteger parks) {
    return new Threads() {
      @Override
      public Thread start(Runnable task) {
        return time.start(task);
      }

      @Override
      public void park() {
        parks.incrementAndGet();
        time.park();
      }

      @Override
      public void parkNanos(long nanos) {
        time.parkNanos(nanos);
      }

      @Override
      public void unpark(Thread thread) {
        time.unpark(thread);
      }
    };
  }
}
