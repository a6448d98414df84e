package dev.evergreen.fibers;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Runs what a test does on a fiber, and brings back what came of it. */
final class Fiber {

  private Fiber() {}

  static <T> CompletableFuture<T> start(Fibers fibers, Callable<T> task) {
    var result = new CompletableFuture<T>();
    spawn(fibers, task, result);
    return result;
  }

  /** Like {@link #start}, but returns when the fiber waits for something. */
  static <T> CompletableFuture<T> startWaiting(Fibers fibers, Callable<T> task) {
    var result = new CompletableFuture<T>();
    awaitParked(spawn(fibers, task, result));
    return result;
  }

  private static <T> Thread spawn(Fibers fibers, Callable<T> task, CompletableFuture<T> result) {
    return fibers.spawn(
        () -> {
          try {
            result.complete(task.call());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
  }

  /** Waits for a result; an exception is thrown as it is. */
  static <T> T get(CompletableFuture<T> result) throws Exception {
    try {
      return result.get(60, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }

  static <T> T run(Fibers fibers, Callable<T> task) throws Exception {
    return get(start(fibers, task));
  }

  /**
   * Waits until a thread waits for something.
   *
   * @throws AssertionError if it ends instead
   */
  static void awaitParked(Thread thread) {
    for (var state = thread.getState();
        state != Thread.State.WAITING && state != Thread.State.TIMED_WAITING;
        state = thread.getState()) {
      if (state == Thread.State.TERMINATED) {
        throw new AssertionError("it did not wait");
      }
      Thread.onSpinWait();
    }
  }
}
