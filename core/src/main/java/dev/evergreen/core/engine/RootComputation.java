package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.Result;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.work.StackRoom;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Waiters;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A reactive computation: the summary at the root of a dependency graph (004 §3.3, §4.1). Made by a
 * grain it runs as read-only turns of that activation; made outside it runs by itself.
 *
 * <p><b>Inside a write</b> of its own grain there is no committed state that it could show. Who
 * asks there for a result gets a provisional one, computed from what the operation has done so far,
 * which nobody else sees; the computation runs again when the operation has ended.
 *
 * <p>The guard is the owning activation, or this object.
 */
final class RootComputation<T extends @Nullable Object> extends Summary {

  private final Computation<T> computation;
  private final @Nullable BiPredicate<? super T, ? super T> comparer;
  private final ValueType values;
  private final Consumer<RootComputation<?>> whenClosed;

  /** Threads that wait for a result, whatever its freshness. */
  final Waiters consumers = new Waiters();

  /** Threads that wait for a result, or for another freshness. */
  final Waiters observers = new Waiters();

  @GuardedBy("guard")
  private boolean started;

  @GuardedBy("guard")
  private boolean closed;

  @GuardedBy("guard")
  private @Nullable Outcome outcome;

  @GuardedBy("guard")
  private @Nullable Provisional provisional;

  /** Counts the results. */
  @GuardedBy("guard")
  private long version;

  private volatile boolean inDoubt;

  /** What a turn that is part of a write has computed for itself. */
  private record Provisional(Turn turn, Outcome outcome) {}

  /**
   * @param owner the activation that has made it; null if none has
   * @param whenClosed called once
   */
  RootComputation(
      Propagation parts,
      @Nullable Home owner,
      Computation<T> computation,
      @Nullable BiPredicate<? super T, ? super T> comparer,
      Consumer<RootComputation<?>> whenClosed) {
    super(parts, owner);
    this.computation = computation;
    this.comparer = comparer;
    this.whenClosed = whenClosed;
    this.values = base.models().dynamic();
  }

  @Override
  public @Nullable CallKey key() {
    return null;
  }

  @Override
  @Nullable Object compute() throws Throwable {
    T result = computation.compute();
    try {
      return values.freeze(result);
    } catch (ValueLimitException e) {
      throw Failures.refused(
          "the result of a computation" + (owner == null ? "" : " of " + owner.id()), e);
    }
  }

  /** A result for one of several trackers: itself, or a copy if it can be changed. */
  @SuppressWarnings({"unchecked", "NullAway"}) // freezing keeps the type, null where T is nullable
  T copyOut(@Nullable Object value) {
    return (T) values.freeze(value);
  }

  // Running

  /**
   * Sees to it that there is, or will be, a first result for the calling thread: on that thread
   * where this saves another and nobody limits the waiting.
   */
  void startOnce(boolean mayBorrow) {
    StackRoom.check();
    var scope = Scope.current();
    boolean started;
    boolean insideWrite;
    boolean failed = false;
    Run run = null;
    synchronized (guard) {
      insideWrite = insideWrite(scope);
      started = start();
      if (mayBorrow
          && mayBorrow(scope)
          && (started || (insideWrite && underWay == null && !closed))) {
        marked = true;
        run = begin();
      }
    }
    var next = new Tasks();
    if (run == null) {
      if (started) {
        schedule(next);
      }
    } else if (scope == null) {
      parts.backlog().runScheduled();
      run.runLent(next);
    } else {
      var result = run.execute(scope);
      failed = insideWrite && result == null;
      accept(run, result, insideWrite ? scope.turn() : null, next);
    }
    base.workers().fork(next);
    if (scope != null && failed && !isOver()) {
      scope.checkAlive(); // It runs again behind the write, which would wait for that for ever.
      throw new CallInterruptedException("interrupted while it computed inside a write");
    }
  }

  /** Returns whether this is the first time. */
  @GuardedBy("guard")
  private boolean start() {
    if (started || closed) {
      return false;
    }
    started = true;
    marked = true;
    return true;
  }

  /** Whether the thread of this scope may run it: nothing that it computes can be half-done. */
  private boolean mayBorrow(@Nullable Scope scope) {
    return owner == null
        ? scope == null
        : scope != null && scope.home() == owner && scope.reader() == null;
  }

  private boolean insideWrite(@Nullable Scope scope) {
    return owner != null && scope != null && scope.home() == owner && owner.isWritten();
  }

  @Override
  public void mark(@Nullable TraceContext from) {
    synchronized (guard) {
      if (started) {
        super.mark(from);
      }
    }
  }

  @Override
  public void schedule(Tasks next) {
    if (owner != null) {
      owner.schedule(this, next);
      return;
    }
    var run = begin();
    if (run != null) {
      next.add(run);
    }
  }

  @Override
  @GuardedBy("guard")
  boolean over() {
    return closed;
  }

  @Override
  @GuardedBy("guard")
  @Nullable List<Cache> computedFrom(boolean isList) {
    return outcome == null ? null : edges.read();
  }

  @Override
  void accept(Run run, @Nullable Outcome result, Tasks next) {
    accept(run, result, null, next);
  }

  /**
   * A run has ended.
   *
   * @param turn the turn inside a write that has run it for itself; null if anybody may see it
   */
  private void accept(Run run, @Nullable Outcome result, @Nullable Turn turn, Tasks next) {
    var read = run.reads().edges();
    // A comparer is the user's code: it runs without the monitor.
    boolean same = same(present(turn), result);
    Edges released = read;
    synchronized (guard) {
      boolean wanted = underWay == run && !closed && result != null;
      ended(run, result == null && !closed);
      if (owner != null) {
        owner.ended(run);
      }
      if (wanted && result != null) {
        released = accepted(read);
        doubts(read.inDoubt());
        accepted(result, same, turn);
      }
    }
    released.release();
    schedule(next);
  }

  @GuardedBy("guard")
  private void accepted(Outcome result, boolean same, @Nullable Turn turn) {
    if (same && (turn != null || provisional == null)) {
      return;
    }
    if (turn != null) {
      provisional = new Provisional(turn, result);
    } else {
      // Also the same as before: a tracker may have delivered the provisional one meanwhile.
      provisional = null;
      outcome = result;
    }
    version++;
    wakeConsumers();
  }

  /** Whether both are the same result; the comparer is asked only about two values. */
  @SuppressWarnings("unchecked") // both are results of the computation
  boolean same(@Nullable Outcome a, @Nullable Outcome b) {
    if (comparer != null
        && a instanceof Outcome.Returned(var x)
        && b instanceof Outcome.Returned(var y)) {
      return Outcome.same((T) x, (T) y, comparer);
    }
    return Outcome.same(a, b, values, null);
  }

  @Override
  public void standingChanged() {
    synchronized (guard) {
      doubts(edges.inDoubt());
    }
  }

  // Results

  /** The present result for a turn, or for who is in none; null before the first. */
  @Nullable Outcome present(@Nullable Turn turn) {
    synchronized (guard) {
      return provisional != null && provisional.turn == turn ? provisional.outcome : outcome;
    }
  }

  /** An outcome as consumers get it. */
  Result<T> result(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Returned(var value) -> new Result.Value<>(copyOut(value));
      case Outcome.Threw(var failure, var original) ->
          new Result.Failure<>(
              original instanceof Exception e
                  ? e
                  : new ComputationFailedException(
                      original != null ? original : new GrainFailureException(failure.type())));
      case Outcome.NotStarted(var reason, var again) ->
          new Result.Failure<>(new NotStartedException(reason));
    };
  }

  /** What there is at one moment. */
  record State(@Nullable Outcome outcome, long version, Freshness freshness) {}

  /** What there is for a turn, or for who is in none. */
  State state(@Nullable Turn turn) {
    synchronized (guard) {
      return new State(present(turn), version, freshness());
    }
  }

  @GuardedBy("guard")
  private void doubts(boolean now) {
    if (now != inDoubt) {
      inDoubt = now;
      observers.wake(base.workers());
    }
  }

  Freshness freshness() {
    return inDoubt ? Freshness.IN_DOUBT : Freshness.CURRENT;
  }

  void wakeConsumers() {
    consumers.wake(base.workers());
    observers.wake(base.workers());
  }

  GrainException closedException() {
    var reason = base.lifetime().stopReason();
    return reason != null
        ? new NodeStoppedException(reason + "; this computation has ended with it")
        : new ComputationClosedException("the computation was closed");
  }

  void close() {
    StackRoom.check();
    Edges released;
    synchronized (guard) {
      if (closed) {
        return;
      }
      closed = true;
      stop();
      released = accepted(Edges.NONE);
      wakeConsumers();
    }
    released.release();
    whenClosed.accept(this);
  }
}
