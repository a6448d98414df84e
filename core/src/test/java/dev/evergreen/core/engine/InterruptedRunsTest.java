package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Node;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The application interrupts threads that compute, such as a library with a time limit of its own:
 * what comes of that once must not stand until the grain's next write.
 */
class InterruptedRunsTest {

  /** How an operation waits, and what it makes of an interrupt. */
  enum Way {
    BY_CONTEXT,
    IN_BRANCH,
    WRAPPED,
    BY_JDK,
    BY_JDK_WRAPPED
  }

  /** Where an operation waits that shows something else when it is interrupted. */
  enum Where {
    ITSELF,
    IN_BRANCH,
    IN_BRANCH_ELSEWHERE,
    IN_JDK,
    IN_JDK_IN_BRANCH_ELSEWHERE
  }

  interface Napper extends Grain {
    @ReadOnly
    String napOrElse(Where where);

    @ReadOnly
    String disturbItself();

    @ReadOnly
    String nap(Way way) throws Exception;

    @ReadOnly
    String napInBranches();

    @ReadOnly
    String napBesideGate();

    @ReadOnly
    String untilTheGateIsEntered();

    String napInOwnComputation() throws Exception;

    String napInOwnBranches();

    String computeThoughInterrupted();
  }

  /** The threads that nap. */
  private static final LinkedBlockingQueue<Thread> NAPPING = new LinkedBlockingQueue<>();

  private static final AtomicInteger DISTURBED = new AtomicInteger();

  record NapperGrain(GrainContext<String> context) implements Napper {
    @Override
    public String nap(Way way) throws Exception {
      if (DISTURBED.get() > 0 && DISTURBED.decrementAndGet() >= 0) {
        switch (way) {
          case BY_CONTEXT -> napByContext();
          case IN_BRANCH ->
              Parallel.map(
                  List.of(1, 2),
                  i -> {
                    if (i == 2) {
                      napByContext();
                    }
                    return i;
                  });
          case WRAPPED -> {
            try {
              napByContext();
            } catch (CallInterruptedException e) {
              var _ = Thread.interrupted();
              throw new IllegalStateException("disturbed", e);
            }
          }
          case BY_JDK -> napByJdk();
          case BY_JDK_WRAPPED -> {
            try {
              napByJdk();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
              throw new IllegalStateException("disturbed");
            }
          }
        }
        throw new AssertionError("nobody has disturbed it");
      }
      return "rested";
    }

    @Override
    public String napOrElse(Where where) {
      if (DISTURBED.get() <= 0 || DISTURBED.decrementAndGet() < 0) {
        return "rested";
      }
      return switch (where) {
        case ITSELF -> napOr();
        case IN_JDK -> napOrByJdk();
        case IN_BRANCH -> both(() -> "", this::napOr);
        case IN_BRANCH_ELSEWHERE -> both(this::rest, this::napOr);
        case IN_JDK_IN_BRANCH_ELSEWHERE -> both(this::rest, NapperGrain::napOrByJdk);
      };
    }

    private String napOr() {
      try {
        napByContext();
      } catch (CallInterruptedException e) {
        var _ = Thread.interrupted();
      }
      return "instead";
    }

    private static String napOrByJdk() {
      try {
        napByJdk();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return "instead";
    }

    /** A worker that waits has another one go on. */
    private String rest() {
      context.sleep(Duration.ofMillis(1));
      return "";
    }

    @Override
    public String disturbItself() {
      DISTURBED.incrementAndGet();
      var begun = new AtomicBoolean();
      try {
        return both(
            () -> {
              while (!begun.get()) {
                rest();
              }
              Thread.currentThread().interrupt();
              return "";
            },
            () -> {
              begun.set(true);
              context.sleep(Duration.ofHours(1));
              return "";
            });
      } catch (CallInterruptedException e) {
        return "instead";
      }
    }

    private void napByContext() {
      NAPPING.add(Thread.currentThread());
      context.sleep(Duration.ofHours(1));
    }

    /** The asking thread has the first branch, and has ended that when the second naps. */
    @Override
    public String napInBranches() {
      var asking = Thread.currentThread();
      var begun = new AtomicBoolean();
      var ended = new AtomicBoolean();
      try {
        Parallel.map(
            List.of(true, false),
            first -> {
              begun.compareAndSet(false, !first);
              while (!(first ? begun : ended).get()) {
                context.sleep(Duration.ofMillis(1));
              }
              ended.set(true);
              if (!first && DISTURBED.getAndDecrement() > 0) {
                NAPPING.add(asking);
                context.sleep(Duration.ofHours(1));
              }
              return first;
            });
        return "rested";
      } catch (CallInterruptedException e) {
        var _ = Thread.interrupted(); // else those around it are interrupted, too
        NAPPING.add(asking); // it naps no more
        return "instead";
      }
    }

    @Override
    public String napBesideGate() {
      var gate = context.grains().get(Gate.class, "g");
      return Parallel.map(
              List.of(true, false), naps -> naps ? napInBranches() : gate.readWhenOpen())
          .toString();
    }

    @Override
    public String untilTheGateIsEntered() {
      try {
        GateGrain.entered.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return "entered";
    }

    @Override
    public String napInOwnComputation() throws Exception {
      try (var own =
          context.reactive(
              () -> {
                napByJdk();
                return "rested";
              })) {
        return own.tracker().next();
      }
    }

    @Override
    public String computeThoughInterrupted() {
      Thread.currentThread().interrupt();
      try (var own = context.reactive(() -> "rested")) {
        return own.tracker().next();
      } finally {
        assertTrue(Thread.interrupted(), "it is the write's own");
      }
    }

    @Override
    public String napInOwnBranches() {
      try (var own = context.reactive(this::napInBranches)) {
        return own.tracker().next();
      }
    }
  }

  private static void napByJdk() throws InterruptedException {
    NAPPING.add(Thread.currentThread());
    Thread.sleep(Duration.ofHours(1));
  }

  private static void disturbNext() throws InterruptedException {
    var thread = Objects.requireNonNull(NAPPING.poll(20, TimeUnit.SECONDS), "nobody naps");
    WiredNodes.await("it naps", () -> WiredNodes.waits(thread));
    thread.interrupt();
  }

  private final Node node = TestGrains.node().grain(Napper.class, NapperGrain::new).start();

  @BeforeEach
  void wake() {
    NAPPING.clear();
    DISTURBED.set(1);
  }

  @AfterEach
  void stop() {
    node.close();
  }

  private ReactiveComputation<String> napping(Way way) {
    return node.reactive(() -> node.grains().get(Napper.class, "n").nap(way));
  }

  /** Seen: the interrupt was the result, as current, until the next write. */
  @ParameterizedTest
  @EnumSource
  void whatAnInterruptEndsIsNoResult(Way way) throws Exception {
    try (var computation = napping(way)) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      disturbNext();
      assertEquals("rested", results.next(SOON));
    }
  }

  /** Else an operation that interrupts itself would run without end. */
  @ParameterizedTest
  @EnumSource
  void whatEndsSoEachTimeIsOne(Way way) throws Exception {
    DISTURBED.set(Integer.MAX_VALUE);
    try (var computation = napping(way)) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      for (int i = 0; i <= 3; i++) {
        disturbNext();
      }
      assertInstanceOf(Result.Failure.class, results.poll(SOON).orElseThrow());
      assertEquals(Freshness.CURRENT, results.freshness());
    }
  }

  /** Seen: what it showed instead was current until the next write. */
  @ParameterizedTest
  @EnumSource
  void whatIsShownInsteadOfItIsNoResultEither(Where where) throws Exception {
    try (var computation =
        node.reactive(() -> node.grains().get(Napper.class, "n").napOrElse(where))) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      disturbNext();
      assertEquals("rested", results.next(SOON));
    }
  }

  /** Seen: it ran without end. */
  @Test
  void whoDisturbsItselfRunsFourTimes() throws Exception {
    DISTURBED.set(0);
    try (var computation = node.reactive(node.grains().get(Napper.class, "n")::disturbItself)) {
      assertEquals("instead", computation.tracker().next(SOON));
      assertEquals(4, DISTURBED.get());
    }
  }

  @Test
  void norIsItOneOnAThreadThatWasLent() throws Exception {
    var napped = new AtomicInteger();
    try (var computation =
        node.reactive(
            () -> {
              if (napped.getAndIncrement() == 0) {
                napByJdk();
              }
              return "rested";
            })) {
      var result =
          CompletableFuture.supplyAsync(
              () -> computation.tracker().next(), Thread::startVirtualThread);
      disturbNext();
      assertEquals("rested", result.get(20, TimeUnit.SECONDS));
    }
  }

  /** It runs again when the write has ended, so the write cannot wait for that. */
  @Test
  void aWriteWhoseComputationAnInterruptEndsFails() throws Exception {
    assertInstanceOf(ComputationFailedException.class, disturbed(Napper::napInOwnComputation));
  }

  @Test
  void soDoesOneWhoseComputationHasNoResult() throws Exception {
    assertInstanceOf(CallInterruptedException.class, disturbed(Napper::napInOwnBranches));
  }

  /** It came to the write before, which may have set the status again, as one should. */
  @Test
  void anEarlierInterruptIsNoneOfAnOwnComputation() {
    assertEquals("rested", node.grains().get(Napper.class, "n").computeThoughInterrupted());
  }

  private interface Write {
    String of(Napper napper) throws Exception;
  }

  private Throwable disturbed(Write write) throws Exception {
    var napper = node.grains().get(Napper.class, "n");
    var asked = new CompletableFuture<String>();
    Thread.startVirtualThread(
        () -> {
          try {
            asked.complete(write.of(napper));
          } catch (Throwable t) {
            asked.completeExceptionally(t);
          }
        });
    disturbNext();
    var failure = assertThrows(ExecutionException.class, () -> asked.get(20, TimeUnit.SECONDS));
    return Objects.requireNonNull(failure.getCause());
  }

  /** Seen: it was shown as current, and its branches had never read what they were to read. */
  @Test
  void whatIsComputedWithoutBranchesIsNoResult() throws Exception {
    try (var computation = node.reactive(node.grains().get(Napper.class, "n")::napInBranches)) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      disturbNext();
      assertEquals("rested", results.next(SOON));
    }
  }

  /** Seen: an answer to the other branch made it current. */
  @Test
  void whatIsComputedWithoutBranchesIsNoneBesideWhatIsReadEither() throws Exception {
    GateGrain.shut();
    try (var computation = node.reactive(node.grains().get(Napper.class, "n")::napBesideGate)) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      GateGrain.entered.await();
      disturbNext();
      assertNotNull(NAPPING.poll(20, TimeUnit.SECONDS), "it goes on without its branches");
      GateGrain.open.countDown();
      assertEquals("[rested, read]", results.next(SOON));
    }
  }

  /** Branches that were cut off in a read keep their edges, as a read without branches does. */
  @Test
  void whatIsShownInsteadOfBranchesIsInDoubtUntilTheyAnswer() throws Exception {
    whatIsShownInsteadIsInDoubt(
        new CountDownLatch(0), gates -> Parallel.map(gates, Gate::readWhenOpen).toString());
  }

  /** Nor do those in a branch. Each of the three is read by a thread of its own. */
  @Test
  void soIsWhatIsShownInsteadOfBranchesInABranch() throws Exception {
    var one = node.grains().get(Napper.class, "one");
    var other = node.grains().get(Napper.class, "other");
    var answered = new CountDownLatch(2);
    whatIsShownInsteadIsInDoubt(
        answered,
        gates ->
            both(
                    () -> behind(one, answered),
                    () -> both(() -> behind(other, answered), gates.getFirst()::readWhenOpen))
                .replace("entered, [entered, read]", "read, read"));
  }

  private static String behind(Napper napper, CountDownLatch answered) {
    var entered = napper.untilTheGateIsEntered();
    answered.countDown();
    return entered;
  }

  private static String both(Supplier<String> one, Supplier<String> other) {
    return Parallel.map(List.of(one, other), Supplier::get).toString();
  }

  private interface Reading {
    String of(List<Gate> gates);
  }

  private void whatIsShownInsteadIsInDoubt(CountDownLatch answered, Reading reading)
      throws Exception {
    GateGrain.shut();
    var gates = List.of(node.grains().get(Gate.class, "g"), node.grains().get(Gate.class, "h"));
    var runs = new LinkedBlockingQueue<Thread>();
    try (var computation =
        node.reactive(
            () -> {
              runs.add(Thread.currentThread());
              try {
                return reading.of(gates);
              } catch (CallInterruptedException e) {
                return "instead";
              }
            })) {
      var results = computation.tracker();
      assertEquals(Optional.empty(), results.poll(Duration.ZERO));
      GateGrain.entered.await();
      answered.await();
      var run = runs.take();
      WiredNodes.await("it waits", () -> WiredNodes.waits(run));
      run.interrupt();
      assertEquals("instead", results.next(SOON));
      assertEquals(Freshness.IN_DOUBT, results.freshness());
      GateGrain.open.countDown();
      assertEquals("[read, read]", results.next(SOON));
      WiredNodes.await("it is certain", () -> results.freshness() == Freshness.CURRENT);
    }
  }
}
