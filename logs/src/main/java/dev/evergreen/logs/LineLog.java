package dev.evergreen.logs;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Writes a line for each of what is told to it, such as requests, by a thread of its own: a slow
 * disk holds up nobody. What does not fit into its queue, or comes behind the end, is dropped and
 * counted, as is what cannot be written. After a failure, such as a full disk, it goes on; that it
 * fails is told once until it can write again. Each line begins at a line's beginning.
 *
 * @param <T> what a line is of
 */
public final class LineLog<T> implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(LineLog.class.getName());
  private static final int QUEUE = 16_384;

  /** For how long its end waits for a file that takes nothing. */
  private static final long CLOSING_SECONDS = 5;

  /** What its thread does. */
  private interface Task {
    void run() throws IOException;
  }

  /** Writes a line. */
  private final class Line implements Task {
    private final T told;

    Line(T told) {
      this.told = told;
    }

    @Override
    public void run() {
      append(told);
    }
  }

  private final @Nullable Path path;
  private final Function<? super T, String> format;
  private final BlockingQueue<Task> queue = new ArrayBlockingQueue<>(QUEUE);
  private final LongAdder dropped = new LongAdder();
  private final Thread thread;

  /** Nothing more is written. */
  private volatile boolean ended;

  /** Whether the file is to be opened anew before anything else. */
  private volatile boolean reopens;

  // Of the thread.
  private LogFile file;
  private boolean failing;

  /**
   * One that is open.
   *
   * @param name of its thread
   * @param path of what is appended to; null for the standard output
   * @param format a line, without its end; made by the thread
   * @throws IOException if the file cannot be opened
   */
  public LineLog(String name, @Nullable Path path, Function<? super T, String> format)
      throws IOException {
    this.path = path;
    this.format = format;
    file = LogFile.open(path, dropped);
    thread = Thread.ofPlatform().daemon().name(name).start(this::run);
  }

  /** Has a line written; never blocks. */
  public void write(T told) {
    var line = new Line(told);
    if (!queue.offer(line)) {
      dropped.increment();
    } else if (ended) {
      dropQueue();
    }
  }

  /** Of each line that nobody will write, either its writer or the thread drops it. */
  private void dropQueue() {
    for (var task = queue.poll(); task != null; task = queue.poll()) {
      if (task instanceof LineLog<?>.Line) {
        dropped.increment();
      }
    }
  }

  /** How many lines were dropped. */
  public long dropped() {
    return dropped.sum();
  }

  /** Opens the file anew, as after somebody has moved it away. */
  public void reopen() {
    reopens = true;
    var _ = queue.offer(() -> {}); // It may be waiting. With a full queue it is not.
  }

  private void run() {
    try {
      while (!ended) {
        var task = queue.take();
        if (reopens) {
          reopens = false;
          attempt(this::openAgain);
        }
        attempt(task);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      ended = true;
      dropQueue();
    }
  }

  private void attempt(Task task) {
    boolean done = succeeds(task);
    // Also behind what has failed: lines before that may wait to be written.
    if (!ended && (file.isFull() || queue.isEmpty())) {
      done &= succeeds(file::flush);
      failing &= !done;
    }
  }

  private boolean succeeds(Task task) {
    try {
      task.run();
      return true;
    } catch (IOException | RuntimeException e) {
      if (!failing) {
        failing = true;
        LOG.log(System.Logger.Level.ERROR, "the log " + path + " cannot be written", e);
      }
      return false;
    }
  }

  private void append(T told) {
    boolean done = false;
    try {
      file.add(format.apply(told));
      done = true;
    } finally {
      if (!done) {
        dropped.increment();
      }
    }
  }

  /** The new one is there before the old one ends, which may not be possible. */
  private void openAgain() throws IOException {
    if (path == null) {
      return; // It stays open, and may be amid a line.
    }
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
        LOG.log(System.Logger.Level.ERROR, "the log " + path + " does not end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
