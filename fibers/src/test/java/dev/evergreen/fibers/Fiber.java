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
    fibers.spawn(
        () -> {
          try {
            result.complete(task.call());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
    return result;
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

  /** Waits until a thread waits for something. */
  static void awaitParked(Thread thread) {
    while (thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }
}
