package dev.evergreen.core.sim;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Decides by random numbers. */
final class RandomPolicy implements Policy {

  /**
   * How a run is scheduled.
   *
   * @param stepNanos the most virtual time that a step of a thread takes
   * @param hiccupOneIn one step in so many takes up to {@code hiccupNanos}; 0 for none
   * @param hiccupNanos the most virtual time of a slow step
   * @param spuriousOneIn one park in so many returns without a reason; 0 for none
   * @param priorities whether threads run by random priorities that change now and then, which
   *     starves some for long, instead of all with the same chance
   * @param preemptOneIn one in so many calls of the core into the simulation lets others run; 0 for
   *     none
   * @param maxSteps a run with more steps has run away
   */
  record Pace(
      long stepNanos,
      int hiccupOneIn,
      long hiccupNanos,
      int spuriousOneIn,
      boolean priorities,
      int preemptOneIn,
      long maxSteps) {}

  private static final int NEW_PRIORITY_ONE_IN = 20;

  private final SplittableRandom random;
  private final Pace pace;

  RandomPolicy(SplittableRandom random, Pace pace) {
    this.random = random;
    this.pace = pace;
  }

  @Override
  public long maxSteps() {
    return pace.maxSteps;
  }

  @Override
  public long stepNanos() {
    return random.nextLong((oneIn(pace.hiccupOneIn) ? pace.hiccupNanos : pace.stepNanos) + 1);
  }

  @Override
  public boolean wakesWithoutReason() {
    return oneIn(pace.spuriousOneIn);
  }

  @Override
  public boolean preempts() {
    return oneIn(pace.preemptOneIn);
  }

  @Override
  public boolean preemptsOneIn(int places) {
    return oneIn(places);
  }

  @Override
  public void started(SimThread thread) {
    thread.priority = random.nextInt();
  }

  @Override
  public long horizonNanos() {
    return 0;
  }

  @Override
  public @Nullable History history() {
    return null;
  }

  @Override
  public boolean endsAtRest(LongSupplier state) {
    return false;
  }

  @Override
  public Next next(List<SimThread> runnable, boolean due) {
    int choice = random.nextInt(due ? runnable.size() + 1 : runnable.size());
    if (choice == runnable.size()) {
      return Happen.EVENT;
    }
    return new Resume(pace.priorities ? highest(runnable) : choice);
  }

  private int highest(List<SimThread> runnable) {
    int best = 0;
    for (int i = 1; i < runnable.size(); i++) {
      if (runnable.get(i).priority > runnable.get(best).priority) {
        best = i;
      }
    }
    if (random.nextInt(NEW_PRIORITY_ONE_IN) == 0) {
      runnable.get(best).priority = random.nextInt();
    }
    return best;
  }

  private boolean oneIn(int many) {
    return many > 0 && random.nextInt(many) == 0;
  }
}
