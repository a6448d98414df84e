package dev.evergreen.storage;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.Request.Apart;
import dev.evergreen.storage.Request.IsAlive;
import dev.evergreen.storage.Request.Load;
import dev.evergreen.storage.Request.Outcome;
import dev.evergreen.storage.Request.Save;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * What the storages with a database have in common: callers put their requests into a queue for
 * loads, one for saves and one for questions who is alive, platform threads serve them, and the
 * callers wait for the answers.
 */
final class Workers implements AutoCloseable {

  /** So many requests wait at most; further callers wait for room. */
  static final int CAPACITY = 1024;

  private final String product;
  private final String place;
  private final long patienceNanos;
  private final RequestQueue<Load> loads = new RequestQueue<>(CAPACITY);
  private final RequestQueue<Save> saves = new RequestQueue<>(CAPACITY);
  private final RequestQueue<IsAlive> questions = new RequestQueue<>(CAPACITY);
  private final RequestQueue<Apart<?>> tasks = new RequestQueue<>(CAPACITY);
  private final List<Thread> threads = new ArrayList<>();

  /**
   * @param product names the threads
   * @param place names the storage in errors
   * @param patience how long a caller waits at most
   */
  Workers(String product, String place, Duration patience) {
    this.product = product;
    this.place = place;
    this.patienceNanos = patience.toNanos();
  }

  /** Starts a thread that loads, up to {@code most} states at once. */
  void startLoading(int most, Worker.Job<Load> job) {
    start("load", new Worker<>(loads, most, Long.MAX_VALUE, job));
  }

  /** Starts a thread that saves, up to {@code most} states or {@code enough} bytes at once. */
  void startSaving(int most, long enough, Worker.Job<Save> job) {
    start("save", new Worker<>(saves, most, enough, job));
  }

  /**
   * Starts a thread that answers whether nodes are alive, all who ask at once, and one that does
   * what is done {@link #apart}.
   */
  void startFence(Worker.Job<IsAlive> job) {
    start("alive", new Worker<>(questions, CAPACITY, Long.MAX_VALUE, job));
    start("fence", new Worker<>(tasks, 1, Long.MAX_VALUE, batch -> batch.forEach(Apart::run)));
  }

  private void start(String kind, Worker<?> worker) {
    var name = "evergreen-%s-%s-%d".formatted(product, kind, threads.size());
    threads.add(Thread.ofPlatform().daemon().name(name).start(worker));
  }

  /** As {@link dev.evergreen.core.spi.Storage#load}. */
  Optional<Stored> load(GrainId grain) {
    return ask("Loading", loads, new Load(grain));
  }

  /**
   * As {@link dev.evergreen.core.spi.Storage#save}.
   *
   * @param by who must be alive; null if nobody must
   */
  long save(GrainId grain, long expected, byte[] state, @Nullable Member by) {
    // A copy, because a caller that is interrupted goes on before the state was written.
    var save = new Save(grain, expected, state.clone(), by);
    return switch (ask("Saving", saves, save)) {
      case Outcome.Saved(long revision) -> revision;
      case Outcome.Conflict(long actual) ->
          throw new RevisionConflictException(grain, expected, actual);
      case Outcome.GivenUp() ->
          throw new NodeGivenUpException(grain, Objects.requireNonNull(by).id());
    };
  }

  /** As {@link dev.evergreen.core.spi.Fence#isAlive}. */
  boolean isAlive(Member member) {
    return ask("Asking for", questions, new IsAlive(member));
  }

  /** Does what is rarely done, and may take long. */
  <A> A apart(String what, Object subject, Callable<A> task) {
    return ask(what, tasks, new Apart<>(subject, task));
  }

  private <A, R extends Request<A>> A ask(String what, RequestQueue<? super R> queue, R request) {
    long begin = System.nanoTime();
    try {
      put(what, queue, request);
      long left = patienceNanos - (System.nanoTime() - begin);
      return request.answer().get(left, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure(what, request, ": interrupted while waiting, it may still happen", e);
    } catch (TimeoutException e) {
      request.answer().completeExceptionally(e);
      throw failure(
          what,
          request,
          ": no answer within %s; the database is away or overloaded, and whether anything was written is unknown"
              .formatted(Duration.ofNanos(patienceNanos)),
          e);
    } catch (ExecutionException e) {
      throw failure(
          what,
          request,
          " failed, and whether anything was written is unknown: " + e.getMessage(),
          e);
    }
  }

  private <R extends Request<?>> void put(String what, RequestQueue<? super R> queue, R request)
      throws InterruptedException {
    try {
      if (!queue.put(request, patienceNanos)) {
        throw failure(what, request, ": it is closed, nothing was done", null);
      }
    } catch (TimeoutException e) {
      throw failure(
          what,
          request,
          ": no room within %s; the database is away or overloaded, nothing was done"
              .formatted(Duration.ofNanos(patienceNanos)),
          e);
    }
  }

  private StorageException failure(
      String what, Request<?> request, String reason, @Nullable Exception cause) {
    var message = "%s %s in %s%s".formatted(what, request.subject(), place, reason);
    return cause == null ? new StorageException(message) : new StorageException(message, cause);
  }

  /** Does what was asked before; blocks until then. */
  @Override
  public void close() {
    saves.close();
    loads.close();
    questions.close();
    tasks.close();
    threads.forEach(Workers::join);
  }

  /** Waits for the end; an interrupt is kept for later. */
  private static void join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
