package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.GrainTimer;
import dev.evergreen.core.Grains;
import dev.evergreen.core.IdleAfter;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.Reentrant;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a user of grains sees, on one node. */
class GrainTest {

  private final BreakableStorage storage = new BreakableStorage();
  private final Node node =
      TestGrains.node()
          .grain(Walker.class, WalkerGrain::new)
          .grain(Again.class, AgainGrain::new)
          .grain(Ticking.class, TickingGrain::new)
          .grain(Broken.class, BrokenGrain::new)
          .storage(storage)
          .settings(
              NodeSettings.DEFAULT.withMaxValueBytes(10_000).withStopGrace(Duration.ofSeconds(2)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  private <T extends Grain> T get(Class<T> type, String key) {
    return node.grains().get(type, key);
  }

  /** Memory that fails when told to. */
  private static final class BreakableStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    volatile boolean broken;

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      if (broken) {
        throw new StorageException("the disk is on fire");
      }
      return memory.save(grain, expected, state);
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  record Trail(List<String> steps) {}

  /** Calls others and itself. */
  interface Walker extends Grain {
    @ReadOnly
    String name();

    @ReadOnly
    String readAround(String other);

    @ReadOnly
    String readSelf();

    @ReadOnly
    String readSelfForever();

    @ReadOnly
    void writeFromRead(String other);

    @ReadOnly
    void setStateFromRead();

    void visit(List<String> others);

    @ReadOnly
    List<String> trail();

    List<String> echo(List<String> list);

    void fail(String message) throws IOException;

    void failStrangely();

    String writeWhile(String gate);

    @ReadOnly
    String readWhile(String gate);

    int[] array(int[] numbers);
  }

  static final class WalkerGrain implements Walker {
    private final GrainContext<String> context;
    private final Grains grains;
    private final State<Trail> state;

    WalkerGrain(GrainContext<String> context) {
      this.context = context;
      this.grains = context.grains();
      this.state = context.state(Trail.class, new Trail(List.of()));
    }

    private Walker walker(String key) {
      return grains.get(Walker.class, key);
    }

    @Override
    public String name() {
      return context.key();
    }

    @Override
    public String readAround(String other) {
      return walker(other).readSelf() + walker(context.key()).name();
    }

    @Override
    public String readSelf() {
      return walker(context.key()).name();
    }

    @Override
    public String readSelfForever() {
      return walker(context.key()).readSelfForever();
    }

    @Override
    public void writeFromRead(String other) {
      walker(other).visit(List.of());
    }

    @Override
    public void setStateFromRead() {
      state.set(new Trail(List.of("no")));
    }

    @Override
    public void visit(List<String> others) {
      var steps = new ArrayList<>(state.get().steps());
      steps.add("visited");
      state.set(new Trail(steps));
      if (!others.isEmpty()) {
        walker(others.getFirst()).visit(others.subList(1, others.size()));
      }
    }

    @Override
    public List<String> trail() {
      return state.get().steps();
    }

    @Override
    public List<String> echo(List<String> list) {
      return list;
    }

    @Override
    public void fail(String message) throws IOException {
      throw new IOException(message, new IllegalStateException("cause"));
    }

    @Override
    public void failStrangely() {
      throw new java.util.concurrent.CompletionException("strange", null) {};
    }

    @Override
    public String writeWhile(String gate) {
      return grains.get(Gate.class, gate).writeWhenOpen();
    }

    @Override
    public String readWhile(String gate) {
      return grains.get(Gate.class, gate).readWhenOpen();
    }

    @Override
    public int[] array(int[] numbers) {
      numbers[0]++;
      return numbers;
    }
  }

  @Test
  void aReadMayFollowItselfAndComeBackByReads() {
    assertEquals("aa", get(Walker.class, "a").readAround("a"));
    assertEquals("ba", get(Walker.class, "a").readAround("b"));
  }

  @Test
  void theSameReadAgainIsACycle() {
    var walker = get(Walker.class, "a");
    var thrown = assertThrows(CycleException.class, walker::readSelfForever);
    assertNames(thrown, "Walker/a.readSelfForever");
  }

  @Test
  void aWriteThatComesBackIsACycleWithItsPath() {
    var thrown =
        assertThrows(
            CycleException.class, () -> get(Walker.class, "a").visit(List.of("b", "c", "a")));
    assertNames(thrown, "Walker/a.visit -> Walker/b.visit -> Walker/c.visit -> Walker/a.visit");
    assertNames(thrown, "@Reentrant");
    assertEquals(
        List.of(), get(Walker.class, "a").trail(), "an operation that throws sets nothing");
  }

  @Test
  void aReadMayNotWrite() {
    var walker = get(Walker.class, "a");
    assertNames(
        assertThrows(ReadOnlyViolationException.class, () -> walker.writeFromRead("b")),
        "Walker/b.visit");
    assertNames(
        assertThrows(ReadOnlyViolationException.class, walker::setStateFromRead), "Walker/a");
    assertEquals(List.of(), walker.trail());
  }

  @Test
  void readsInterleaveAtBlockingPointsAndWritesWait() throws Exception {
    GateGrain.shut();
    var walker = get(Walker.class, "a");
    var reading = CompletableFuture.supplyAsync(() -> walker.readWhile("g"));
    assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
    assertEquals("a", walker.name(), "another read gets in between");
    var writing = CompletableFuture.runAsync(() -> walker.visit(List.of()));
    assertThrows(
        java.util.concurrent.TimeoutException.class, () -> writing.get(100, TimeUnit.MILLISECONDS));
    assertFalse(reading.isDone());
    GateGrain.open.countDown();
    assertEquals("read", reading.get(20, TimeUnit.SECONDS));
    writing.get(20, TimeUnit.SECONDS);
  }

  @Test
  void writesExcludeEachOtherAlsoWhileTheyWait() throws Exception {
    GateGrain.shut();
    var walker = get(Walker.class, "a");
    var first = CompletableFuture.supplyAsync(() -> walker.writeWhile("g"));
    assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
    var second = CompletableFuture.supplyAsync(walker::name);
    assertThrows(
        java.util.concurrent.TimeoutException.class, () -> second.get(100, TimeUnit.MILLISECONDS));
    GateGrain.open.countDown();
    assertEquals("written", first.get(20, TimeUnit.SECONDS));
    assertEquals("a", second.get(20, TimeUnit.SECONDS));
  }

  @Test
  void manyCallersLoseNoUpdate() {
    var walker = get(Walker.class, "a");
    Parallel.forEach(IntStream.range(0, 200).boxed().toList(), i -> walker.visit(List.of()));
    assertEquals(200, walker.trail().size());
  }

  @Test
  void aTimeoutSaysThatTheOutcomeIsUnknown() {
    GateGrain.shut();
    var gate = node.grains().withTimeout(Duration.ofMillis(80)).get(Gate.class, "g");
    var thrown = assertThrows(GrainTimeoutException.class, gate::writeWhenOpen);
    assertInstanceOf(OutcomeUnknownException.class, thrown);
    assertNames(thrown, "Gate/g.writeWhenOpen");
    GateGrain.open.countDown();
    assertEquals("read", get(Gate.class, "g").readWhenOpen());
  }

  @Test
  void callerAndCalleeNeverShareWhatCanChange() {
    var walker = get(Walker.class, "a");
    var list = new ArrayList<>(List.of("x"));
    var echoed = walker.echo(list);
    assertEquals(list, echoed);
    assertNotSame(list, echoed);
    assertThrows(UnsupportedOperationException.class, () -> echoed.add("y"));
    int[] numbers = {1};
    assertEquals(2, walker.array(numbers)[0]);
    assertEquals(1, numbers[0]);
  }

  @Test
  void exceptionsArriveAsWhatTheyAreIfTheirClassMayBeKnown() {
    var walker = get(Walker.class, "a");
    var thrown = assertThrows(IOException.class, () -> walker.fail("no"));
    assertEquals("no", thrown.getMessage());
    assertInstanceOf(IllegalStateException.class, thrown.getCause());
    assertThrows(RuntimeException.class, walker::failStrangely);
  }

  record Big(String text) {}

  @Test
  void aValueTooLargeIsRefused() {
    var cell = get(Cell.class, "a");
    var thrown = assertThrows(ValueTooLargeException.class, () -> cell.set("x".repeat(20_000)));
    assertNames(thrown, "Cell/a.set");
    assertNames(thrown, "maxValueBytes");
    assertEquals("", cell.text());
  }

  interface Unregistered extends Grain {
    void touch();
  }

  @Test
  void aTypeThatIsNotRegisteredIsNamed() {
    var thrown =
        assertThrows(ActivationException.class, () -> get(Unregistered.class, "u").touch());
    assertNames(thrown, "Unregistered/u");
    assertNames(thrown, "register");
  }

  interface NoValue extends Grain {
    void take(File file);
  }

  interface NoValueResult extends Grain {
    List<Thread> give();
  }

  @Test
  void anOperationWithoutValuesIsNamed() {
    var thrown = assertThrows(InvalidGrainException.class, () -> get(NoValue.class, "n"));
    assertNames(thrown, "NoValue.take");
    assertNames(thrown, "java.io.File");
    assertNames(
        assertThrows(InvalidGrainException.class, () -> get(NoValueResult.class, "n")),
        "NoValueResult.give");
  }

  @Test
  void aKeyOfTheWrongTypeIsNamed() {
    @SuppressWarnings({"unchecked", "rawtypes"})
    var thrown =
        assertThrows(InvalidGrainException.class, () -> node.grains().get((Class) Cell.class, 5L));
    assertNames(thrown, "Cell");
    assertNames(thrown, "5");
  }

  /** Cannot be made. */
  interface Broken extends Grain {
    @ReadOnly
    String hello();
  }

  static final class BrokenGrain implements Broken {
    static final AtomicInteger FAILURES = new AtomicInteger();

    BrokenGrain(GrainContext<String> context) {
      if (FAILURES.getAndDecrement() > 0) {
        throw new IllegalArgumentException("cannot be made yet");
      }
    }

    @Override
    public String hello() {
      return "hello";
    }
  }

  @Test
  void aConstructorThatThrowsIsNamedAndTriedAgain() {
    BrokenGrain.FAILURES.set(1);
    var thrown = assertThrows(ActivationException.class, () -> get(Broken.class, "b").hello());
    assertNames(thrown, "Broken/b");
    assertNames(thrown, "cannot be made yet");
    assertEquals("hello", get(Broken.class, "b").hello());
  }

  @Test
  void aComputationRecoversWhenItsGrainCanBeMade() {
    BrokenGrain.FAILURES.set(3);
    try (var computation = node.reactive(() -> get(Broken.class, "b").hello())) {
      var tracker = computation.tracker();
      assertThrows(ActivationException.class, () -> tracker.next(SOON));
      assertEquals("hello", tracker.next(SOON));
    }
  }

  @Test
  void aStorageErrorFailsTheOperationAndLosesNothing() {
    var cell = get(Cell.class, "a");
    cell.set("saved");
    try (var computation = node.reactive(cell::text)) {
      var tracker = computation.tracker();
      assertEquals("saved", tracker.next(SOON));
      storage.broken = true;
      var thrown = assertThrows(StateNotSavedException.class, () -> cell.set("lost"));
      assertInstanceOf(OutcomeUnknownException.class, thrown);
      assertNames(thrown, "the disk is on fire");
      storage.broken = false;
      assertEquals("saved", cell.text());
      cell.set("saved again");
      assertEquals("saved again", tracker.next(SOON));
    }
  }

  @Test
  void theLoserOfARaceForARevisionIsDeactivated() {
    var cell = get(Cell.class, "a");
    cell.set("one");
    var id = new GrainId("Cell", "a");
    var stored = storage.load(id).orElseThrow();
    storage.save(id, stored.revision(), stored.state());
    assertThrows(StateNotSavedException.class, () -> cell.set("two"));
    assertEquals("one", cell.text());
    cell.set("three");
    assertEquals("three", cell.text());
  }

  @Test
  void aNodeThatTwoCloseIsClosedForBothWhenWhatRunsHasEnded() throws InterruptedException {
    GateGrain.shut();
    var settings = NodeSettings.DEFAULT.withStopGrace(Duration.ofSeconds(50));
    var closing = TestGrains.node().settings(settings).start();
    var gate = closing.grains().get(Gate.class, "g");
    var operation = Thread.ofPlatform().start(gate::writeWhenOpen);
    GateGrain.entered.await();
    var first = Thread.ofPlatform().start(closing::close);
    var second = Thread.ofPlatform().start(closing::close);
    await("both wait, or one has ended", () -> rests(first) && rests(second));
    boolean both = first.isAlive() && second.isAlive();
    GateGrain.open.countDown();
    for (var thread : List.of(operation, first, second)) {
      thread.join();
    }
    assertTrue(both);
  }

  private static boolean rests(Thread thread) {
    return thread.getState() != Thread.State.NEW && thread.getState() != Thread.State.RUNNABLE;
  }

  @Test
  void stateOutlivesTheNode() {
    get(Cell.class, "a").set("kept");
    node.close();
    try (var second = TestGrains.node().storage(storage).start()) {
      assertEquals("kept", second.grains().get(Cell.class, "a").text());
    }
  }

  /** May be entered again. */
  @Reentrant
  interface Again extends Grain {
    String enter(List<String> path);

    @ReadOnly
    int entered();
  }

  static final class AgainGrain implements Again {
    private final GrainContext<String> context;
    private int entered;

    AgainGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public String enter(List<String> path) {
      entered++;
      return path.isEmpty()
          ? context.key()
          : context.key()
              + context
                  .grains()
                  .get(Again.class, path.getFirst())
                  .enter(path.subList(1, path.size()));
    }

    @Override
    public int entered() {
      return entered;
    }
  }

  @Test
  void aReentrantGrainMayBeEnteredAgainByItsOwnChain() {
    assertEquals("abab", get(Again.class, "a").enter(List.of("b", "a", "b")));
    assertEquals(2, get(Again.class, "a").entered());
  }

  /** Has timers. */
  interface Ticking extends Grain {
    void start();

    void stop();

    void fail();

    @ReadOnly
    int ticks();

    void sleepAndLeave(Duration duration);

    void useFromOutside();
  }

  static final class TickingGrain implements Ticking {
    static volatile Runnable outside = () -> {};
    private final GrainContext<String> context;
    private int ticks;
    private GrainTimer timer = () -> {};

    TickingGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public void start() {
      timer = context.timer("tick", Duration.ZERO, Duration.ofMillis(5), () -> ticks++);
    }

    @Override
    public void stop() {
      timer.cancel();
    }

    @Override
    public void fail() {
      context.timer(
          "bad",
          Duration.ZERO,
          Duration.ZERO,
          () -> {
            ticks = 1_000;
            throw new IllegalStateException("a timer that fails on purpose");
          });
    }

    @Override
    public int ticks() {
      return ticks;
    }

    @Override
    public void sleepAndLeave(Duration duration) {
      context.sleep(duration);
      context.deactivate();
    }

    @Override
    public void useFromOutside() {
      var reference = context.grains().get(Cell.class, "a");
      outside = reference::text;
    }
  }

  @Test
  void timersAreTurnsThatComputationsSee() {
    var ticking = get(Ticking.class, "t");
    try (var computation = node.reactive(ticking::ticks)) {
      var tracker = computation.tracker();
      assertEquals(0, tracker.next(SOON));
      ticking.start();
      assertTrue(tracker.next(SOON) > 0);
      assertTrue(tracker.next(SOON) > 1);
      ticking.stop();
      ticking.fail();
      int last = 0;
      while (last < 1_000) {
        last = tracker.next(SOON);
      }
    }
  }

  @Test
  void aGrainThatDeactivatesItselfStartsAnew() {
    var ticking = get(Ticking.class, "t");
    ticking.start();
    try (var computation = node.reactive(ticking::ticks)) {
      var tracker = computation.tracker();
      int last = 0;
      while (last < 3) {
        last = tracker.next(SOON);
      }
      ticking.sleepAndLeave(Duration.ofMillis(1));
      while (last > 0) {
        last = tracker.next(SOON);
      }
      assertEquals(0, ticking.ticks(), "the timer has ended with the activation");
    }
  }

  @Test
  void aReferenceOfAContextRefusesOtherThreads() {
    get(Ticking.class, "t").useFromOutside();
    var thrown = assertThrows(InvalidGrainException.class, () -> TickingGrain.outside.run());
    assertNames(thrown, "Ticking/t");
  }

  @Test
  void anIdleGrainIsDeactivated() {
    try (var idle =
        TestGrains.node()
            .settings(NodeSettings.DEFAULT.withIdleAfter(Duration.ofMillis(50)))
            .start()) {
      idle.grains().get(Cell.class, "a").touch();
      assertEquals(1, idle.counts().activations());
      long deadline = System.nanoTime() + SOON.toNanos();
      while (idle.counts().activations() > 0) {
        assertTrue(System.nanoTime() < deadline);
        Thread.onSpinWait();
      }
    }
  }

  /** Counts its calls while it is active. */
  @IdleAfter(seconds = 3_600)
  public interface Stays extends Grain {
    int calls();
  }

  @IdleAfter(seconds = 0)
  public interface NeverThere extends Grain {
    void go();
  }

  @Test
  void aTypeMayHaveAnIdleTimeOfItsOwn() {
    try (var idle =
        TestGrains.node()
            .grain(
                Stays.class,
                context -> {
                  var calls = new AtomicInteger();
                  return calls::incrementAndGet;
                })
            .settings(NodeSettings.DEFAULT.withIdleAfter(Duration.ofMillis(50)))
            .start()) {
      var stays = idle.grains().get(Stays.class, "a");
      assertEquals(1, stays.calls());
      // One that is used later is closed later, or at the same time.
      idle.grains().get(Cell.class, "a").touch();
      long deadline = System.nanoTime() + SOON.toNanos();
      while (idle.counts().activations() > 1) {
        assertTrue(System.nanoTime() < deadline);
        Thread.onSpinWait();
      }
      assertEquals(2, stays.calls());
    }
    var refused =
        assertThrows(
            InvalidGrainException.class, () -> node.grains().get(NeverThere.class, "a").go());
    assertNames(refused, "NeverThere");
  }

  @Test
  void aFullQueueRefusesMore() throws Exception {
    GateGrain.shut();
    try (var small =
        TestGrains.node().settings(NodeSettings.DEFAULT.withMaxWaitingCalls(2)).start()) {
      var gate = small.grains().get(Gate.class, "g");
      var calls = new ArrayList<CompletableFuture<String>>();
      calls.add(CompletableFuture.supplyAsync(gate::writeWhenOpen));
      assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
      var refused = new CountDownLatch(1);
      for (int i = 0; i < 3; i++) {
        calls.add(
            CompletableFuture.supplyAsync(
                () -> {
                  try {
                    return gate.writeWhenOpen();
                  } catch (NotStartedException e) {
                    refused.countDown();
                    return e.getMessage();
                  }
                },
                Thread::startVirtualThread));
      }
      assertTrue(refused.await(20, TimeUnit.SECONDS));
      GateGrain.open.countDown();
      int written = 0;
      for (var call : calls) {
        written += call.get(20, TimeUnit.SECONDS).equals("written") ? 1 : 0;
      }
      assertEquals(3, written);
    }
  }

  @Test
  void theFirstAnswerWins() throws Exception {
    GateGrain.shut();
    try {
      assertEquals(
          "a",
          Parallel.first(
              List.of(
                  () -> get(Gate.class, "g").readWhenOpen(), () -> get(Walker.class, "a").name())));
    } finally {
      GateGrain.open.countDown();
    }
  }
}
