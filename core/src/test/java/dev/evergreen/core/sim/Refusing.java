package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import java.time.Instant;
import java.util.SplittableRandom;
import java.util.concurrent.RejectedExecutionException;

/**
 * The clock and the threads of a process that is short of memory: it refuses some of what is asked.
 */
final class Refusing implements Clock, Threads {

  private static final int THREADS_REFUSED_ONE_IN = 50;
  private static final int TIMERS_REFUSED_ONE_IN = 100;

  /** Where threads, timers and threads again are refused there is nothing that could be done. */
  private static final int MOST_IN_A_ROW = 2;

  private final Clock clock;
  private final Threads threads;
  private final SplittableRandom random;
  private int inARow;

  Refusing(Clock clock, Threads threads, SplittableRandom random) {
    this.clock = clock;
    this.threads = threads;
    this.random = random;
  }

  private boolean refuses(int oneIn) {
    boolean refuses = inARow < MOST_IN_A_ROW && random.nextInt(oneIn) == 0;
    inARow = refuses ? inARow + 1 : 0;
    return refuses;
  }

  @Override
  public long nanos() {
    return clock.nanos();
  }

  @Override
  public Instant now() {
    return clock.now();
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    if (refuses(TIMERS_REFUSED_ONE_IN)) {
      throw new RejectedExecutionException("no timer");
    }
    return clock.after(delayNanos, task);
  }

  @Override
  public Thread start(Runnable task) {
    if (refuses(THREADS_REFUSED_ONE_IN)) {
      throw new OutOfMemoryError("unable to create native thread");
    }
    return threads.start(task);
  }

  @Override
  public void park() {
    threads.park();
  }

  @Override
  public void parkNanos(long nanos) {
    threads.parkNanos(nanos);
  }

  @Override
  public void unpark(Thread thread) {
    threads.unpark(thread);
  }
}
