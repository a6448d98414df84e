package dev.evergreen.storage;

import java.sql.SQLException;
import java.util.List;

/**
 * The body of a platform thread that serves a queue until it is closed and empty. A failure fails
 * the requests at hand, as far as they have no answer, and no others.
 */
final class Worker<R extends Request<?>> implements Runnable {

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
    for (var batch = queue.take(most, enough); !batch.isEmpty(); batch = queue.take(most, enough)) {
      // Whoever has lost patience wants no answer.
      serve(batch.stream().filter(request -> !request.answer().isDone()).toList());
    }
    job.end();
  }

  private void serve(List<R> batch) {
    if (batch.isEmpty()) {
      return;
    }
    try {
      job.serve(batch);
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
