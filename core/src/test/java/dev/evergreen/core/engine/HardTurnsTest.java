package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Grains;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import dev.evergreen.core.Result;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Turns under circumstances that nobody wishes for. */
class HardTurnsTest {

  private final OddStorage storage = new OddStorage();
  private final Node node =
      TestGrains.node()
          .grain(Worker.class, WorkerGrain::new)
          .grain(Nest.class, NestGrain::new)
          .grain(Log.class, context -> new LogGrain())
          .storage(storage)
          .settings(
              NodeSettings.DEFAULT
                  .withCallTimeout(Duration.ofSeconds(10))
                  .withIdleAfter(Duration.ofMillis(300))
                  .withStopGrace(Duration.ofSeconds(1)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  /** Fails as no storage should. */
  private static final class OddStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    volatile boolean forgetsToSay;
    volatile boolean runsOutOfMemory;

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      long revision = memory.save(grain, expected, state);
      if (forgetsToSay) {
        throw new IllegalArgumentException("a storage with a fault");
      }
      if (runsOutOfMemory) {
        throw new OutOfMemoryError("of the storage's");
      }
      return revision;
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  interface Worker extends Grain {
    void interruptItself();

    String callAfter(String cell);

    String interruptedCall(String gate);

    void waitAt(String gate);

    /** Whether nothing keeps what it has called others with, while it goes on. */
    boolean forgetsItsCalls(int calls);

    void tickSoonAndWait();

    void callLater(Duration delay, Duration period);

    @ReadOnly
    int ticks();

    @ReadOnly
    List<String> inParallelStreams(List<String> cells);

    @ReadOnly
    int nested(int width, int depth);

    @ReadOnly
    int failingBranches(int branches);

    @ReadOnly
    long fib(int n);

    int lives();
  }

  static final AtomicInteger LIVES = new AtomicInteger();

  static final class WorkerGrain implements Worker {
    private final GrainContext<String> context;
    private int ticks;
    private final int life = LIVES.incrementAndGet();

    WorkerGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public void interruptItself() {
      context.grains().get(Gate.class, "g").readWhenOpen();
      Thread.currentThread().interrupt();
    }

    @Override
    public String callAfter(String cell) {
      return context.grains().get(Cell.class, cell).text();
    }

    @Override
    public String interruptedCall(String gate) {
      Thread.currentThread().interrupt();
      return context.grains().get(Gate.class, gate).readWhenOpen();
    }

    @Override
    public void waitAt(String gate) {
      context.grains().get(Gate.class, gate).readWhenOpen();
    }

    @Override
    public boolean forgetsItsCalls(int calls) {
      var given = IntStream.range(0, calls).mapToObj(this::call).toList();
      long deadline = System.nanoTime() + SOON.toNanos();
      while (given.stream().anyMatch(text -> text.get() != null)) {
        if (System.nanoTime() - deadline > 0) {
          return false;
        }
        System.gc();
      }
      return true;
    }

    private WeakReference<String> call(int number) {
      var text = "number " + number;
      context.grains().get(Log.class, "l").take(text);
      return new WeakReference<>(text);
    }

    /** The timer is due while as many calls wait for this one as may. */
    @Override
    public void tickSoonAndWait() {
      context.grains().get(Gate.class, "g").readWhenOpen();
      context.timer("soon", Duration.ZERO, Duration.ZERO, () -> ticks++);
      context.sleep(Duration.ofMillis(50));
    }

    @Override
    public void callLater(Duration delay, Duration period) {
      context.timer("later", delay, period, () -> ticks++);
    }

    @Override
    public int ticks() {
      return ticks;
    }

    @Override
    public List<String> inParallelStreams(List<String> cells) {
      return cells.parallelStream().map(c -> context.grains().get(Cell.class, c).text()).toList();
    }

    @Override
    public int nested(int width, int depth) {
      if (depth == 0) {
        return context.grains().get(Cell.class, "c").length() + 1;
      }
      return Parallel.map(
              IntStream.range(0, width).boxed().toList(),
              i ->
                  Parallel.map(
                          List.of(1, 2),
                          j ->
                              context
                                  .grains()
                                  .get(Worker.class, i + "." + j)
                                  .nested(width, depth - 1))
                      .stream()
                      .mapToInt(n -> n)
                      .sum())
          .stream()
          .mapToInt(n -> n)
          .sum();
    }

    @Override
    public int failingBranches(int branches) {
      var ended = new AtomicInteger();
      try {
        Parallel.forEach(
            IntStream.range(0, branches).boxed().toList(),
            i -> {
              context.grains().get(Cell.class, "c" + i).length();
              ended.incrementAndGet();
              throw new IllegalStateException("branch " + i);
            });
      } catch (IllegalStateException e) {
        return "branch 0".equals(e.getMessage()) ? ended.get() : -1;
      }
      return -2;
    }

    @Override
    public long fib(int n) {
      var self = context.grains().get(Worker.class, context.key());
      return n < 2 ? n : self.fib(n - 1) + self.fib(n - 2);
    }

    @Override
    public int lives() {
      return life;
    }
  }

  interface Log extends Grain {
    void take(String text);
  }

  static final class LogGrain implements Log {
    @Override
    public void take(String text) {}
  }

  private Worker worker(String key) {
    return node.grains().get(Worker.class, key);
  }

  @Test
  void aTurnThatGoesOnForLongKeepsNothingOfTheCallsThatItHasMade() {
    assertTrue(worker("w").forgetsItsCalls(10));
  }

  @Test
  void anInterruptThatATurnLeavesBehindHitsNoOtherTurn() throws Exception {
    GateGrain.shut();
    var worker = worker("w");
    var first = CompletableFuture.runAsync(worker::interruptItself, Thread::startVirtualThread);
    GateGrain.entered.await();
    var second =
        CompletableFuture.supplyAsync(() -> worker.callAfter("c"), Thread::startVirtualThread);
    var third =
        CompletableFuture.supplyAsync(() -> worker.callAfter("c"), Thread::startVirtualThread);
    WiredNodes.await("three calls", () -> node.counts().calls() == 3);
    GateGrain.open.countDown();
    first.get();
    assertEquals("", second.get());
    assertEquals("", third.get());
    GateGrain.shut();
    assertThrows(CallInterruptedException.class, () -> worker.interruptedCall("g"));
    GateGrain.open.countDown();
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void aStorageThatFailsUnexpectedlyEndsTheActivation() {
    var cell = node.grains().get(Cell.class, "odd");
    cell.set("a");
    storage.forgetsToSay = true;
    assertThrows(StateNotSavedException.class, () -> cell.set("b"));
    storage.forgetsToSay = false;
    assertEquals("b", cell.text());
    cell.set("c");
    assertEquals("c", cell.text());
  }

  @Test
  void aStorageThatRunsOutOfMemoryEndsTheActivation() {
    var cell = node.grains().get(Cell.class, "odd");
    cell.set("a");
    storage.runsOutOfMemory = true;
    assertThrows(StateNotSavedException.class, () -> cell.set("b"));
    storage.runsOutOfMemory = false;
    assertEquals("b", cell.text());
  }

  @Test
  void aTimerIsNotLostWhenManyCallsWait() throws Exception {
    try (var small =
        TestGrains.node()
            .grain(Worker.class, WorkerGrain::new)
            .settings(NodeSettings.DEFAULT.withMaxWaitingCalls(1))
            .start()) {
      var worker = small.grains().get(Worker.class, "busy");
      GateGrain.shut();
      var first = CompletableFuture.runAsync(worker::tickSoonAndWait, Thread::startVirtualThread);
      GateGrain.entered.await();
      var second = CompletableFuture.supplyAsync(worker::ticks, Thread::startVirtualThread);
      WiredNodes.await("two calls", () -> small.counts().calls() == 2);
      assertThrows(NotStartedException.class, worker::ticks);
      GateGrain.open.countDown();
      first.get();
      second.get();
      WiredNodes.await("the timer", () -> worker.ticks() == 1);
    }
  }

  @Test
  void thatACallInsideDidNotStartDoesNotSayThatTheOperationDidNot() throws Exception {
    try (var small =
        TestGrains.node()
            .grain(Worker.class, WorkerGrain::new)
            .settings(NodeSettings.DEFAULT.withMaxWaitingCalls(1))
            .start()) {
      GateGrain.shut();
      var gate = small.grains().get(Gate.class, "g");
      var first = CompletableFuture.runAsync(gate::writeWhenOpen, Thread::startVirtualThread);
      GateGrain.entered.await();
      var second = CompletableFuture.runAsync(gate::writeWhenOpen, Thread::startVirtualThread);
      WiredNodes.await("two calls", () -> small.counts().calls() == 2);
      var outer = small.grains().get(Worker.class, "outer");
      var thrown = assertThrows(OutcomeUnknownException.class, () -> outer.waitAt("g"));
      assertInstanceOf(NotStartedException.class, thrown.getCause());
      assertNames(thrown, "Worker/outer.waitAt");
      assertThrows(NotStartedException.class, gate::writeWhenOpen);
      GateGrain.open.countDown();
      first.get();
      second.get();
    }
  }

  @Test
  void aTimerDoesNotKeepItsGrainActive() {
    var worker = worker("idle");
    worker.callLater(Duration.ofMillis(1), Duration.ofMillis(10));
    WiredNodes.await("a tick", () -> worker.ticks() > 0);
    WiredNodes.await("the end of the activation", () -> node.counts().activations() == 0);
  }

  @Test
  void threadsOfAParallelStreamAreRefusedOrServedButNeverHang() {
    try {
      assertEquals(
          64,
          worker("p")
              .inParallelStreams(IntStream.range(0, 64).mapToObj(i -> "c" + i).toList())
              .size());
    } catch (InvalidGrainException e) {
      assertNames(e, "Parallel");
    }
    assertEquals(0, worker("p").ticks());
  }

  @Test
  void parallelInsideParallelInsideGrains() {
    assertEquals(6 * 6 * 6, worker("root").nested(3, 3));
    try (var computation = node.reactive(() -> worker("root").nested(3, 3))) {
      var results = computation.tracker();
      assertEquals(216, results.next(SOON));
      node.grains().get(Cell.class, "c").set("x");
      // Some of the readers may be seen before the others.
      WiredNodes.await("the new result", () -> results.next(SOON) == 432);
    }
  }

  @Test
  void aFailedBranchIsThrownWhenAllHaveEnded() {
    assertEquals(100, worker("f").failingBranches(100));
  }

  @Test
  void aGrainMayRecurByReadsWithOtherArguments() {
    assertEquals(55, worker("fib").fib(10));
    try (var computation = node.reactive(() -> worker("fib").fib(60))) {
      assertEquals(1548008755920L, computation.tracker().next(SOON));
    }
  }

  // Reentrant grains

  record Steps(List<String> steps) {}

  @Reentrant
  interface Nest extends Grain {
    void outer(String other, boolean innerFails);

    void inner(boolean fails);

    void ping(String other);

    @ReadOnly
    void passRead(String other);

    @ReadOnly
    List<String> steps();

    void outerFails(String other);

    void pass(String other, boolean fails);
  }

  static final class NestGrain implements Nest {
    private final Grains grains;
    private final String key;
    private final State<Steps> state;

    NestGrain(GrainContext<String> context) {
      grains = context.grains();
      key = context.key();
      state = context.state(Steps.class, new Steps(List.of()));
    }

    private void step(String step) {
      state.update(
          s -> {
            var more = new ArrayList<>(s.steps());
            more.add(step);
            return new Steps(more);
          });
    }

    @Override
    public void outer(String other, boolean innerFails) {
      step("outer begins");
      try {
        grains.get(Nest.class, other).pass(key, innerFails);
      } catch (IllegalStateException e) {
        step("inner failed");
      }
      step("outer ends");
    }

    @Override
    public void pass(String other, boolean fails) {
      grains.get(Nest.class, other).inner(fails);
    }

    @Override
    public void inner(boolean fails) {
      step("inner");
      if (fails) {
        throw new IllegalStateException("inner fails");
      }
    }

    @Override
    public void ping(String other) {
      step("ping");
      if (state.get().steps().size() < 2) {
        grains.get(Nest.class, other).ping(key);
      }
    }

    @Override
    public void passRead(String other) {
      grains.get(Nest.class, other).steps();
    }

    @Override
    public void outerFails(String other) {
      step("outer begins");
      grains.get(Nest.class, other).passRead(key);
      throw new IllegalArgumentException("outer fails");
    }

    @Override
    public List<String> steps() {
      return state.get().steps();
    }
  }

  @Test
  void anInnerOperationThatFailsLeavesWhatTheOuterHasSet() {
    var nest = node.grains().get(Nest.class, "a");
    nest.outer("b", false);
    assertEquals(List.of("outer begins", "inner", "outer ends"), nest.steps());
    var other = node.grains().get(Nest.class, "c");
    other.outer("b", true);
    assertEquals(List.of("outer begins", "inner failed", "outer ends"), other.steps());
  }

  @Test
  void anOuterOperationThatFailsLeavesTheStateAsItWas() {
    var nest = node.grains().get(Nest.class, "a");
    assertThrows(IllegalArgumentException.class, () -> nest.outerFails("b"));
    assertEquals(List.of(), nest.steps());
  }

  @Test
  void aReentrantGrainMayBeEnteredAgainWithTheSameArguments() {
    var nest = node.grains().get(Nest.class, "a");
    nest.ping("b");
    assertEquals(List.of("ping", "ping"), nest.steps());
    assertEquals(List.of("ping"), node.grains().get(Nest.class, "b").steps());
  }

  // The end

  @Test
  void aNodeThatStopsLeavesNoCallerWaiting() throws Exception {
    GateGrain.shut();
    var gate = node.grains().get(Gate.class, "g");
    var running = CompletableFuture.supplyAsync(gate::writeWhenOpen, Thread::startVirtualThread);
    GateGrain.entered.await();
    var read = CompletableFuture.supplyAsync(gate::readWhenOpen, Thread::startVirtualThread);
    var write = CompletableFuture.supplyAsync(gate::writeWhenOpen, Thread::startVirtualThread);
    WiredNodes.await("three calls", () -> node.counts().calls() == 3);
    node.close();
    assertInstanceOf(
        NodeStoppedException.class,
        assertThrows(ExecutionException.class, () -> read.get(5, SECONDS)).getCause());
    assertInstanceOf(
        NodeStoppedException.class,
        assertThrows(ExecutionException.class, () -> write.get(5, SECONDS)).getCause());
    assertInstanceOf(
        OutcomeUnknownException.class,
        assertThrows(ExecutionException.class, () -> running.get(5, SECONDS)).getCause());
    GateGrain.open.countDown();
  }

  // Limits

  @Test
  void whatIsTooLargeIsNamedWhateverItIsMadeOf() {
    try (var small =
        TestGrains.node()
            .grain(Worker.class, WorkerGrain::new)
            .settings(NodeSettings.DEFAULT.withMaxValueBytes(10_000))
            .start()) {
      // Three bytes a character, which are not counted before they are written.
      var text = "€".repeat(5_000);
      var worker = small.grains().get(Worker.class, "w");
      var thrown =
          assertThrows(ValueTooLargeException.class, () -> worker.inParallelStreams(List.of(text)));
      assertNames(thrown, "Worker");
      assertNames(thrown, "inParallelStreams");
      try (var computation = small.reactive(() -> text.repeat(4))) {
        var results = computation.tracker();
        assertThrows(ValueTooLargeException.class, results::next);
      }
    }
  }

  @Test
  void aSettingThatMakesNoSenseIsNamed() {
    var thrown =
        assertThrows(
            IllegalArgumentException.class,
            () -> NodeSettings.DEFAULT.withRenewEvery(Duration.ZERO));
    assertNames(thrown, "renewEvery");
    assertThrows(IllegalArgumentException.class, () -> NodeSettings.DEFAULT.withMaxValueBytes(-1));
    assertThrows(
        IllegalArgumentException.class,
        () -> NodeSettings.DEFAULT.withIdleAfter(Duration.ofSeconds(Long.MAX_VALUE)));
  }

  @Test
  void anyDurationIsALimit() throws Exception {
    var forever = Duration.ofSeconds(Long.MAX_VALUE);
    assertEquals("", node.grains().withTimeout(forever).get(Cell.class, "a").text());
    var cell = node.grains().get(Cell.class, "a");
    try (var computation = node.reactive(cell::text)) {
      var results = computation.tracker();
      assertEquals("", results.next(forever));
      var next =
          CompletableFuture.supplyAsync(() -> results.next(forever), Thread::startVirtualThread);
      cell.set("b");
      assertEquals("b", next.get());
      assertThrows(NoNewResultException.class, () -> results.next(Duration.ZERO));
      assertThrows(NoNewResultException.class, () -> results.next(Duration.ofSeconds(-1)));
    }
    try (var computation =
        node.reactive(() -> node.grains().withTimeout(forever).get(Cell.class, "a").text())) {
      assertInstanceOf(Result.Value.class, computation.tracker().poll(forever).orElseThrow());
    }
  }

  @Test
  void anInterruptedCallerOutsideOfGrainsKeepsItsInterrupt() throws Exception {
    var interrupted = new CompletableFuture<Boolean>();
    GateGrain.shut();
    var thread =
        Thread.startVirtualThread(
            () -> {
              try {
                Parallel.forEach(
                    List.of(1, 2), i -> node.grains().get(Gate.class, "g").writeWhenOpen());
              } catch (GrainException e) {
                interrupted.complete(
                    e instanceof CallInterruptedException
                        && Thread.currentThread().isInterrupted());
              } catch (RuntimeException e) {
                interrupted.completeExceptionally(e);
              }
            });
    GateGrain.entered.await();
    thread.interrupt();
    assertTrue(interrupted.get());
    GateGrain.open.countDown();
  }

  interface Held extends Grain {
    void hold();
  }

  /** Counts those who have begun, and holds them until they may go on. */
  private record HeldGrain(AtomicInteger begun, CountDownLatch mayGoOn) implements Held {
    @Override
    public void hold() {
      begun.incrementAndGet();
      try {
        mayGoOn.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Seen: a grain worked off thousands of calls that nobody waited for, and others timed out. */
  @Test
  void whoIsInterruptedBeforeItsTurnBeginsLeavesNoneBehind() throws Exception {
    var begun = new AtomicInteger();
    var mayGoOn = new CountDownLatch(1);
    try (var alone =
        EmbeddedNode.builder()
            .grain(Held.class, context -> new HeldGrain(begun, mayGoOn))
            .start()) {
      var held = alone.grains().get(Held.class, "h");
      var holder = Thread.ofPlatform().start(held::hold);
      WiredNodes.await("it holds", () -> begun.get() == 1);
      var interrupted = new CompletableFuture<Throwable>();
      var waiter =
          Thread.ofPlatform()
              .start(
                  () ->
                      interrupted.complete(
                          assertThrows(CallInterruptedException.class, held::hold)));
      WiredNodes.await("it waits", () -> WiredNodes.waits(waiter));
      waiter.interrupt();
      interrupted.get();
      mayGoOn.countDown();
      holder.join();
      held.hold();
      assertEquals(2, begun.get());
    }
  }
}
