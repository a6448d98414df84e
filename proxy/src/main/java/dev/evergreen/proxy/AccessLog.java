package dev.evergreen.proxy;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Writes a line for each transaction, by a thread of its own: a slow disk holds up no request. What
 * does not fit into its queue is dropped and counted.
 */
final class AccessLog implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(AccessLog.class.getName());
  private static final int QUEUE = 16_384;

  private final @Nullable Path file;
  private final LogFormat format;
  private final BlockingQueue<Runnable> queue = new ArrayBlockingQueue<>(QUEUE);
  private final LongAdder dropped = new LongAdder();
  private final Thread thread;
  private Writer writer;
  private boolean ended;

  /**
   * One that is open.
   *
   * @param file which is appended to; null for the standard output
   */
  AccessLog(@Nullable Path file, LogFormat format) throws IOException {
    this.file = file;
    this.format = format;
    writer = open(file);
    thread = Thread.ofPlatform().daemon().name("proxy-access-log").start(this::run);
  }

  private static Writer open(@Nullable Path file) throws IOException {
    return file == null
        ? new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8))
        : Files.newBufferedWriter(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
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
        queue.take().run();
        if (queue.isEmpty()) {
          writer.flush();
        }
      }
      writer.flush();
      if (file != null) {
        writer.close();
      }
    } catch (IOException e) {
      failed(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void append(Course course) {
    try {
      writer.append(format.line(course)).append('\n');
    } catch (IOException e) {
      failed(e);
    }
  }

  private void openAgain() {
    try {
      var before = writer;
      before.flush();
      writer = open(file);
      if (file != null) {
        before.close();
      }
    } catch (IOException e) {
      failed(e);
    }
  }

  private void failed(IOException e) {
    LOG.log(System.Logger.Level.ERROR, "the access log " + file + " cannot be written", e);
  }

  /** Writes what is in the queue, and closes. Blocks until then. */
  @Override
  public void close() {
    try {
      queue.put(() -> ended = true);
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
