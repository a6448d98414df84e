package dev.evergreen.core.engine;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Result;
import java.time.Duration;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.LI_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** Computations with the whole way from a write to their trackers. */
public final class ComputationStress {

  private ComputationStress() {}

  private static <T> String next(Tracker<T> tracker) {
    try {
      return String.valueOf(tracker.next(StressNode.PATIENCE));
    } catch (ComputationClosedException e) {
      return "closed";
    } catch (NoNewResultException e) {
      return "too late";
    }
  }

  @JCStressTest
  @Description("A write that happens while a computation first runs is in its result.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "it has it")
  @Outcome(expect = FORBIDDEN, desc = "the mark was lost")
  @State
  public static class FirstRunOrWrite {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation =
        node.computation(() -> node.cell("c").value());

    @Actor
    public void run() {
      next(Tracker.of(computation));
    }

    @Actor
    public void write() {
      node.cell("c").set(1);
    }

    @Arbiter
    public void end(L_Result r) {
      node.settle();
      r.r1 = StressNode.text(computation.present(null));
      computation.close();
    }
  }

  @JCStressTest
  @Description("Two grains written at once are both in the result of who reads both.")
  @Outcome(id = "3", expect = ACCEPTABLE, desc = "both are")
  @Outcome(expect = FORBIDDEN, desc = "a mark was lost")
  @State
  public static class WriteOrWrite {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation =
        node.started(() -> node.cell("a").value() + node.cell("b").value());

    @Actor
    public void one() {
      node.cell("a").set(1);
    }

    @Actor
    public void two() {
      node.cell("b").set(2);
    }

    @Arbiter
    public void end(L_Result r) {
      node.settle();
      r.r1 = StressNode.text(computation.present(null));
      computation.close();
    }
  }

  @JCStressTest
  @Description("A computation closed while it runs again keeps nothing.")
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "all edges are gone")
  @Outcome(expect = FORBIDDEN, desc = "a cache is kept for ever")
  @State
  public static class CloseOrRun {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation =
        node.started(
            () -> node.cell("a").value() == 0 ? node.cell("b").value() : node.cell("c").value());

    @Actor
    public void write() {
      node.cell("a").set(1);
    }

    @Actor
    public void close() {
      computation.close();
    }

    @Arbiter
    public void end(I_Result r) {
      for (int i = 0; i < 3; i++) {
        node.settle();
        node.elapse();
      }
      node.settle();
      r.r1 = node.runtime().counts().caches();
    }
  }

  @JCStressTest
  @Description("Two trackers that start a computation together both get its result.")
  @Outcome(id = "7, 7", expect = ACCEPTABLE, desc = "both have it")
  @Outcome(expect = FORBIDDEN, desc = "one has something else")
  @State
  public static class TrackersTogether {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation = node.computation(() -> 7);
    private final Tracker<Integer> first = Tracker.of(computation);
    private final Tracker<Integer> second = Tracker.of(computation);

    @Actor
    public void one(LL_Result r) {
      r.r1 = next(first);
    }

    @Actor
    public void borrowing(LL_Result r) {
      r.r2 = String.valueOf(second.next());
    }

    @Arbiter
    public void end(LL_Result r) {
      computation.close();
    }
  }

  @JCStressTest
  @Description("A tracker that waits is woken by a new result, and gets each at most once.")
  @Outcome(id = "1, nothing", expect = ACCEPTABLE, desc = "it got it once")
  @Outcome(expect = FORBIDDEN, desc = "it was not woken, or got it twice")
  @State
  public static class TrackerOrWrite {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation =
        node.computation(() -> node.cell("c").value());
    private final Tracker<Integer> tracker = Tracker.of(computation);

    public TrackerOrWrite() {
      tracker.next(StressNode.PATIENCE);
      node.settle();
    }

    @Actor
    public void track(LL_Result r) {
      r.r1 = next(tracker);
    }

    @Actor
    public void write() {
      node.cell("c").set(1);
    }

    @Arbiter
    public void end(LL_Result r) {
      node.settle();
      r.r2 = tracker.poll(Duration.ZERO).isPresent() ? "again" : "nothing";
      computation.close();
    }
  }

  @JCStressTest
  @Description("A tracker that waits while its computation is closed is told.")
  @Outcome(
      id = {"7", "closed"},
      expect = ACCEPTABLE,
      desc = "the result, or the end")
  @Outcome(expect = FORBIDDEN, desc = "something else")
  @State
  public static class TrackerOrClose {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation = node.computation(() -> 7);
    private final Tracker<Integer> tracker = Tracker.of(computation);

    @Actor
    public void track(L_Result r) {
      r.r1 = next(tracker);
    }

    @Actor
    public void close() {
      computation.close();
    }

    @Arbiter
    public void end(L_Result r) {
      node.settle();
    }
  }

  /** Remembers what it is told. */
  private static final class Told implements Flow.Subscriber<Result<Integer>> {
    final AtomicInteger ends = new AtomicInteger();
    volatile Flow.@Nullable Subscription subscription;
    volatile int last = -1;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    void request() {
      var given = subscription;
      if (given != null) {
        given.request(1);
      }
    }

    @Override
    public void onNext(Result<Integer> result) {
      last = result.get();
    }

    @Override
    public void onError(Throwable failure) {
      throw new AssertionError("the computation does not fail", failure);
    }

    @Override
    public void onComplete() {
      ends.incrementAndGet();
    }
  }

  @JCStressTest
  @Description("A subscriber that asks while there is a new result gets the latest.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "it got it")
  @Outcome(expect = FORBIDDEN, desc = "what it asked for was lost")
  @State
  public static class DemandOrWrite {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation = node.started(() -> node.cell("c").value());
    private final Told told = new Told();

    public DemandOrWrite() {
      new ResultPublisher<>(computation).subscribe(told);
    }

    @Actor
    public void ask() {
      told.request();
    }

    @Actor
    public void write() {
      node.cell("c").set(1);
    }

    @Arbiter
    public void end(I_Result r) {
      told.request();
      StressNode.await(() -> told.last == 1, "the subscriber does not get the last result");
      r.r1 = told.last;
      computation.close();
      node.settle();
    }
  }

  @JCStressTest
  @Description("A subscriber is told once that the computation is closed, whether it asks or not.")
  @Outcome(
      id = {"-1, 1", "0, 1"},
      expect = ACCEPTABLE,
      desc = "with the result or without")
  @Outcome(expect = FORBIDDEN, desc = "it waits for ever, or is told twice")
  @State
  public static class DemandOrClose {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> computation = node.started(() -> node.cell("c").value());
    private final Told told = new Told();

    public DemandOrClose() {
      new ResultPublisher<>(computation).subscribe(told);
    }

    @Actor
    public void ask() {
      told.request();
    }

    @Actor
    public void close() {
      computation.close();
    }

    @Arbiter
    public void end(LI_Result r) {
      node.settle();
      r.r1 = told.last;
      r.r2 = told.ends.get();
    }
  }
}
