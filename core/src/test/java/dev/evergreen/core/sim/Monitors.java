package dev.evergreen.core.sim;

/**
 * How many monitors of the core a thread of a simulated world holds. Where it holds none and is
 * about to take one, or to use a concurrent collection, others may run. Between two such places it
 * does nothing that others can see but to write volatile fields.
 *
 * <p>Called by the code that {@link Stepwise} puts into the core.
 */
public final class Monitors {

  private static final ThreadLocal<Monitors> MINE = new ThreadLocal<>();

  private final Scheduler scheduler;
  private int held;

  private Monitors(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** The calling thread is one of this world. */
  static void watch(Scheduler scheduler) {
    MINE.set(new Monitors(scheduler));
  }

  /** The calling thread is about to take a monitor. */
  public static void take() {
    var mine = MINE.get();
    if (mine != null) {
      if (mine.held == 0) {
        mine.scheduler.preemptAtMonitor();
      }
      mine.held++;
    }
  }

  /** The calling thread is about to use what threads share without a monitor. */
  public static void pass() {
    var mine = MINE.get();
    if (mine != null && mine.held == 0) {
      mine.scheduler.preemptAtMonitor();
    }
  }

  /** It has given one back. */
  public static void giveBack() {
    var mine = MINE.get();
    if (mine != null) {
      mine.held--;
    }
  }
}
