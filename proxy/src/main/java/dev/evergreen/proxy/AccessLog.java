package dev.evergreen.proxy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Writes a line for each transaction, by a thread of its own: a slow disk holds up no request. What
 * does not fit into its queue is dropped and counted, as is what cannot be written. After a
 * failure, such as a full disk, it goes on; that it fails is told once until it can write again.
 * Each line begins at a line's beginning.
 */
final class AccessLog implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(AccessLog.class.getName());
  private static final int QUEUE = 16_384;

  /** For how long its end waits for a file that takes nothing. */
  private static final long CLOSING_SECONDS = 5;

  /** What its thread does. */
  private interface Task {
    void run() throws IOException;
  }

  private final @Nullable Path path;
  private final LogFormat format;
  private final BlockingQueue<Task> queue = new ArrayBlockingQueue<>(QUEUE);
  private final LongAdder dropped = new LongAdder();
  private final Thread thread;

  // Of the thread.
  private LogFile file;
  private boolean ended;
  private boolean failing;

  /**
   * One that is open.
   *
   * @param path of what is appended to; null for the standard output
   */
  AccessLog(@Nullable Path path, LogFormat format) throws IOException {
    this.path = path;
    this.format = format;
    file = LogFile.open(path, dropped);
    thread = Thread.ofPlatform().daemon().name("proxy-access-log").start(this::run);
  }

  void write(Course course) {
    if (!queue.offer(() -> append(course))) {
      dropped.increment();
    }
  }

  /** How many lines were dropped. */
  long dropped() {
    return dropped.sum();
  }

  /** Opens the file anew, as after somebody has moved it away. */
  void reopen() {
    var _ = queue.offer(this::openAgain);
  }

  private void run() {
    try {
      while (!ended) {
        attempt(queue.take());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void attempt(Task task) {
    try {
      task.run();
      if (!ended && (file.isFull() || queue.isEmpty())) {
        file.flush();
        failing = false;
      }
    } catch (IOException | RuntimeException e) {
      if (!failing) {
        failing = true;
        LOG.log(System.Logger.Level.ERROR, "the access log " + path + " cannot be written", e);
      }
    }
  }

  private void append(Course course) {
    boolean done = false;
    try {
      file.add(format.line(course));
      done = true;
    } finally {
      if (!done) {
        dropped.increment();
      }
    }
  }

  /** The new one is there before the old one ends, which may not be possible. */
  private void openAgain() throws IOException {
    var before = file;
    file = LogFile.open(path, dropped);
    before.close();
  }

  private void end() throws IOException {
    ended = true;
    file.close();
  }

  /** Writes what is in the queue, and closes. Blocks until then, but not for long. */
  @Override
  public void close() {
    try {
      if (!queue.offer(this::end, CLOSING_SECONDS, TimeUnit.SECONDS)
          || !thread.join(Duration.ofSeconds(CLOSING_SECONDS))) {
        LOG.log(System.Logger.Level.ERROR, "the access log " + path + " does not end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
