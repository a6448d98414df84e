package dev.evergreen.provenance;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * A few connections to a trace, for any number of threads that ask it. The questions are answered
 * by platform threads, since SQLite's calls would hold the carriers of virtual ones.
 */
final class TraceReaders implements AutoCloseable {
  private static final int MOST = 4;

  /** Else a few questions about very long histories would keep all others waiting. */
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final String place;
  private final Duration limit;
  private final ExecutorService threads =
      Executors.newFixedThreadPool(
          MOST, Thread.ofPlatform().name("trace-reader-", 0).daemon().factory());
  private final ConcurrentLinkedQueue<StoredTrace> idle = new ConcurrentLinkedQueue<>();
  private final Set<StoredTrace> asked = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  TraceReaders(String place) {
    this(place, LIMIT);
  }

  /** With so much time for each question. */
  TraceReaders(String place, Duration limit) {
    this.place = place;
    this.limit = limit;
  }

  /**
   * Waits for a connection and asks it.
   *
   * @throws TraceException if the trace cannot be read now, the question takes too long, or this is
   *     closed
   */
  <T> T ask(Function<StoredTrace, T> question) {
    try {
      return await(threads.submit(() -> answer(question)));
    } catch (RejectedExecutionException e) {
      throw new TraceException("The trace is not read any more", e);
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case RuntimeException fault -> throw fault;
        case Error fault -> throw fault;
        case null, default -> throw new IllegalStateException(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TraceException("The question was given up", e);
    }
  }

  /**
   * Waits for an answer. Who has no memory left may fail at waking who waits, though the answer is
   * there: so it is looked at again.
   */
  private static <T> T await(Future<T> answer) throws InterruptedException, ExecutionException {
    while (true) {
      try {
        return answer.get(1, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        // It takes longer.
      }
    }
  }

  private <T> T answer(Function<StoredTrace, T> question) {
    var known = idle.poll();
    var trace = known == null ? StoredTrace.open(place, Duration.ZERO) : known;
    asked.add(trace);
    try {
      if (closed) {
        trace.giveUp();
      }
      trace.allow(limit);
      var answer = question.apply(trace);
      asked.remove(trace);
      idle.add(trace);
      return answer;
    } catch (RuntimeException | Error e) {
      asked.remove(trace);
      // The database may have gone; the next question has a new connection.
      close(trace);
      throw e;
    }
  }

  private static void close(StoredTrace trace) {
    try {
      trace.close();
    } catch (TraceException e) {
      System.getLogger(TraceReaders.class.getName())
          .log(System.Logger.Level.DEBUG, "A connection could not be closed", e);
    }
  }

  /** Ends at once what is being asked. */
  @Override
  public void close() {
    closed = true;
    asked.forEach(StoredTrace::giveUp);
    threads.close();
    idle.forEach(TraceReaders::close);
  }
}
