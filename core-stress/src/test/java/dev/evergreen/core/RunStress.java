package dev.evergreen.core;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

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
    private final Run run =
        new Run(
            node.runtime(),
            node.computation(
                () -> {
                  var deadline = System.nanoTime() + StressNode.PATIENCE.toNanos();
                  var scope = Scope.current();
                  return scope != null && scope.await(() -> false, deadline);
                }));

    @Actor
    public void execute(L_Result r) {
      run.baton().acquire();
      r.r1 = StressNode.text(run.execute(null));
      run.baton().release();
    }

    @Actor
    public void discard() {
      run.discard();
    }
  }

  @JCStressTest
  @Description("What a run waits for can be looked at; when it has it, it waits for nothing.")
  @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "it got the result")
  @Outcome(expect = FORBIDDEN, desc = "it was not woken, or seems to wait still")
  @State
  public static class WaitingForIsSeen {
    private final StressNode node = new StressNode();
    private final Run run = new Run(node.runtime(), node.computation(() -> node.cell("c").value()));

    @Actor
    public void execute(LI_Result r) {
      run.baton().acquire();
      r.r1 = StressNode.text(run.execute(null));
      run.baton().release();
    }

    @Actor
    public void look() {
      var caches = run.waitingFor();
      if (caches.size() > 1) {
        throw new AssertionError("waits for " + caches);
      }
    }

    @Arbiter
    public void end(LI_Result r) {
      r.r2 = run.waitingFor().size();
      node.settle();
    }
  }
}
