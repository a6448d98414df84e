package dev.evergreen.core.engine;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.work.Baton;
import dev.evergreen.core.work.Cancellation;
import dev.evergreen.core.work.Tasks;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** The baton, and runs that wait. */
public final class RunStress {

  private RunStress() {}

  @JCStressTest
  @Description("One thread at a time holds the baton, and whoever waits gets it.")
  @Outcome(id = "6", expect = ACCEPTABLE, desc = "one after the other")
  @Outcome(expect = FORBIDDEN, desc = "two at once")
  @State
  public static class BatonExcludes {
    private final Baton baton = new Baton(StressNode.TIME);
    private int turns;

    private void takeOften() {
      for (int i = 0; i < 3; i++) {
        baton.acquire();
        turns++;
        baton.release();
      }
    }

    @Actor
    public void one() {
      takeOften();
    }

    @Actor
    public void two() {
      takeOften();
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = turns;
    }
  }

  @JCStressTest
  @Description("An interrupted thread waits for the baton all the same, and stays interrupted.")
  @Outcome(id = "2, interrupted", expect = ACCEPTABLE, desc = "both are kept")
  @Outcome(expect = FORBIDDEN, desc = "it did not wait, or forgot the interruption")
  @State
  public static class BatonKeepsInterruptions {
    private final Baton baton = new Baton(StressNode.TIME);
    private int turns;
    private String interrupted = "forgotten";

    @Actor
    public void one() {
      baton.acquire();
      turns++;
      baton.release();
    }

    @Actor
    public void interrupted() {
      Thread.currentThread().interrupt();
      baton.acquire();
      turns++;
      baton.release();
      if (Thread.interrupted()) {
        interrupted = "interrupted";
      }
    }

    @Arbiter
    public void count(LL_Result r) {
      r.r1 = turns;
      r.r2 = interrupted;
    }
  }

  @JCStressTest
  @Description("A task gets the baton at once or from who releases it, and threads wait for it.")
  @Outcome(id = "4", expect = ACCEPTABLE, desc = "one after the other")
  @Outcome(expect = FORBIDDEN, desc = "two at once, or a task that nobody ran")
  @State
  public static class TasksGetTheBaton {
    private final Baton baton = new Baton(StressNode.TIME);
    private int turns;

    private void release() {
      runAll(baton.release());
    }

    private void runAll(Tasks.@Nullable Task granted) {
      for (var task = granted; task != null; task = baton.release()) {
        task.run(new Tasks());
      }
    }

    private void submit() {
      Tasks.Task task = next -> turns++;
      if (baton.acquireFor(task)) {
        runAll(task);
      }
    }

    @Actor
    public void thread() {
      for (int i = 0; i < 2; i++) {
        baton.acquire();
        turns++;
        release();
      }
    }

    @Actor
    public void tasks() {
      submit();
      submit();
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = turns;
    }
  }

  @JCStressTest
  @Description("A run that waits ends when it is discarded.")
  @Outcome(id = "nothing", expect = ACCEPTABLE, desc = "it ended without a result")
  @Outcome(expect = FORBIDDEN, desc = "it went on waiting")
  @State
  public static class DiscardEndsWaiting {
    private final StressNode node = new StressNode();
    private final RootComputation<Boolean> computation =
        node.computation(
            () -> {
              var deadline = System.nanoTime() + StressNode.PATIENCE.toNanos();
              var scope = Scope.current();
              return scope != null && scope.await(() -> false, deadline, false);
            });
    private final Summary.Run run = begin();

    private Summary.Run begin() {
      synchronized (computation.guard) {
        computation.marked = true;
        return Objects.requireNonNull(computation.begin());
      }
    }

    @Actor
    public void execute(L_Result r) {
      run.runLent(new Tasks());
      r.r1 = StressNode.text(computation.present(null));
    }

    @Actor
    public void discard() {
      run.discard();
    }
  }

  @JCStressTest
  @Description("Of two runs that wait for each other, the one that waits last sees the circle.")
  @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the second sees it")
  @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "the first sees it")
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "both see it")
  @Outcome(expect = FORBIDDEN, desc = "nobody sees it")
  @State
  public static class WaitingInCircleIsSeen {
    private final StressNode node = new StressNode();
    private final CycleSearch cycles = node.runtime().cycles;
    private final CallKey one = node.valueOf("one");
    private final CallKey two = node.valueOf("two");

    private int sees(CallKey own, CallKey other) {
      var cache = new Cache(node.runtime().caches, other);
      cycles.waits(own, cache, new Cancellation());
      return cycles.waitingHere(own, cache) == null ? 0 : 1;
    }

    @Actor
    public void one(II_Result r) {
      r.r1 = sees(one, two);
    }

    @Actor
    public void two(II_Result r) {
      r.r2 = sees(two, one);
    }
  }
}
