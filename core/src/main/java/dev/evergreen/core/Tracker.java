package dev.evergreen.core;

import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One consumer of a computation: remembers what it has delivered. */
final class Tracker<T extends @Nullable Object> implements ResultTracker<T> {

  private final RootComputation<T> computation;
  private @Nullable Outcome delivered;
  private long version;
  private volatile boolean closed;
  private volatile @Nullable Thread waiter;
  private volatile @Nullable Thread watcher;

  Tracker(RootComputation<T> computation) {
    this.computation = computation;
  }

  @Override
  public T next() {
    refuseEndlessWait();
    return await(computation.node().never(), true).orElseThrow(computation::closedException).get();
  }

  @Override
  public T next(Duration timeout) {
    return poll(timeout)
        .orElseThrow(
            () ->
                new NoNewResultException(
                    "no new result within " + Nanos.text(timeout) + "; the computation goes on"))
        .get();
  }

  @Override
  public Optional<Result<T>> poll(Duration timeout) {
    return await(computation.node().clock().nanos() + Nanos.of(timeout), false);
  }

  @Override
  public Freshness freshness() {
    return computation.freshness();
  }

  @Override
  public Iterator<T> iterator() {
    return new Iterator<>() {
      private @Nullable Result<T> ahead;

      @Override
      public boolean hasNext() {
        if (ahead == null) {
          try {
            ahead = await(computation.node().never(), true).orElse(null);
          } catch (ComputationClosedException | NodeStoppedException e) {
            return false;
          }
        }
        return ahead != null;
      }

      @Override
      public T next() {
        if (!hasNext()) {
          throw new NoSuchElementException("the computation was closed");
        }
        var result = ahead;
        ahead = null;
        if (result == null) {
          throw new NoSuchElementException("the computation was closed");
        }
        return result.get();
      }
    };
  }

  @Override
  public void close() {
    closed = true;
    computation.remove(this);
    wake();
  }

  /** Names a thread that is to be woken even when it does not wait here. */
  void watch(Thread thread) {
    watcher = thread;
  }

  /** There is a new result, or the end. Never blocks. */
  void wake() {
    wake(waiter);
    wake(watcher);
  }

  private void wake(@Nullable Thread thread) {
    if (thread != null) {
      computation.node().threads().unpark(thread);
    }
  }

  private Optional<Result<T>> await(long deadline, boolean mayBorrow) {
    computation.startOnce(mayBorrow);
    var scope = Scope.current();
    while (true) {
      waiter = Thread.currentThread();
      try {
        boolean ready =
            over()
                || hasNews()
                || (scope != null
                    ? scope.await(() -> over() || hasNews(), deadline)
                    : Scope.awaitOutside(computation.node(), () -> over() || hasNews(), deadline));
        if (!ready) {
          return Optional.empty();
        }
      } finally {
        waiter = null;
      }
      if (over()) {
        throw closed && !computation.closed()
            ? new ComputationClosedException("the tracker was closed")
            : computation.closedException();
      }
      var news = take();
      if (news != null) {
        return Optional.of(news);
      }
    }
  }

  private boolean over() {
    return closed || computation.closed();
  }

  private boolean hasNews() {
    return computation.version() > version;
  }

  private static @Nullable Turn turn() {
    var scope = Scope.current();
    return scope == null ? null : scope.turn();
  }

  private @Nullable Result<T> take() {
    long now = computation.version();
    var outcome = computation.present(turn());
    version = now;
    if (outcome == null || (delivered != null && computation.same(delivered, outcome))) {
      return null;
    }
    delivered = outcome;
    return result(outcome);
  }

  private Result<T> result(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Returned(var value) -> new Result.Value<>(computation.copyOut(value));
      case Outcome.Threw(var failure, var original) ->
          new Result.Failure<>(
              original instanceof Exception e
                  ? e
                  : new ComputationFailedException(
                      original != null ? original : new GrainFailureException(failure.type())));
      case Outcome.NotStarted(var reason, var moved) ->
          new Result.Failure<>(new NotStartedException(reason));
    };
  }

  /**
   * A write of a grain that waits for its own grain's computation to change waits for itself, and
   * so does a read on its behalf: the computation runs again only when the write has ended.
   */
  private void refuseEndlessWait() {
    var scope = Scope.current();
    var owner = computation.activation();
    if (owner != null
        && scope != null
        && scope.activation() == owner
        && scope.turn() != null
        && owner.isWritten()
        && computation.present(scope.turn()) != null
        && !hasNews()) {
      throw new CycleException(
          scope.turn()
              + " waits for a new result of a computation of "
              + owner.id()
              + ", which cannot run before "
              + scope.turn()
              + " has ended; make the operation @ReadOnly, or wait outside of it");
    }
  }
}
