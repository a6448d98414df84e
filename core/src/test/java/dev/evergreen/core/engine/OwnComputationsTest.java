package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Node;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a grain's own computations show while an operation of the grain is under way. */
@Timeout(60)
class OwnComputationsTest {

  record Amount(long value) {}

  interface Account extends Grain {
    /** Sets the amount, asks its computation, and throws if {@code fails}; waits at the gate. */
    long setAndAsk(long amount, boolean subscribesFirst, boolean fails);

    void set(long amount);

    /** Sets the amount twice, and asks one computation of all its life each time. */
    List<Long> setTwiceAndAsk(long first, long second);

    /** What is first: a computation of its own that reads the gate, or a branch that is done. */
    @ReadOnly
    String first() throws Exception;
  }

  /** The computation of {@link Account#setAndAsk}. */
  private static final AtomicReference<ReactiveComputation<Long>> ASKED = new AtomicReference<>();

  /** What a subscriber from outside has seen. */
  private static final List<Long> SEEN = new CopyOnWriteArrayList<>();

  private static final class AccountGrain implements Account {
    private final GrainContext<String> context;
    private final State<Amount> state;
    private @Nullable ReactiveComputation<Long> kept;

    AccountGrain(GrainContext<String> context) {
      this.context = context;
      state = context.state(Amount.class, new Amount(0));
    }

    @Override
    public long setAndAsk(long amount, boolean subscribesFirst, boolean fails) {
      state.set(new Amount(amount));
      var computation = context.reactive(() -> state.get().value());
      ASKED.set(computation);
      var tracker = computation.tracker();
      if (subscribesFirst) {
        follow(computation);
      }
      long asked = tracker.next();
      if (!subscribesFirst) {
        follow(computation);
      }
      context.grains().get(TestGrains.Gate.class, "g").readWhenOpen();
      if (fails) {
        throw new IllegalStateException("rolled back");
      }
      return asked;
    }

    private static void follow(ReactiveComputation<Long> computation) {
      computation.publisher().subscribe(new Follower());
    }

    @Override
    public void set(long amount) {
      state.set(new Amount(amount));
    }

    @Override
    public List<Long> setTwiceAndAsk(long first, long second) {
      if (kept == null) {
        kept = context.reactive(() -> state.get().value());
      }
      state.set(new Amount(first));
      long one = kept.tracker().next();
      state.set(new Amount(second));
      return List.of(one, kept.tracker().next());
    }

    @Override
    public String first() throws Exception {
      try (var ofGate = context.reactive(this::ofGate)) {
        return Parallel.first(List.of(() -> ofGate.tracker().next(), () -> "the other branch"));
      }
    }

    private String ofGate() {
      try {
        var gates = context.grains().withTimeout(Duration.ofSeconds(2));
        return gates.get(TestGrains.Gate.class, "g").readWhenOpen();
      } catch (GrainTimeoutException e) {
        return "nobody opened the gate";
      }
    }
  }

  private static final class Follower implements Flow.Subscriber<Result<Long>> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Result<Long> result) {
      SEEN.add(result.get());
    }

    @Override
    public void onError(Throwable thrown) {
      SEEN.add(Long.MIN_VALUE);
    }

    @Override
    public void onComplete() {}
  }

  private final Node node = TestGrains.node().grain(Account.class, AccountGrain::new).start();
  private final Account account = node.grains().withTimeout(SOON).get(Account.class, "a");

  OwnComputationsTest() {
    SEEN.clear();
    TestGrains.GateGrain.shut();
  }

  @AfterEach
  void stop() {
    node.close();
  }

  private CompletableFuture<Long> setAndAsk(long amount, boolean subscribesFirst, boolean fails) {
    return CompletableFuture.supplyAsync(
        () -> account.setAndAsk(amount, subscribesFirst, fails), Thread::startVirtualThread);
  }

  @Test
  void whatIsRolledBackIsSeenByNobody() throws Exception {
    for (boolean subscribesFirst : List.of(false, true)) {
      SEEN.clear();
      TestGrains.GateGrain.shut();
      var failing = setAndAsk(99, subscribesFirst, true);
      TestGrains.GateGrain.entered.await();
      TestGrains.GateGrain.open.countDown();
      assertThrows(ExecutionException.class, () -> failing.get(20, TimeUnit.SECONDS));
      WiredNodes.await("a result", () -> !SEEN.isEmpty());
      assertEquals(List.of(0L), SEEN);
    }
  }

  @Test
  void theOperationSeesWhatItHasDoneAndOthersSeeItWhenItHasEnded() throws Exception {
    var setting = setAndAsk(7, true, false);
    TestGrains.GateGrain.entered.await();
    assertFalse(SEEN.contains(7L));
    TestGrains.GateGrain.open.countDown();
    assertEquals(7, setting.get(20, TimeUnit.SECONDS));
    WiredNodes.await("a result", () -> SEEN.equals(List.of(7L)));
    account.set(8);
    WiredNodes.await("a result", () -> SEEN.equals(List.of(7L, 8L)));
  }

  @Test
  void aWriteSeesWhatItHasDoneSoFarAlsoWhenThereWasAResultBefore() {
    var account = node.grains().get(Account.class, "a");
    assertEquals(List.of(5L, 6L), account.setTwiceAndAsk(5, 6));
    assertEquals(List.of(7L, 8L), account.setTwiceAndAsk(7, 8));
  }

  /** It may run on the branch's thread, and is part of the branch then. */
  @Test
  void aComputationThatABranchWaitsForKeepsNoOtherBranchFromRunning() throws Exception {
    assertEquals("the other branch", account.first());
    TestGrains.GateGrain.open.countDown();
  }

  /** There is nothing for others yet, which is not to be looked for without a pause. */
  @Test
  void whatIsProvisionalIsWaitedForInPeace() throws Exception {
    TestGrains.GateGrain.shut();
    var account = node.grains().get(Account.class, "a");
    var asked = CompletableFuture.supplyAsync(() -> account.setAndAsk(5, false, false));
    TestGrains.GateGrain.entered.await();
    try (var tracker = Objects.requireNonNull(ASKED.get()).tracker()) {
      assertEquals(Optional.empty(), tracker.observe(TestGrains.SHORTLY));
      TestGrains.GateGrain.open.countDown();
      assertEquals(5, asked.get(20, TimeUnit.SECONDS));
      assertEquals(new Result.Value<>(5L), tracker.observe(SOON).orElseThrow().result());
    }
  }
}
