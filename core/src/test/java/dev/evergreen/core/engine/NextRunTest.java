package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.engine.Publication.Follower;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * When a grain's runs begin. What becomes possible is done by the test, which so decides the order.
 */
@Timeout(60)
class NextRunTest {

  private static final int MANY = 40;
  private static final long WRITE_DELAY = 100;

  private final AtomicInteger timers = new AtomicInteger();
  private final AtomicInteger threads = new AtomicInteger();
  private final List<String> executed = new CopyOnWriteArrayList<>();
  private final CountDownLatch secondBegins = new CountDownLatch(1);
  private final CountDownLatch secondEnds = new CountDownLatch(1);
  private volatile Runnable whenDeactivated = () -> {};
  private final WiredNodes wired =
      WiredNodes.observed(
          WiredNodes.id("a"),
          view ->
              new NodeObserver() {
                @Override
                public void deactivated(GrainId grain, String reason) {
                  whenDeactivated.run();
                }
              });
  private final NodeRuntime node =
      wired.start(
          WiredNodes.id("a"),
          NodeSettings.DEFAULT.withWriteDelay(Duration.ofMillis(WRITE_DELAY)),
          GrainTypes.create().add(Board.class, context -> new BoardGrain()));
  private final Tasks next = new Tasks();
  private final Activation board;

  interface Board extends Grain {
    @ReadOnly
    String first();

    @ReadOnly
    String second();

    @ReadOnly
    String numbered(int number);

    void touch();
  }

  private final class BoardGrain implements Board {
    private String note(String operation) {
      executed.add(operation);
      return operation;
    }

    @Override
    public String first() {
      return note("first");
    }

    @Override
    public String second() {
      secondBegins.countDown();
      try {
        assertTrue(secondEnds.await(20, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return note("second");
    }

    @Override
    public String numbered(int number) {
      return note("numbered");
    }

    @Override
    public void touch() {}
  }

  NextRunTest() {
    node.grains().get(Board.class, "b").touch();
    board = node.activations.all().getFirst();
    wired.awaitNoThreads();
    wired.whenStarted = thread -> threads.incrementAndGet();
  }

  @AfterEach
  void stop() {
    secondEnds.countDown();
    wired.close();
  }

  /** By a cache of this node that is gone by now, so that no result is sent. */
  private void watch(String operation) {
    var key = WiredNodes.key(node, Board.class, "b", operation + "()");
    board.subscribe(key, new Follower(WiredNodes.id("a"), null, 1, null, 0), next);
  }

  private void unwatch(String operation) {
    var key = WiredNodes.key(node, Board.class, "b", operation + "()");
    board.unsubscribe(key, new Follower(WiredNodes.id("a"), null, 1, null, 0));
  }

  private void submit(String name, boolean readOnly) {
    Turn.Body body = grain -> executed.add(name);
    board.submit(new Turn(board, name, readOnly, body, outcome -> {}), next);
  }

  private Tasks.Task begun() {
    return Objects.requireNonNull(next.poll());
  }

  private void assertNothingBegins() {
    assertNull(next.poll());
  }

  private long runs() {
    return board.summaries().stream().mapToLong(Summary::runs).sum();
  }

  /** Each of those that are due begins one, and no thread is started in vain. */
  @Test
  void aReadIsBehindThoseThatAreDueAndNotBehindAllThatWait() {
    var all =
        node.reactive(
            () ->
                IntStream.range(0, MANY)
                    .mapToObj(i -> node.grains().get(Board.class, "b").numbered(i))
                    .toList());
    assertEquals(MANY, all.tracker().next(TestGrains.SOON).size());
    wired.awaitNoThreads();
    executed.clear();
    threads.set(0);
    board.markChanged(next);
    submit("read", true);
    var run = begun();
    assertNothingBegins();
    run.run(next);
    assertNothingBegins();
    WiredNodes.await("all", () -> executed.size() == MANY + 1);
    wired.awaitNoThreads();
    assertEquals(32, executed.indexOf("read"));
    assertTrue(threads.get() <= MANY, () -> threads + " threads");
  }

  @Test
  void noThreadIsStartedForARunThatNobodyWaitsFor() {
    submit("read", true);
    begun().run(next);
    assertNothingBegins();
    watch("first");
    begun().run(next);
    assertNothingBegins();
    assertEquals(List.of("read", "first"), executed);
    assertEquals(0, threads.get());
  }

  /** The write waits for another grain meanwhile. */
  @Test
  void noThreadIsStartedForARunWhileAWriteIsInside() {
    submit("write", false);
    begun();
    board.baton().release();
    watch("first");
    assertNothingBegins();
  }

  /** Or they would follow each other without end while the write waits for another grain. */
  @Test
  void whatCannotBeginBesideAWriteDoesNotComeBack() {
    watch("first");
    watch("second");
    var one = begun();
    submit("write", false);
    one.run(next);
    begun().run(next);
    begun().run(next);
    assertEquals("write", executed.getFirst());
  }

  @Test
  void noRunBeginsInAGrainThatIsBeingClosed() {
    watch("first");
    var run = begun();
    board.beginClosing("the test wants it");
    run.run(next);
    assertEquals(0, runs());
  }

  /** The grain may be active elsewhere by then, and written there. */
  @Test
  void whatRunsWhileItsGrainIsClosedPublishesNothing() throws InterruptedException {
    watch("second");
    var summary = board.summaries().getFirst();
    var run = begun();
    var running = Thread.startVirtualThread(() -> run.run(new Tasks()));
    secondBegins.await();
    whenDeactivated =
        () -> {
          secondEnds.countDown();
          WiredNodes.await("the end of the run", () -> !running.isAlive());
        };
    board.close("the test wants it", null, next);
    assertFalse(running.isAlive());
    assertNull(summary.results().outcome());
  }

  /** One that has the baton, and waits for another grain. */
  private Tasks.Task beginWrite() {
    submit("write", false);
    return begun();
  }

  @Test
  void noThreadIsStartedForWhatNobodyReadsAnyMore() {
    var write = beginWrite();
    watch("first");
    unwatch("first");
    write.run(next);
    assertNothingBegins();
  }

  @Test
  void noThreadIsStartedForAComputationThatIsClosed() {
    var root = new RootComputation<>(parts(), board, () -> 1, null, closed -> board.disown(closed));
    board.own(root);
    var write = beginWrite();
    root.startOnce(false);
    root.close();
    write.run(next);
    assertNothingBegins();
  }

  private Propagation parts() {
    return ((LiveComputation<Integer>) node.reactive(() -> 1)).root().parts;
  }

  /** Nor does anybody run it again. */
  @Test
  void aWriteDoesNotInterruptWhatNobodyWantsAnyMore() throws InterruptedException {
    watch("second");
    var summary = board.summaries().getFirst();
    var run = begun();
    var running = Thread.startVirtualThread(() -> run.run(new Tasks()));
    secondBegins.await();
    unwatch("second");
    submit("write", false);
    synchronized (summary.guard) {
      assertFalse(summary.marked);
    }
    secondEnds.countDown();
    running.join();
  }

  /** However often it is looked whether it may begin. */
  @Test
  void oneTimerIsSetForAWriteThatRunsHoldUp() {
    var first = beginWrite();
    watch("first");
    first.run(next);
    submit("write", false);
    long since = System.nanoTime();
    begun().run(next); // the next run, which does not begin beside the write
    begun().run(next);
    begun(); // the next run again, which the test does not let run
    WiredNodes.await(
        "its time", () -> System.nanoTime() - since > Duration.ofMillis(WRITE_DELAY).toNanos());
    var held = new AtomicBoolean();
    wired.whenTimerIsWanted =
        () -> {
          timers.incrementAndGet();
          held.compareAndSet(false, Thread.holdsLock(board));
        };
    submit("another", false);
    board.admit(next);
    board.admit(next);
    begun().run(next);
    assertNothingBegins();
    assertEquals(1, timers.get());
    assertFalse(held.get()); // where it is refused, a thread is started
  }
}
