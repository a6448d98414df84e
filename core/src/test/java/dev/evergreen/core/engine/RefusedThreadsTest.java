package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Threads and timers that cannot be had for a while: no grain is stuck, and nothing that waits is
 * forgotten.
 */
@Timeout(60)
final class RefusedThreadsTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  /** So many in a row are refused. */
  private static final int REFUSED = 3;

  private final AtomicInteger wanted = new AtomicInteger();
  private final WiredNodes wired = new WiredNodes(B);

  static IntStream threads() {
    return IntStream.range(0, 60);
  }

  static IntStream timers() {
    return IntStream.range(0, 12);
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  @ParameterizedTest
  @MethodSource("threads")
  void allGoesOnWhenThreadsCanBeHadAgain(int first) throws Exception {
    wired.whenThreadIsWanted =
        () -> {
          if (isRefused(first)) {
            throw new OutOfMemoryError("unable to create native thread");
          }
        };
    useAll();
  }

  @ParameterizedTest
  @MethodSource("timers")
  void allGoesOnWhenTimersCanBeHadAgain(int first) throws Exception {
    wired.whenTimerIsWanted =
        () -> {
          if (isRefused(first)) {
            throw new RejectedExecutionException("no timer");
          }
        };
    useAll();
  }

  /** Lets the stack of this thread end where it wants one of its next timers. */
  private void endStackAtTimer(int number) {
    var self = Thread.currentThread();
    var timers = new AtomicInteger();
    wired.whenTimerIsWanted =
        () -> {
          if (Thread.currentThread() == self && timers.getAndIncrement() == number) {
            wired.whenTimeIsAsked = () -> endStack(self);
            throw new StackOverflowError("says the test");
          }
        };
  }

  /** Else a thread would wait instead of the timer. */
  private void endStack(Thread of) {
    if (Thread.currentThread() == of) {
      wired.whenTimeIsAsked = () -> {};
      throw new StackOverflowError("says the test");
    }
  }

  private static Cache.Edge retain(NodeRuntime node, String cell) {
    return node.caches.retain(WiredNodes.key(node, Cell.class, cell, "text()"), WiredNodes.NOBODY);
  }

  private static final Duration OFTEN = Duration.ofMillis(50);

  @Test
  void anAnswerThatDoesNotComeIsMissedThoughTheTimerForAnotherCouldNotBeSet() {
    wired.start(B, WiredNodes.quick());
    var a = wired.start(A, WiredNodes.quick().withPushRetryAfter(OFTEN));
    endStackAtTimer(0);
    assertThrows(StackOverflowError.class, () -> retain(a, "c"));
    var asked = new AtomicInteger();
    wired.wire =
        (from, to, message) -> {
          if (!(message instanceof Message.Subscribe) || asked.getAndIncrement() > 0) {
            wired.deliver(from, to, message);
          }
        };
    var cache = retain(a, "d").cache();
    WiredNodes.await("the answer to another question", () -> cache.present() != null);
  }

  @Test
  void whatIsSubscribedIsRenewedThoughTheTimerForAnotherCouldNotBeSet() {
    wired.start(B, WiredNodes.quick());
    var a = wired.start(A, WiredNodes.quick().withRenewEvery(OFTEN));
    endStackAtTimer(1); // the first is for the answer
    assertThrows(StackOverflowError.class, () -> retain(a, "c"));
    var asked = new AtomicInteger();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Subscribe) {
            asked.incrementAndGet();
          }
          wired.deliver(from, to, message);
        };
    retain(a, "d");
    WiredNodes.await("a renewal", () -> asked.get() > 1);
  }

  @Test
  void aTimerOfIdleCachesThatCouldNotBeSetIsSetByTheNextOne() {
    var a = wired.start(A, WiredNodes.quick());
    var first = retain(a, "c");
    var second = retain(a, "d");
    endStackAtTimer(0);
    assertThrows(StackOverflowError.class, () -> first.cache().release(first, false));
    second.cache().release(second, false);
    WiredNodes.await("the end of both", () -> a.caches.size() == 0);
  }

  /** Else nothing is pushed to that node any more. */
  @Test
  void anOutboxWhoseThreadCouldNotBeStartedStartsOneForTheNextResult() throws Exception {
    wired.starter = task -> Thread.ofPlatform().daemon().start(task);
    var b = wired.start(B, WiredNodes.quick());
    var subscriber = WiredNodes.withoutResult(() -> A);
    b.outboxes.send(subscriber);
    wired.awaitNoThreads();
    TestGrains.whereTheStackEnds(() -> b.outboxes.send(subscriber));
    b.outboxes.send(subscriber);
    WiredNodes.await(
        "the end of what it has",
        () -> {
          b.grains().get(Cell.class, "c").touch(); // one more thread does what is left
          return b.outboxes.lengths().equals(Map.of("a", 0));
        });
  }

  /** Counts who sends at the same time. */
  private static final class Sending implements Outboxes.Recipient {
    private final AtomicInteger senders;
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch go;
    private volatile int seen;

    Sending(AtomicInteger senders, CountDownLatch go) {
      this.senders = senders;
      this.go = go;
    }

    @Override
    public NodeId node() {
      return A;
    }

    @Override
    public long takeRequest() {
      return 0;
    }

    @Override
    public Message.@Nullable Update update() {
      seen = senders.incrementAndGet();
      begun.countDown();
      try {
        go.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      senders.decrementAndGet();
      return null;
    }
  }

  /** Else one takes its batch for acknowledged when the other one's was, or sends the next. */
  @Test
  void anOutboxHasOneThreadThoughTheStackEndedWhenThatHadBeenStarted() throws Exception {
    var ends = new AtomicBoolean(true);
    wired.starter =
        task -> {
          var thread = Thread.ofPlatform().daemon().start(task);
          if (ends.getAndSet(false)) {
            throw new StackOverflowError("says the test");
          }
          return thread;
        };
    var b = wired.start(B, WiredNodes.quick());
    var senders = new AtomicInteger();
    var go = new CountDownLatch(1);
    var first = new Sending(senders, go);
    var next = new Sending(senders, new CountDownLatch(0));
    b.outboxes.send(first);
    first.begun.await();
    b.outboxes.send(next);
    b.grains().get(Cell.class, "c").touch(); // one more thread does what is left
    wired.awaitThreads(1);
    go.countDown();
    next.begun.await();
    assertEquals(1, next.seen, "at the same time");
  }

  /** What is refused there is done by others, who may need the monitor. */
  @Test
  void nothingIsAskedForWithAMonitorHeld() throws Exception {
    var held = new CopyOnWriteArrayList<String>();
    var looks = new AtomicInteger();
    Runnable look =
        () -> {
          if (!Thread.currentThread().isVirtual()) { // of those it cannot be told
            looks.incrementAndGet();
            monitors().forEach(held::add);
          }
        };
    wired.starter = task -> Thread.ofPlatform().daemon().start(task);
    wired.whenThreadIsWanted = look;
    wired.whenTimerIsWanted = look;
    wired.wire =
        (from, to, message) -> {
          look.run();
          wired.deliver(from, to, message);
        };
    useAll();
    assertEquals(List.of(), held.stream().distinct().toList());
    assertTrue(looks.get() > 50, () -> looks + " looks");
  }

  /** Where the calling thread has taken monitors that it holds. */
  private static Stream<String> monitors() {
    long self = Thread.currentThread().threadId();
    var info = ManagementFactory.getThreadMXBean().getThreadInfo(new long[] {self}, true, false)[0];
    return Arrays.stream(info.getLockedMonitors())
        .map(monitor -> String.valueOf(monitor.getLockedStackFrame()));
  }

  private boolean isRefused(int first) {
    int number = wanted.getAndIncrement();
    return number >= first && number < first + REFUSED;
  }

  /** Ticks until it is told not to. */
  interface Ticking extends Grain {
    @ReadOnly
    int ticks();
  }

  private static final class TickingGrain implements Ticking {
    private int ticks;

    TickingGrain(GrainContext<String> context) {
      var often = Duration.ofMillis(5);
      context.timer("tick", often, often, () -> ticks++);
    }

    @Override
    public int ticks() {
      return ticks;
    }
  }

  /** Calls that wait for each other, timers, computations and branches, here and across nodes. */
  private void useAll() throws Exception {
    var settings =
        WiredNodes.quick()
            .withCallTimeout(SOON)
            .withPushRetryAfter(Duration.ofMillis(200))
            .withCycleSuspicion(Duration.ofMillis(200));
    var types = TestGrains.types().add(Ticking.class, TickingGrain::new);
    var a = wired.start(A, settings, types);
    var b = wired.start(B, settings, types);
    for (var node : List.of(b, a)) {
      var sum = node.grains().get(Sum.class, "s");
      // Of its own, of which no cache holds an earlier result.
      var keys = node == a ? List.of("c", "d", "e") : List.of("f", "g", "h");
      try (var computation = node.reactive(() -> sum.joinedInParallel(keys))) {
        var results = computation.tracker();
        assertEquals(",,", results.next(SOON));
        var cells = keys.stream().map(key -> node.grains().get(Cell.class, key)).toList();
        var writes =
            cells.stream()
                .map(
                    cell ->
                        CompletableFuture.runAsync(() -> cell.set("x"), Thread::startVirtualThread))
                .toList();
        for (var write : writes) {
          write.get(20, TimeUnit.SECONDS);
        }
        assertEquals("y,x,x", computation.after(() -> cells.getFirst().set("y"), SOON));
      }
      var ticking = node.grains().get(Ticking.class, "t");
      WiredNodes.await("some ticks", () -> ticking.ticks() > 2);
    }
    WiredNodes.await("the end of all caches", () -> a.caches.size() + b.caches.size() == 0);
    assertTrue(wired.escaped().isEmpty(), () -> wired.escaped().toString());
  }
}
