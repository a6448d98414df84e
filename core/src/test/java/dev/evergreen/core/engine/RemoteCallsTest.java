package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.assertNames;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls to another node that is slow, not connected, or hands its grains off. */
@Timeout(60)
final class RemoteCallsTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");
  private static final int BOUND = 3;

  private final WiredNodes wired = new WiredNodes(B);

  @AfterEach
  void stop() {
    wired.close();
  }

  private NodeRuntime start(NodeId self) {
    return wired.start(
        self,
        WiredNodes.quick().withMaxCallsInFlight(BOUND).withStopGrace(Duration.ZERO),
        TestGrains.types().add(Slow.class, SlowGrain::new));
  }

  private static <T> CompletableFuture<T> aside(Supplier<T> body) {
    return CompletableFuture.supplyAsync(body, task -> Thread.ofVirtual().start(task));
  }

  private static Cell cell(Node node, String key) {
    return node.grains().get(Cell.class, key);
  }

  /** Holds calls back until they are asked for. */
  private LinkedBlockingQueue<Message> holdCalls() {
    var held = new LinkedBlockingQueue<Message>();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Call) {
            held.add(message);
          } else {
            wired.deliver(from, to, message);
          }
        };
    return held;
  }

  @Test
  void callsBeyondTheBoundWaitUntilOthersAreAnsweredAndAllGetThrough() throws Exception {
    var a = start(A);
    start(B);
    var held = holdCalls();
    int callers = 40;
    var answers = new ArrayList<CompletableFuture<Integer>>();
    for (int i = 0; i < callers; i++) {
      var target = cell(a, "c" + i);
      answers.add(aside(target::length));
    }
    await("the first calls", () -> held.size() == BOUND);
    for (int delivered = 0; delivered < callers; delivered++) {
      var call = held.take();
      assertTrue(held.size() < BOUND, "more calls were under way than are allowed");
      wired.deliver(A, B, call);
    }
    for (var answer : answers) {
      assertEquals(0, answer.get(20, TimeUnit.SECONDS));
    }
  }

  @Test
  void aCallThatFindsNoRoomInItsTimeSaysThatItDidNotStart() throws Exception {
    var a = start(A);
    start(B);
    var held = holdCalls();
    for (int i = 0; i < BOUND; i++) {
      var target = cell(a, "c" + i);
      var _ = aside(target::length);
    }
    await("the first calls", () -> held.size() == BOUND);
    var hurried = a.grains().withTimeout(Duration.ofMillis(20)).get(Cell.class, "hurried");
    var failure = assertThrows(NotStartedException.class, hurried::touch);
    assertNames(failure, BOUND + " calls to " + B);
    assertEquals(BOUND, held.size());
  }

  @Test
  void aCallThatAnOperationMakesDoesNotWaitForRoomThatMayWaitForIt() throws Exception {
    var a = start(A);
    start(B);
    wired.hosts = grain -> grain.key().startsWith("a") ? A : B;
    var held = holdCalls();
    for (int i = 0; i < BOUND; i++) {
      var target = cell(a, "c" + i);
      var _ = aside(target::length);
    }
    await("the first calls", () -> held.size() == BOUND);
    var sum = a.grains().get(Sum.class, "a");
    var joined = aside(() -> sum.joined(List.of("b")));
    await("the call of the operation", () -> held.size() == BOUND + 1);
    held.forEach(call -> wired.deliver(A, B, call));
    assertEquals("", joined.get(20, TimeUnit.SECONDS));
  }

  @Test
  void aWriteThatTheOthersDoNotConfirmIsNotAcknowledgedAndLoadedAgain() {
    var b = start(B);
    var cell = cell(b, "c");
    cell.set("first");
    wired.confirmed = false;
    var failure = assertThrows(StateNotSavedException.class, () -> cell.set("second"));
    assertNames(failure, "Cell/c");
    assertNames(failure, "unknown");
    // It was saved: nobody was told otherwise.
    assertEquals("second", cell.text());
    wired.confirmed = true;
    cell.set("third");
    assertEquals("third", cell.text());
  }

  @Test
  void callersWhoGaveUpLeaveTheirRoomToOthers() throws Exception {
    var a = start(A);
    start(B);
    wired.wire = (from, to, message) -> {};
    var hurried = a.grains().withTimeout(Duration.ofMillis(20)).get(Cell.class, "c");
    var calls = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 10 * BOUND; i++) {
      calls.add(
          CompletableFuture.runAsync(
              () -> assertThrows(GrainException.class, hurried::touch),
              task -> Thread.ofVirtual().start(task)));
    }
    for (var call : calls) {
      call.get(20, TimeUnit.SECONDS);
    }
    wired.wire = wired::deliver;
    assertEquals("", cell(a, "c").text());
  }

  /** Seen: the other node worked off all of them, though each had been told that it timed out. */
  @Test
  void callersWhoGaveUpLeaveNoCallToBegin() throws Exception {
    var a = start(A);
    var b = start(B);
    SlowGrain.hold();
    var slow = a.grains().get(Slow.class, "s");
    var holder = aside(() -> callUntilLetGo(slow));
    SlowGrain.entered.await();
    var hurried = a.grains().withTimeout(Duration.ofMillis(20)).get(Slow.class, "s");
    for (int i = 0; i < 10 * BOUND; i++) {
      assertThrows(GrainTimeoutException.class, () -> hurried.callWhenLetGo("c"));
    }
    var activation = b.activations.all().stream().findFirst().orElseThrow();
    assertEquals(0, activation.waiting());
    assertEquals(1, b.counts().calls());
    SlowGrain.go.countDown();
    holder.get(20, TimeUnit.SECONDS);
    await("the holder's end", () -> b.counts().calls() == 0);
  }

  /** Each was told that its outcome is unknown. */
  @Test
  void callersWhoseLinkBrokeLeaveNoCallToBegin() throws Exception {
    var a = start(A);
    var b = start(B);
    SlowGrain.hold();
    var slow = a.grains().get(Slow.class, "s");
    var holder =
        aside(() -> assertThrows(OutcomeUnknownException.class, () -> callUntilLetGo(slow)));
    SlowGrain.entered.await();
    var other =
        aside(() -> assertThrows(OutcomeUnknownException.class, () -> callUntilLetGo(slow)));
    var activation = b.activations.all().stream().findFirst().orElseThrow();
    await("the other waits", () -> activation.waiting() == 1);
    a.linkBroken(B);
    b.linkBroken(A);
    assertEquals(0, activation.waiting());
    holder.get(20, TimeUnit.SECONDS);
    other.get(20, TimeUnit.SECONDS);
    SlowGrain.go.countDown();
    await("the holder's end", () -> b.counts().calls() == 0);
  }

  private static boolean callUntilLetGo(Slow slow) {
    slow.callWhenLetGo("c");
    return true;
  }

  @Test
  void aCallWithoutAConnectionIsMadeOnceThereIsOneAWriteToo() throws Exception {
    var a = start(A);
    start(B);
    var refusals = new AtomicInteger();
    wired.connected = node -> !node.equals(B) || refusals.incrementAndGet() > 5;
    cell(a, "c").set("written");
    assertEquals("written", cell(a, "c").text());
  }

  @Test
  void anAnswerThatFindsNoRoomIsSentOnceThereIsSome() throws Exception {
    var a = start(A);
    start(B);
    var refusals = new AtomicInteger();
    wired.connected = node -> !node.equals(A) || refusals.incrementAndGet() > 5;
    cell(a, "c").set("written");
    assertEquals("written", cell(a, "c").text());
    assertTrue(refusals.get() > 5);
  }

  @Test
  void aComputationWithoutAConnectionGetsItsResultOnceThereIsOne() throws Exception {
    var a = start(A);
    start(B);
    var refusals = new AtomicInteger();
    wired.connected = node -> !node.equals(B) || refusals.incrementAndGet() > 5;
    try (var computation = a.reactive(() -> cell(a, "c").text())) {
      assertEquals("", computation.tracker().next(Duration.ofSeconds(20)));
    }
  }

  @Test
  void resultsOfANodeThatIsNotHeardOfAreInDoubtUntilItIs() throws Exception {
    var a = start(A);
    start(B);
    try (var computation = a.reactive(() -> cell(a, "c").text())) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next());
      wired.connected = node -> false;
      a.notHeardOf(B);
      await("doubt", () -> tracker.freshness() != Freshness.CURRENT);
      wired.connected = node -> true;
      await("the end of doubt", () -> tracker.freshness() == Freshness.CURRENT);
    }
  }

  /** Goes on after its activation was closed. */
  interface Slow extends Grain {
    void callWhenLetGo(String cell);
  }

  static final class SlowGrain implements Slow {
    static volatile CountDownLatch entered = new CountDownLatch(1);
    static volatile CountDownLatch go = new CountDownLatch(1);
    static volatile CompletableFuture<Exception> failure = new CompletableFuture<>();
    private final GrainContext<String> context;

    SlowGrain(GrainContext<String> context) {
      this.context = context;
    }

    /** The next call that enters waits until it is let go. */
    static void hold() {
      entered = new CountDownLatch(1);
      go = new CountDownLatch(1);
      failure = new CompletableFuture<>();
    }

    @Override
    public void callWhenLetGo(String cell) {
      entered.countDown();
      try {
        go.await();
        context.grains().get(Cell.class, cell).touch();
        failure.complete(new IllegalStateException("the call was made"));
      } catch (InterruptedException | GrainException e) {
        failure.complete(e);
      }
    }
  }

  @Test
  void aTurnThatGoesOnAfterItsGrainWasHandedOffMayCallNobody() throws Exception {
    SlowGrain.hold();
    var b = start(B);
    var slow = b.grains().get(Slow.class, "s");
    var call =
        aside(() -> assertThrows(OutcomeUnknownException.class, () -> slow.callWhenLetGo("c")));
    SlowGrain.entered.await();
    b.release(WiredNodes.part("s"));
    call.get(20, TimeUnit.SECONDS);
    SlowGrain.go.countDown();
    var failure = SlowGrain.failure.get(20, TimeUnit.SECONDS);
    assertNames(failure, "may call nobody");
    assertFalse(
        b.activations.all().stream().anyMatch(open -> open.id().key().equals("c")),
        "the call was made");
  }

  @Test
  void aCallThatIsTriedAgainIsNotMadeAfterItsCallersGrainWasHandedOff() throws Exception {
    SlowGrain.entered = new CountDownLatch(1);
    SlowGrain.go = new CountDownLatch(0);
    SlowGrain.failure = new CompletableFuture<>();
    wired.hosts = grain -> grain.key().equals("c") ? A : B;
    var tried = new AtomicInteger();
    wired.connected =
        to -> {
          tried.addAndGet(to.equals(A) ? 1 : 0);
          return !to.equals(A);
        };
    var a = start(A);
    var b = start(B);
    var slow = b.grains().get(Slow.class, "s");
    var call =
        aside(() -> assertThrows(OutcomeUnknownException.class, () -> slow.callWhenLetGo("c")));
    await("several attempts", () -> tried.get() > 2);
    b.release(WiredNodes.part("s"));
    call.get(20, TimeUnit.SECONDS);
    wired.connected = to -> true;
    assertNames(SlowGrain.failure.get(20, TimeUnit.SECONDS), "may call nobody");
    assertEquals(0, a.activations.size(), "the call was made");
  }
}
