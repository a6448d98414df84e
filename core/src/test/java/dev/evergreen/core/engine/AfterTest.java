package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Results that reflect a write, here and across nodes. */
@Timeout(60)
class AfterTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final WiredNodes wired = new WiredNodes(A);

  @AfterEach
  void stop() {
    wired.close();
  }

  private NodeRuntime start(NodeId id) {
    return wired.start(id, WiredNodes.quick());
  }

  /** A sum on the first node, cells on the second. */
  private NodeRuntime startBoth() {
    wired.hosts = grain -> grain.type().endsWith("Cell") ? B : A;
    start(B);
    return start(A);
  }

  @Test
  void aResultReflectsTheWriteBefore() {
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::text)) {
      for (int i = 0; i < 1_000; i++) {
        var text = "text " + i;
        assertEquals(text, computation.after(() -> cell.set(text), SOON));
      }
    }
  }

  @Test
  void alsoThroughOtherGrainsOnOtherNodes() {
    var node = startBoth();
    var cell = node.grains().get(Cell.class, "c");
    var sum = node.grains().get(Sum.class, "s");
    try (var computation = node.reactive(() -> sum.below("t", List.of("c", "d")))) {
      for (int i = 0; i < 1_000; i++) {
        var text = "text " + i;
        assertEquals("[" + text + ",]", computation.after(() -> cell.set(text), SOON));
      }
    }
  }

  @Test
  void whatIsReadInsteadIsAskedToo() {
    var node = startBoth();
    var choice = node.grains().get(Cell.class, "choice");
    node.grains().get(Cell.class, "x").set("of x");
    node.grains().get(Cell.class, "y").set("of y");
    choice.set("x");
    var sum = node.grains().get(Sum.class, "s");
    try (var computation = node.reactive(() -> sum.selected("choice"))) {
      assertEquals("of x", computation.after(() -> {}, SOON));
      assertEquals("of y", computation.after(() -> choice.set("y"), SOON));
    }
  }

  /** A push that is on its way is what must be waited for, and not another answer. */
  @Test
  void aResultThatIsHeldUpIsAwaited() throws Exception {
    var node = startBoth();
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::text)) {
      assertEquals("", computation.tracker().next(SOON));
      var held = new CopyOnWriteArrayList<Runnable>();
      var holding = new CountDownLatch(1);
      wired.wire =
          (from, to, message) -> {
            if (message instanceof Message.Push) {
              held.add(() -> wired.deliver(from, to, message));
              holding.countDown();
            } else {
              wired.deliver(from, to, message);
            }
          };
      assertThrows(
          NoNewResultException.class,
          () -> computation.after(() -> cell.set("new"), Duration.ofMillis(200)));
      holding.await();
      var result = new AtomicReference<String>();
      var waiting = Thread.ofVirtual().start(() -> result.set(computation.after(() -> {}, SOON)));
      wired.wire = wired::deliver;
      held.forEach(Runnable::run);
      waiting.join();
      assertEquals("new", result.get());
    }
  }

  @Test
  void aQuestionThatIsLostIsAskedAgain() {
    var node = startBoth();
    var cell = node.grains().get(Cell.class, "c");
    var lost = new ArrayList<Message>();
    wired.wire =
        (from, to, message) -> {
          boolean first = message instanceof Message.Settle || message instanceof Message.Settled;
          if (first && lost.size() < 2) {
            lost.add(message);
          } else {
            wired.deliver(from, to, message);
          }
        };
    try (var computation = node.reactive(cell::text)) {
      assertEquals("new", computation.after(() -> cell.set("new"), SOON));
      assertEquals(2, lost.size());
    }
  }

  /** One that was replaced without knowing it has seen no write since. */
  @Test
  void whoWasReplacedIsNotAsked() {
    var host = new AtomicReference<>(B);
    wired.hosts = grain -> host.get();
    var c = WiredNodes.id("c");
    var node = start(A);
    start(B);
    start(c);
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::text)) {
      assertEquals("", computation.tracker().next(SOON));
      host.set(c);
      assertThrows(
          NoNewResultException.class,
          () -> computation.after(() -> cell.set("new"), Duration.ofMillis(300)));
      node.notHeardOf(B);
      assertEquals("new", computation.after(() -> {}, SOON));
    }
  }

  /** Also for who asks when somebody on the publisher's own node has been answered already. */
  @Test
  void whoMayHaveBeenReplacedTellsOthersNothing() {
    wired.hosts = grain -> B;
    start(B);
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    var sum = node.grains().get(Sum.class, "s");
    var told = new AtomicInteger();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Settled) {
            told.incrementAndGet();
          }
          wired.deliver(from, to, message);
        };
    try (var computation = node.reactive(() -> sum.joined(List.of("c")) + cell.text())) {
      assertEquals("", computation.tracker().next(SOON));
      wired.confirmed = false;
      assertThrows(
          NoNewResultException.class, () -> computation.after(() -> {}, Duration.ofMillis(500)));
      assertEquals(0, told.get());
      wired.confirmed = true;
      assertEquals("newnew", computation.after(() -> cell.set("new"), SOON));
    }
  }

  @Test
  void aBranchThatWasNotWaitedForIsNotAsked() {
    var node = start(A);
    TestGrains.GateGrain.shut();
    var gate = node.grains().get(TestGrains.Gate.class, "g");
    var cell = node.grains().get(Cell.class, "c");
    Callable<String> slow = gate::readWhenOpen;
    Callable<String> fast = cell::text;
    try (var computation =
        node.reactive(() -> Parallel.first(List.<Callable<String>>of(slow, fast)))) {
      assertEquals("new", computation.after(() -> cell.set("new"), SOON));
    } finally {
      TestGrains.GateGrain.open.countDown();
    }
  }

  @Test
  void aGrainThatIsActivatedAnewIsAskedThere() {
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::text)) {
      for (int i = 0; i < 20; i++) {
        var text = "text " + i;
        assertEquals(
            text,
            computation.after(
                () -> {
                  cell.set(text);
                  node.release(WiredNodes.everything());
                },
                SOON));
      }
    }
  }

  @Test
  void manyWhoAskAtOnceShareFences() throws Exception {
    var node = startBoth();
    var cell = node.grains().get(Cell.class, "c");
    var fences = ConcurrentHashMap.<Message.Fence>newKeySet();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Settle question) {
            fences.add(question.fence());
          }
          wired.deliver(from, to, message);
        };
    try (var computation = node.reactive(cell::text)) {
      assertEquals("new", computation.after(() -> cell.set("new"), SOON));
      var asking = new ArrayList<Thread>();
      var right = new AtomicInteger();
      for (int i = 0; i < 2_000; i++) {
        asking.add(
            Thread.ofVirtual()
                .start(
                    () ->
                        right.addAndGet(computation.after(() -> {}, SOON).equals("new") ? 1 : 0)));
      }
      for (var thread : asking) {
        thread.join();
      }
      assertEquals(2_000, right.get());
      assertTrue(fences.size() < 2_000, () -> fences.size() + " fences");
    }
  }

  @Test
  void insideOfAWriteThereIsNothingToWaitFor() {
    var node =
        wired.start(
            A,
            WiredNodes.quick(),
            TestGrains.types().add(Poster.class, context -> text -> post(context, text)));
    var poster = node.grains().get(Poster.class, "p");
    assertThrows(InvalidGrainException.class, () -> poster.post("new"));
    assertEquals("", node.grains().get(Cell.class, "c").text());
  }

  /** Has a computation of its own, and may write. */
  interface Poster extends Grain {
    String post(String text);
  }

  private static String post(GrainContext<String> context, String text) {
    var cell = context.grains().get(Cell.class, "c");
    try (var computation = context.reactive(cell::text)) {
      return computation.after(() -> cell.set(text), SOON);
    }
  }

  @Test
  void whatTheWriteThrowsIsThrown() {
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::text)) {
      assertThrows(
          IllegalArgumentException.class,
          () -> computation.after(() -> cell.setAndThrow("x"), SOON));
      assertEquals("", computation.after(() -> {}, SOON));
    }
  }

  @Test
  void aFailureIsAResult() {
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    try (var computation = node.reactive(cell::textOrThrow)) {
      assertThrows(
          IllegalStateException.class, () -> computation.after(() -> cell.set("!no"), SOON));
      assertEquals("yes", computation.after(() -> cell.set("yes"), SOON));
    }
  }

  @Test
  void aGrainThatCannotBeActivatedIsAnAnswer() {
    wired.hosts = grain -> grain.key().equals("there") ? B : A;
    wired.start(B, WiredNodes.quick(), GrainTypes.create().add(Cell.class, AfterTest::refuse));
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    var there = node.grains().get(Cell.class, "there");
    try (var computation =
        node.reactive(() -> cell.text().isEmpty() ? "" : cell.text() + there.text())) {
      assertEquals("", computation.after(() -> {}, SOON));
      assertThrows(
          ActivationException.class,
          () -> computation.after(() -> cell.set("x"), Duration.ofHours(1)));
      assertThrows(
          ActivationException.class, () -> computation.after(() -> {}, Duration.ofHours(1)));
    }
  }

  private static Cell refuse(GrainContext<String> context) {
    throw new IllegalStateException("no " + context.key());
  }

  @Test
  void theEndEndsTheWaiting() throws Exception {
    var node = startBoth();
    var cell = node.grains().get(Cell.class, "c");
    var computation = node.reactive(cell::text);
    assertEquals("", computation.tracker().next(SOON));
    wired.connected = to -> false;
    var thrown = new AtomicReference<Throwable>();
    var waiting =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    computation.after(() -> {}, Duration.ofHours(1));
                  } catch (RuntimeException e) {
                    thrown.set(e);
                  }
                });
    WiredNodes.await("the waiting", () -> waiting.getState() == Thread.State.WAITING);
    computation.close();
    waiting.join();
    assertInstanceOf(ComputationClosedException.class, thrown.get());
    assertThrows(ComputationClosedException.class, () -> computation.after(() -> {}));
  }

  @Test
  void insideOfAComputationThereIsNothingToWaitFor() {
    var node = start(A);
    var cell = node.grains().get(Cell.class, "c");
    try (var inner = node.reactive(cell::text);
        var outer = node.reactive(() -> inner.after(() -> {}, SOON))) {
      var tracker = outer.tracker();
      assertThrows(InvalidGrainException.class, () -> tracker.next(SOON));
    }
  }
}
