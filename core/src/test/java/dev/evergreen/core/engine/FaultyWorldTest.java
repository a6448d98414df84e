package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.Node;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.Result;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.spi.Tracing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the world of a node throws, against its promises, is the affair of one and of no other. */
@Timeout(60)
final class FaultyWorldTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final AtomicInteger faults = new AtomicInteger();
  private final AtomicInteger renewals = new AtomicInteger();
  private volatile @Nullable Thread renewing;
  private volatile String disliked = "";
  private final WiredNodes wired = WiredNodes.observed(B, node -> new Observer());

  /** Does not like that a certain grain ends, nor what a test says. */
  private final class Observer implements NodeObserver {
    @Override
    public void deactivated(GrainId grain, String reason) {
      failIf(grain.key().equals("bad"));
    }

    @Override
    public Span activationBegins(GrainId grain) {
      failAt("an activation begins");
      return failure -> failAt("an activation ends");
    }

    @Override
    public Span loadBegins(GrainId grain) {
      failAt("a load begins");
      return failure -> failAt("a load ends");
    }

    @Override
    public Span saveBegins(GrainId grain, int bytes) {
      failAt("a save begins");
      return failure -> failAt("a save ends");
    }

    @Override
    public TurnSpan turnBegins(GrainId grain, String operation, boolean readOnly, long arrived) {
      failAt("a turn begins");
      return succeeded -> failAt("a turn ends");
    }

    @Override
    public void renewed(NodeId publisher, int caches) {
      renewals.incrementAndGet();
      renewing = Thread.currentThread();
    }

    @Override
    public void runScheduled() {
      failAt("a run is scheduled");
    }

    @Override
    public RunSpan runBegins() {
      failAt("a run begins");
      return (computation, taken, awaited, discarded) -> failAt("a run ends");
    }

    @Override
    public void callEnded(long nanos, @Nullable Exception failure) {
      failAt("a call ends");
    }

    @Override
    public void pushedHere() {
      failAt("a result is pushed here");
    }

    @Override
    public void subscribed() {
      failAt("a cache subscribes");
    }

    @Override
    public void firstResultSent(NodeId to) {
      failAt("a first result is sent");
    }

    @Override
    public void batchSent(NodeId to, int results) {
      failAt("a batch is sent");
    }

    @Override
    public void batchAcknowledged(int results) {
      failAt("a batch is acknowledged");
    }

    @Override
    public void batchReceived(int results) {
      failAt("a batch is received");
    }

    private void failAt(String moment) {
      failIf(disliked.equals(moment));
    }

    private void failIf(boolean fails) {
      if (fails) {
        faults.incrementAndGet();
        throw new IllegalStateException("an observer with a fault");
      }
    }
  }

  /** Traces every call, and does not like what a test says. */
  private final class Tracer implements Tracing {
    @Override
    public Tracing.Span call(@Nullable TraceContext inside, GrainId grain, String operation) {
      return begun("a call");
    }

    @Override
    public Tracing.Span turn(TraceContext caller, GrainId grain, String operation) {
      return begun("a turn");
    }

    @Override
    public Tracing.Span run(TraceContext cause, String computation) {
      return begun("a run");
    }

    private Tracing.Span begun(String what) {
      failAt(what + " begins");
      return new Tracing.Span() {
        @Override
        public TraceContext context() {
          failAt(what + " is told of");
          return new TraceContext(what, "");
        }

        @Override
        public void end(@Nullable String failure) {
          failAt(what + " ends");
        }
      };
    }

    private void failAt(String moment) {
      if (disliked.equals(moment)) {
        faults.incrementAndGet();
        throw new AssertionError("a tracer with a fault");
      }
    }
  }

  @AfterEach
  void stop() {
    wired.wire = wired::deliver;
    wired.close();
  }

  /** The first message of a kind fails. */
  private void failFirst(Predicate<Message> kind, boolean byError) {
    wired.wire =
        (from, to, message) -> {
          if (kind.test(message)) {
            failFirst("a link", byError);
          }
          wired.deliver(from, to, message);
        };
  }

  private void failFirst(String what, boolean byError) {
    if (faults.getAndIncrement() == 0) {
      if (byError) {
        throw new AssertionError(what + " with a fault");
      }
      throw new IllegalStateException(what + " with a fault");
    }
  }

  @Test
  void aGrainThatDoesNotCloseKeepsNoOtherFromClosing() {
    var node = wired.start(B, WiredNodes.quick());
    var keys = IntStream.range(0, 64).mapToObj(i -> "good" + i);
    Stream.concat(Stream.of("bad"), keys).forEach(key -> node.grains().get(Cell.class, key).text());
    node.activations.closeNow(node.activations.all(), "the test wants it");
    assertEquals(1, faults.get());
    assertEquals(0, node.activations.size());
  }

  @Test
  void whoWaitsForAGrainThatDoesNotCloseIsToldOfItsEnd() throws Exception {
    var node = wired.start(B, WiredNodes.quick());
    GateGrain.shut();
    var write =
        CompletableFuture.supplyAsync(
            () -> node.grains().get(Gate.class, "bad").writeWhenOpen(), Thread::startVirtualThread);
    GateGrain.entered.await();
    node.activations.closeNow(node.activations.all(), "the test wants it");
    var failure = assertThrows(ExecutionException.class, () -> write.get(20, TimeUnit.SECONDS));
    var cause = Objects.requireNonNull(failure.getCause());
    assertEquals(OutcomeUnknownException.class, cause.getClass(), "no time-out");
    assertEquals(1, faults.get());
    GateGrain.open.countDown();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "an activation begins",
        "an activation ends",
        "a load begins",
        "a load ends",
        "a save begins",
        "a save ends",
        "a turn begins",
        "a turn ends",
        "a run is scheduled",
        "a run begins",
        "a run ends",
        "a call ends",
        "a result is pushed here",
        "a cache subscribes",
        "a first result is sent",
        "a batch is sent",
        "a batch is acknowledged",
        "a batch is received"
      })
  void anObserverThatFailsChangesNothing(String moment) {
    disliked = moment;
    assertAllGoesOn();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a call begins",
        "a call is told of",
        "a call ends",
        "a turn begins",
        "a turn is told of",
        "a turn ends",
        "a run begins",
        "a run ends"
      })
  void aTracerThatFailsChangesNothing(String moment) {
    wired.tracing = new Tracer();
    disliked = moment;
    assertAllGoesOn();
  }

  @Test
  void aTracerThatFailsIsLoggedOnce() {
    var log = new Log(false);
    wired.tracing = new Tracer();
    disliked = "a turn ends";
    try (log) {
      assertAllGoesOn();
    }
    // By each of the two nodes.
    assertEquals(2, log.warnings.get());
  }

  @Test
  void aLogThatFailsKeepsNoTurnFromEnding() {
    disliked = "a turn ends";
    try (var log = new Log(true)) {
      assertAllGoesOn();
      assertTrue(log.warnings.get() > 0);
    }
  }

  @Test
  void aLogThatFailsKeepsNoRunFromEnding() {
    var node = wired.start(B, WiredNodes.quick());
    var cell = node.grains().get(Cell.class, "c");
    try (var log = new Log(true);
        var computation =
            node.reactive(
                cell::text,
                (x, y) -> {
                  throw new IllegalStateException("a comparer with a fault");
                })) {
      var results = computation.tracker();
      assertEquals("", results.next(SOON));
      cell.set("text");
      assertEquals("text", results.next(SOON));
      assertTrue(log.warnings.get() > 0);
    }
  }

  @Test
  void aLogThatFailsKeepsNoTimerFromGoingOn() {
    TickingGrain.ticks.set(0);
    var types = TestGrains.types().add(Ticking.class, TickingGrain::new);
    var node = wired.start(B, WiredNodes.quick(), types);
    try (var log = new Log(true)) {
      node.grains().get(Ticking.class, "t").start();
      await("another time", () -> TickingGrain.ticks.get() > 1);
      assertTrue(log.warnings.get() > 0);
    }
  }

  /** Has a timer that fails. */
  interface Ticking extends Grain {
    void start();
  }

  static final class TickingGrain implements Ticking {
    static final AtomicInteger ticks = new AtomicInteger();
    private final GrainContext<String> context;

    TickingGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public void start() {
      var often = Duration.ofMillis(1);
      context.timer(
          "tick",
          often,
          often,
          () -> {
            ticks.incrementAndGet();
            throw new IllegalStateException("a timer with a fault");
          });
    }
  }

  /** Counts what the nodes log while it is open. */
  private static final class Log extends Handler implements AutoCloseable {
    private final Logger nodes = Logger.getLogger(Node.class.getPackageName());
    private final AtomicInteger warnings = new AtomicInteger();
    private final boolean fails;

    Log(boolean fails) {
      this.fails = fails;
      nodes.addHandler(this);
    }

    @Override
    public void publish(LogRecord record) {
      warnings.incrementAndGet();
      if (fails) {
        throw new IllegalStateException("a log with a fault");
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      nodes.removeHandler(this);
    }
  }

  /** Calls and computations here and across nodes, which some part of the world does not like. */
  private void assertAllGoesOn() {
    var settings = WiredNodes.quick().withCallTimeout(Duration.ofSeconds(5));
    var a = wired.start(A, settings);
    var b = wired.start(B, settings);
    for (var node : List.of(a, b)) {
      // One of its own, of which no cache holds an earlier result.
      var key = node == a ? "c" : "e";
      var cell = node.grains().get(Cell.class, key);
      try (var computation =
          node.reactive(() -> node.grains().get(Sum.class, "s").joined(List.of(key, "d")))) {
        var results = computation.tracker();
        assertEquals(",", results.next(SOON));
        cell.set("text");
        assertEquals("text,", results.next(SOON));
        cell.set("more");
        assertEquals("more,", results.next(SOON));
      }
      assertEquals("more", cell.text());
    }
    assertTrue(faults.get() > 0);
    assertEquals(List.of(), wired.escaped());
  }

  @Test
  void aFarewellThatFailsIsNotTheLast() {
    var a = wired.start(A, WiredNodes.quick());
    var b = wired.start(B, WiredNodes.quick());
    failFirst(Message.Unsubscribe.class::isInstance, false);
    for (var key : List.of("one", "two")) {
      try (var computation = a.reactive(a.grains().get(Cell.class, key)::text)) {
        assertEquals("", computation.tracker().next(SOON));
      }
      await("the end of the cache of " + key, () -> a.caches.size() == 0);
    }
    await("two farewells", () -> faults.get() == 2);
    await("the end of one", () -> b.counts().summaries() == 1);
  }

  @Test
  void aRenewalThatFailsIsNotTheLast() {
    var a = wired.start(A, WiredNodes.quick().withRenewEvery(Duration.ofMillis(20)));
    wired.start(B, WiredNodes.quick());
    wired.whenTimeIsAsked =
        () -> {
          if (Thread.currentThread().equals(renewing)) {
            failFirst("a clock", false);
          }
        };
    try (var computation = a.reactive(a.grains().get(Cell.class, "c")::text)) {
      assertEquals("", computation.tracker().next(SOON));
      await("the failure of one", () -> faults.get() > 0);
      int before = renewals.get();
      await("the next", () -> renewals.get() > before);
    }
  }

  /** Says what a result is, but not the first time. */
  private final class Shy implements Outboxes.Recipient {
    private final SummaryKey name;

    Shy(SummaryKey name) {
      this.name = name;
    }

    @Override
    public NodeId node() {
      return B;
    }

    @Override
    public long takeRequest() {
      return 0;
    }

    @Override
    public Message.Update update() {
      failFirst("a result", true);
      var outcome = new Message.Answer.Threw(new Failure("shy", null, null, List.of()));
      return new Message.Update(name, 1, new Message.Version(1, 1), outcome, 0, false, true, null);
    }
  }

  @Test
  void aResultThatCannotBeToldComesAgainAndKeepsNoOther() {
    var a = wired.start(A, WiredNodes.quick());
    var pushed = new CopyOnWriteArrayList<SummaryKey>();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Push(var batch, var updates)) {
            updates.forEach(update -> pushed.add(update.key()));
            a.receive(B, new Message.PushAck(batch));
          }
        };
    var first = WiredNodes.key(a, Cell.class, "c", "text()").wire();
    var second = WiredNodes.key(a, Cell.class, "d", "text()").wire();
    a.outboxes.send(new Shy(first));
    a.outboxes.send(new Shy(second));
    await("both", () -> Set.copyOf(pushed).equals(Set.of(first, second)));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFirstQuestionThatFailsIsAskedAgainAndLeavesNothing(boolean byError) {
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    failFirst(Message.Subscribe.class::isInstance, byError);
    try (var computation = a.reactive(a.grains().get(Cell.class, "c")::text)) {
      assertEquals("", computation.tracker().next(SOON));
    }
    await("the end of the cache", () -> a.caches.size() == 0);
    assertTrue(faults.get() > 1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aPlaceThatCannotBeToldIsAskedForAgain(boolean byError) {
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    wired.hosts =
        grain -> {
          failFirst("a placement", byError);
          return B;
        };
    try (var computation = a.reactive(a.grains().get(Cell.class, "c")::text)) {
      assertEquals("", computation.tracker().next(SOON));
    }
    await("the end of the cache", () -> a.caches.size() == 0);
  }

  @Test
  void aCallIsAnsweredWhereThePlaceCannotBeTold() {
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    var cell = a.grains().get(Cell.class, "c");
    var askedBy = new AtomicInteger();
    wired.hosts =
        grain -> {
          // By the caller whether it is there itself, and where it is; then by who is called.
          if (askedBy.getAndIncrement() == 2) {
            throw new AssertionError("a placement with a fault");
          }
          return B;
        };
    assertThrows(GrainFailureException.class, cell::text);
  }

  @Test
  void aSubscriberThatFailsIsToldOfTheEnd() throws Exception {
    var node = wired.start(B, WiredNodes.quick());
    var told = new CompletableFuture<Throwable>();
    try (var computation = node.reactive(() -> 7)) {
      computation
          .publisher()
          .subscribe(
              new Flow.Subscriber<>() {
                @Override
                public void onSubscribe(Flow.Subscription subscription) {
                  subscription.request(1);
                }

                @Override
                public void onNext(Result<Integer> result) {
                  throw new AssertionError("a subscriber with a fault");
                }

                @Override
                public void onError(Throwable failure) {
                  told.complete(failure);
                }

                @Override
                public void onComplete() {}
              });
      assertEquals(AssertionError.class, told.get(20, TimeUnit.SECONDS).getClass());
    }
  }

  @Test
  void aQuestionOfAFenceThatFailsIsAskedAgain() {
    wired.hosts = grain -> grain.type().endsWith("Cell") ? A : B;
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    var sum = a.grains().get(Sum.class, "s");
    var cell = a.grains().get(Cell.class, "c");
    try (var computation = a.reactive(() -> sum.joined(List.of("c")))) {
      computation.tracker().next(SOON);
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Settle
                && to.equals(A)
                && faults.getAndIncrement() == 0) {
              throw new IllegalStateException("a link with a fault");
            }
            wired.deliver(from, to, message);
          };
      assertEquals("x", computation.after(() -> cell.set("x"), SOON));
    }
    assertTrue(faults.get() > 1);
  }
}
