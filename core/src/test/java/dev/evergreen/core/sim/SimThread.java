package dev.evergreen.core.sim;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A virtual thread that runs only while it holds the scheduler's baton. Whoever holds the baton may
 * touch the fields; {@link #go} hands them over.
 */
final class SimThread {

  enum Status {
    RUNNABLE,
    RUNNING,
    PARKED,
    ENDED
  }

  /** How often a thread may swallow {@link Unwound} before it is left parked for good. */
  private static final int PATIENCE = 100;

  final int number;
  final Life life;
  final Thread thread;
  Status status = Status.RUNNABLE;
  boolean permit;
  boolean interruptPending;
  boolean unwinding;
  int priority;

  /** When it became runnable, in the order in which threads did. */
  long ready;

  /** What it is called in the {@link History}. */
  long identity;

  Scheduler.@Nullable Event wakeUp;

  private int unwound;
  private boolean started;
  private volatile boolean go;

  SimThread(int number, Life life, String name, Runnable body) {
    this.number = number;
    this.life = life;
    this.thread =
        Thread.ofVirtual()
            .name(life.name() + "." + name + "-" + number)
            .inheritInheritableThreadLocals(false)
            .unstarted(body);
  }

  boolean started() {
    return started;
  }

  /** Hands this thread the baton; the caller must wait for its own, or end. */
  void resume() {
    go = true;
    if (started) {
      LockSupport.unpark(thread);
    } else {
      started = true;
      thread.start();
    }
  }

  /** Waits for the baton, on this thread. */
  void awaitBaton() {
    boolean interrupted = Thread.interrupted();
    while (!go) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    go = false;
    if (interrupted || interruptPending) {
      interruptPending = false;
      Thread.currentThread().interrupt();
    }
  }

  /** Whether this thread has swallowed so many {@link Unwound} that it will never end. */
  boolean isIncorrigible() {
    return ++unwound > PATIENCE;
  }

  @Override
  public String toString() {
    return thread.getName();
  }

  /** Ends a thread whose simulation is over. */
  static final class Unwound extends Error {
    Unwound() {
      super("the simulation is over", null, false, false);
    }
  }
}
