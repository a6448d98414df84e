package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the world of a node throws, against its promises, is the affair of one and of no other. */
@Timeout(60)
final class FaultyWorldTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final AtomicInteger faults = new AtomicInteger();
  private final WiredNodes wired = WiredNodes.observed(B, node -> new Observer());

  /** Does not like that a certain grain ends. */
  private final class Observer implements NodeObserver {
    @Override
    public void deactivated(GrainId grain, String reason) {
      if (grain.key().equals("bad")) {
        faults.incrementAndGet();
        throw new IllegalStateException("an observer with a fault");
      }
    }
  }

  @AfterEach
  void stop() {
    wired.wire = wired::deliver;
    wired.close();
  }

  /** The first message of a kind fails. */
  private void failFirst(Predicate<Message> kind) {
    wired.wire =
        (from, to, message) -> {
          if (kind.test(message) && faults.getAndIncrement() == 0) {
            throw new IllegalStateException("a link with a fault");
          }
          wired.deliver(from, to, message);
        };
  }

  @Test
  void aGrainThatDoesNotCloseKeepsNoOtherFromClosing() {
    var node = wired.start(B, WiredNodes.quick());
    var keys = IntStream.range(0, 64).mapToObj(i -> "good" + i);
    Stream.concat(Stream.of("bad"), keys).forEach(key -> node.grains().get(Cell.class, key).text());
    node.activations.closeNow("the test wants it");
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
    node.activations.closeNow("the test wants it");
    var failure = assertThrows(ExecutionException.class, () -> write.get(20, TimeUnit.SECONDS));
    var cause = Objects.requireNonNull(failure.getCause());
    assertEquals(OutcomeUnknownException.class, cause.getClass(), "no time-out");
    assertEquals(1, faults.get());
    GateGrain.open.countDown();
  }

  @Test
  void aFarewellThatFailsIsNotTheLast() {
    var a = wired.start(A, WiredNodes.quick());
    var b = wired.start(B, WiredNodes.quick());
    failFirst(Message.Unsubscribe.class::isInstance);
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
  void aFirstQuestionThatFailsIsAskedAgainAndLeavesNothing() {
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    failFirst(Message.Subscribe.class::isInstance);
    try (var computation = a.reactive(a.grains().get(Cell.class, "c")::text)) {
      assertEquals("", computation.tracker().next(SOON));
    }
    await("the end of the cache", () -> a.caches.size() == 0);
    assertTrue(faults.get() > 1);
  }

  @Test
  void aPlaceThatCannotBeToldIsAskedForAgain() {
    var a = wired.start(A, WiredNodes.quick());
    wired.start(B, WiredNodes.quick());
    wired.hosts =
        grain -> {
          if (faults.getAndIncrement() == 0) {
            throw new IllegalStateException("a placement with a fault");
          }
          return B;
        };
    try (var computation = a.reactive(a.grains().get(Cell.class, "c")::text)) {
      assertEquals("", computation.tracker().next(SOON));
    }
    await("the end of the cache", () -> a.caches.size() == 0);
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
