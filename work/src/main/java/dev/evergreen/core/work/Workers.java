package dev.evergreen.core.work;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Share;
import dev.evergreen.core.spi.Threads;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A node's clock and threads: what is to be done is done here, at once or later. It is done also
 * where they refuse it ({@link Handover}), so that no method here fails by that. Where the stack
 * ends, one may fail; what it was to do is not done then.
 */
public final class Workers {

  private final Clock clock;
  private final Threads threads;
  private final RandomGenerator random;
  private final Handover handover;

  public Workers(Clock clock, Threads threads, RandomGenerator random) {
    this.clock = clock;
    this.threads = threads;
    this.random = random;
    this.handover = new Handover(clock, threads);
  }

  public Clock clock() {
    return clock;
  }

  public Threads threads() {
    return threads;
  }

  /** The present moment. */
  public long nanos() {
    return clock.nanos();
  }

  /** A moment that never comes, as a deadline. */
  public long never() {
    return clock.nanos() + Long.MAX_VALUE;
  }

  public long randomBelow(long bound) {
    return random.nextLong(bound);
  }

  /** Starts a thread for a task after a while. */
  public Clock.Cancellable after(long nanos, Tasks.Task task) {
    return afterShortly(nanos, () -> start(task));
  }

  /** Runs something after a while that takes no time worth a thread, and does not block. */
  public Clock.Cancellable afterShortly(long nanos, Runnable task) {
    return handover.after(nanos, task);
  }

  /** Does this on a thread of its own, once. If this throws, it is not done at all. */
  public void begin(Runnable work) {
    handover.start(work);
  }

  /** Does this on the calling thread, and starts threads for what it makes possible. */
  public void now(Tasks.Task task) {
    var next = new Tasks();
    try {
      task.run(next);
    } finally {
      fork(next);
    }
  }

  /** Starts a thread for each task; one that cannot be prepared costs no other. */
  public void fork(Tasks tasks) {
    try {
      for (var task = tasks.poll(); task != null; task = tasks.poll()) {
        startPrepared(task);
      }
    } catch (RuntimeException | Error e) {
      fork(tasks);
      throw e;
    }
  }

  /** Starts a thread for a task that has got what it needs; for none if it is null. */
  public void startPrepared(Tasks.@Nullable Task task) {
    if (task != null) {
      begin(() -> work(task));
    }
  }

  /** Starts a thread for a task; it goes on with what the task makes possible. */
  public void start(Tasks.Task first) {
    if (first.prepare()) {
      startPrepared(first);
    }
  }

  private void work(Tasks.Task first) {
    var next = new Tasks();
    @Nullable Share share = null;
    for (Tasks.Task task = first; task != null; ) {
      try {
        task.run(next);
      } catch (Throwable t) {
        // What it made possible must not be lost with it.
        fork(next);
        throw t;
      } finally {
        // What one task left behind is no affair of the next.
        Thread.interrupted();
      }
      task = next.poll();
      fork(next);
      if (task != null && share != null) {
        share.goesOn();
      } else if (task != null) {
        share = new Share(clock::nanos, threads::letOthersRun);
      }
    }
  }

  public void unpark(Thread thread) {
    threads.unpark(thread);
  }

  /**
   * Lets the calling thread wait.
   *
   * @param remote whether another node is to end the waiting
   * @return whether {@code done} held in time
   */
  public boolean await(BooleanSupplier done, long deadline, boolean remote) {
    while (!done.getAsBoolean()) {
      long left = deadline - nanos();
      if (left <= 0) {
        return false;
      }
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        throw new CallInterruptedException(
            "interrupted while waiting for a grain; the outcome of what was called is unknown");
      }
      if (remote) {
        threads.parkNanosForOthers(left);
      } else {
        threads.parkNanos(left);
      }
    }
    return true;
  }
}
