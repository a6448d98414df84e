package dev.evergreen.storage;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The body of a platform thread that serves a queue until it is closed and empty. A failure fails
 * the requests at hand, as far as they have no answer, and no others.
 */
final class Worker<R extends Request<?>> implements Runnable {

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final RequestQueue<R> queue;
  private final int most;
  private final long enough;
  private final Job<R> job;

  /**
   * @param most how many requests are served at once
   * @param enough the bytes that end a batch
   */
  Worker(RequestQueue<R> queue, int most, long enough, Job<R> job) {
    this.queue = queue;
    this.most = most;
    this.enough = enough;
    this.job = job;
  }

  @Override
  public void run() {
    while (serveNext()) {
      // Until there is nothing more.
    }
    job.end();
  }

  private boolean serveNext() {
    List<R> batch;
    try {
      batch = queue.take(most, enough);
    } catch (OutOfMemoryError e) {
      // Nothing was taken. Others may have ended soon.
      LockSupport.parkNanos(PAUSE_NANOS);
      return true;
    }
    serve(batch);
    return !batch.isEmpty();
  }

  private void serve(List<R> batch) {
    try {
      // Whoever has lost patience wants no answer.
      var awaited = batch.stream().filter(request -> !request.answer().isDone()).toList();
      if (!awaited.isEmpty()) {
        job.serve(awaited);
      }
    } catch (Throwable failure) {
      // Whatever it is, an OutOfMemoryError too: the callers wait for an answer, and others come.
      batch.forEach(request -> request.answer().completeExceptionally(failure));
    }
  }

  /** What a worker does with requests. */
  interface Job<R> {

    /** Answers every request of a batch, or throws. */
    void serve(List<R> batch) throws SQLException;

    /** There will be no more. */
    default void end() {}
  }
}
