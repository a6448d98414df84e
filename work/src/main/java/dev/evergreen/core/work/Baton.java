package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Threads;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The right to run user code of one activation, or of one computation outside of grains. Whoever
 * holds it runs; blocking points of the runtime release it. Who waits gets it in order: threads in
 * the middle of their work, and tasks that no thread has begun.
 */
public final class Baton {

  private sealed interface Waiter {

    /** A thread that waits. */
    final class Parked implements Waiter {
      final Thread thread = Thread.currentThread();
      volatile boolean granted;
    }

    /** A task that needs a thread as soon as it has the baton. */
    record Queued(Tasks.Task task) implements Waiter {}
  }

  private final Threads threads;

  @GuardedBy("this")
  private final ArrayDeque<Waiter> waiters = new ArrayDeque<>(0);

  @GuardedBy("this")
  private boolean held;

  public Baton(Threads threads) {
    this.threads = threads;
  }

  /** Waits for the baton. */
  public void acquire() {
    Waiter.Parked waiter;
    synchronized (this) {
      if (!held) {
        held = true;
        return;
      }
      waiter = new Waiter.Parked();
      waiters.add(waiter);
    }
    boolean interrupted = false;
    while (!waiter.granted) {
      threads.park();
      // An interrupted thread would not park: the interruption is kept for the next wait of the
      // user.
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Takes the baton for a task, or queues the task: then whoever releases the baton to it has it
   * run.
   *
   * @return whether the task has the baton
   */
  public synchronized boolean acquireFor(Tasks.Task task) {
    if (held) {
      waiters.add(new Waiter.Queued(task));
      return false;
    }
    held = true;
    return true;
  }

  /**
   * Gives the baton to who waits first.
   *
   * @return the task that has it now, if it is a task: the caller sees to it that it runs
   */
  public Tasks.@Nullable Task release() {
    Waiter next;
    synchronized (this) {
      next = waiters.poll();
      held = next != null;
    }
    return switch (next) {
      case null -> null;
      case Waiter.Queued(var task) -> {
        task.granted();
        yield task;
      }
      case Waiter.Parked parked -> {
        parked.granted = true;
        threads.unpark(parked.thread);
        yield null;
      }
    };
  }
}
