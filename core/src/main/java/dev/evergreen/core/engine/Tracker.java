package dev.evergreen.core.engine;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.Snapshot;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.work.Nanos;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One consumer of a computation: remembers what it has delivered. */
final class Tracker<T extends @Nullable Object> implements ResultTracker<T> {

  private final RootComputation<T> computation;
  private @Nullable Outcome delivered;

  /** What the last snapshot said of its freshness; null before the first. */
  private @Nullable Freshness shown;

  private long version;
  private volatile boolean closed;

  private Tracker(RootComputation<T> computation) {
    this.computation = computation;
  }

  /**
   * A new consumer.
   *
   * @throws ComputationClosedException if there is nothing to consume any more
   * @throws NodeStoppedException if the node has stopped
   */
  static <T extends @Nullable Object> Tracker<T> of(RootComputation<T> computation) {
    if (computation.isOver()) {
      throw computation.closedException();
    }
    return new Tracker<>(computation);
  }

  @Override
  public T next() {
    refuseEndlessWait();
    return awaitResult(computation.base.workers().never(), true)
        .orElseThrow(computation::closedException)
        .get();
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
    return awaitResult(deadline(timeout), false);
  }

  @Override
  public Optional<Snapshot<T>> observe(Duration timeout) {
    return await(deadline(timeout), false, true);
  }

  private long deadline(Duration timeout) {
    return computation.base.workers().nanos() + Nanos.of(timeout);
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
            ahead = awaitResult(computation.base.workers().never(), true).orElse(null);
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
        var result = Objects.requireNonNull(ahead);
        ahead = null;
        return result.get();
      }
    };
  }

  @Override
  public void close() {
    closed = true;
    computation.wakeConsumers();
  }

  private Optional<Result<T>> awaitResult(long deadline, boolean mayBorrow) {
    return await(deadline, mayBorrow, false).map(Snapshot::result);
  }

  /**
   * Waits for what differs from what was delivered last.
   *
   * @param orFreshness whether it may be the freshness alone that differs
   */
  private Optional<Snapshot<T>> await(long deadline, boolean mayBorrow, boolean orFreshness) {
    computation.startOnce(mayBorrow);
    var scope = Scope.current();
    BooleanSupplier done = () -> over() || isOther(present(), orFreshness);
    var waiters = orFreshness ? computation.observers : computation.consumers;
    while (true) {
      waiters.add(Thread.currentThread());
      try {
        if (!done.getAsBoolean()
            && !Scope.await(computation.base.workers(), scope, done, deadline, false)) {
          return Optional.empty();
        }
      } finally {
        waiters.remove(Thread.currentThread());
      }
      if (over()) {
        throw closed && !computation.isOver()
            ? new ComputationClosedException("the tracker was closed")
            : computation.closedException();
      }
      var taken = take(orFreshness);
      if (taken != null) {
        return Optional.of(taken);
      }
    }
  }

  private boolean over() {
    return closed || computation.isOver();
  }

  private RootComputation.State present() {
    var scope = Scope.current();
    return computation.state(scope == null ? null : scope.turn());
  }

  /** Whether there may be something to take. */
  private boolean isOther(RootComputation.State state, boolean orFreshness) {
    return state.outcome() != null
        && (state.version() > version || (orFreshness && state.freshness() != shown));
  }

  /** Takes what there is; null if it is what was delivered last. */
  private @Nullable Snapshot<T> take(boolean orFreshness) {
    var state = present();
    version = state.version();
    var outcome = state.outcome();
    boolean otherwise = orFreshness && state.freshness() != shown;
    if (outcome == null
        || (!otherwise && delivered != null && computation.same(delivered, outcome))) {
      return null;
    }
    delivered = outcome;
    shown = orFreshness ? state.freshness() : shown;
    return new Snapshot<>(computation.result(outcome), state.version(), state.freshness());
  }

  /**
   * A write of a grain that waits for its own grain's computation to change waits for itself, and
   * so does a read on its behalf: the computation runs again only when the write has ended.
   */
  private void refuseEndlessWait() {
    var state = present();
    var scope = Scope.current();
    var owner = computation.owner;
    if (owner != null
        && scope != null
        && scope.home() == owner
        && scope.turn() != null
        && owner.isWritten()
        && state.outcome() != null
        && !isOther(state, false)) {
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
