package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import java.time.Instant;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Processes in virtual time, for the simulations of other rooms: one thread of one of them runs at
 * a time, and a seed decides which.
 */
public final class VirtualTime {

  private static final long MOST_STEPS = 5_000_000;

  private final Scheduler scheduler;
  private final Machine world;

  /** What is random here is drawn from this. */
  public VirtualTime(SplittableRandom random) {
    var pace = new RandomPolicy.Pace(1_000, 50, 2_000_000, 20, random.nextBoolean(), 3, MOST_STEPS);
    this.scheduler = new Scheduler(new RandomPolicy(random, pace), new Trace(false));
    this.world = new Machine(scheduler.world());
  }

  /**
   * Runs a world, which ends when {@code main} does; blocks the calling thread until then.
   *
   * @throws RuntimeException or an error if a thread of the world has failed, or waits for ever
   */
  public void run(Runnable main) {
    scheduler.run(main);
  }

  /** Everything outside the simulated processes, such as a database. It is never paused. */
  public Machine world() {
    return world;
  }

  /** A new machine. */
  public Machine machine(String name) {
    return new Machine(new Life(name));
  }

  /** A machine with one simulated process, as the program there sees it. */
  public final class Machine implements Clock, Threads {
    private final Life life;
    private long origin;
    private long pausedAt;
    private boolean standsStill;

    private Machine(Life life) {
      this.life = life;
    }

    @Override
    public long nanos() {
      return scheduler.now() - origin;
    }

    @Override
    public Instant now() {
      return Instant.EPOCH.plusNanos(nanos());
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      return scheduler.after(delayNanos, life, task);
    }

    @Override
    public Thread start(Runnable task) {
      var thread = scheduler.start(life, "thread", task).thread;
      scheduler.preempt();
      return thread;
    }

    @Override
    public void park() {
      scheduler.park();
    }

    @Override
    public void parkNanos(long nanos) {
      scheduler.parkNanos(nanos);
    }

    @Override
    public void unpark(Thread thread) {
      scheduler.unpark(thread);
    }

    /** Lets the calling thread wait for a while. */
    public void sleep(long nanos) {
      scheduler.sleep(nanos);
    }

    /** Lets the calling thread wait until it is unparked and something holds. */
    public void await(BooleanSupplier done) {
      while (!done.getAsBoolean()) {
        park();
      }
    }

    /**
     * Nothing of it goes on until it is resumed.
     *
     * @param clockStandsStill whether its clock stands still, too
     */
    public void pause(boolean clockStandsStill) {
      if (isRunning()) {
        scheduler.pause(life);
        pausedAt = scheduler.now();
        standsStill = clockStandsStill;
      }
    }

    /** It goes on if it was paused. */
    public void resume() {
      if (life.condition == Life.Condition.PAUSED) {
        origin += standsStill ? scheduler.now() - pausedAt : 0;
        scheduler.resume(life);
      }
    }

    /** It never goes on. */
    public void kill() {
      scheduler.kill(life);
    }

    /** Whether it is neither paused nor dead. */
    public boolean isRunning() {
      return life.condition == Life.Condition.RUNNING;
    }

    /** Whether it was killed. */
    public boolean isDead() {
      return life.dead();
    }
  }
}
