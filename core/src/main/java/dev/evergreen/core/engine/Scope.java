package dev.evergreen.core.engine;

import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.work.Baton;
import dev.evergreen.core.work.Cancellation;
import dev.evergreen.core.work.Workers;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * On whose behalf a thread runs user code: a turn of an activation, a run of a summary, or a branch
 * of either. Bound while user code runs. It is also the one place where user code waits: {@link
 * #await} releases the baton and takes it again.
 *
 * @param home the activation whose code runs; null for a computation outside of grains
 * @param turn the turn on whose thread it runs, if it does
 * @param reader the run of a summary, if it is one
 * @param outer the scope of the same thread that this is a branch of, or a computation inside of
 */
record Scope(
    Workers workers,
    Turn.@Nullable Home home,
    @Nullable Turn turn,
    @Nullable Reader reader,
    Baton baton,
    @Nullable Group group,
    @Nullable Scope outer) {

  /** A run of a summary, which answers the calls that are made in it. */
  interface Reader {
    Cancellation cancellation();

    /** The result of a call, from the cache, or as soon as the cache has it. */
    Outcome read(Scope scope, CallKey key, long timeoutNanos);
  }

  /** The branches of a piece of work, which hold its baton in turn. */
  interface Group {
    Cancellation cancellation();

    /** A thread that works on them is about to block. */
    void workerBlocks();

    void workerGoesOn();
  }

  private record Bound(Scope scope, Thread thread) {}

  private static final ScopedValue<Bound> CURRENT = ScopedValue.newInstance();

  /** A branch of this scope; {@code sameThread} for the thread that started the branches. */
  Scope branch(Group branches, boolean sameThread) {
    return new Scope(workers, home, turn, reader, baton, branches, sameThread ? this : null);
  }

  /** That of the calling thread; null if it has none. One that was inherited has no baton. */
  static @Nullable Scope current() {
    var bound = CURRENT.isBound() ? CURRENT.get() : null;
    if (bound != null && bound.thread() != Thread.currentThread()) {
      throw new InvalidGrainException(
          "a thread that a StructuredTaskScope has forked in an operation or a computation may use"
              + " no grain; use Parallel for branches");
    }
    return bound == null ? null : bound.scope();
  }

  <T extends @Nullable Object> T call(ScopedValue.CallableOp<T, Throwable> body) throws Throwable {
    try {
      return ScopedValue.where(CURRENT, new Bound(this, Thread.currentThread())).call(body);
    } finally {
      noteInterrupt();
    }
  }

  /** Whether writes are refused. */
  boolean readOnly() {
    return reader != null || (turn != null && turn.readOnly());
  }

  /** Waits as a blocking point of a scope, if the thread is in one, or else just so. */
  static boolean await(
      Workers workers, @Nullable Scope scope, BooleanSupplier done, long deadline, boolean remote) {
    return scope == null
        ? workers.await(done, deadline, remote)
        : scope.await(done, deadline, remote);
  }

  /**
   * Waits as a blocking point: without the baton.
   *
   * @param deadline by the node's clock
   * @param remote whether another node is to end the waiting
   * @return whether {@code done} held in time
   */
  boolean await(BooleanSupplier done, long deadline, boolean remote) {
    forEachGroup(Group::workerBlocks);
    workers.startPrepared(baton.release());
    boolean held;
    try {
      forEachCancellation(work -> work.parked().add(Thread.currentThread()));
      held = workers.await(() -> done.getAsBoolean() || cancelled(), deadline, remote);
    } finally {
      forEachCancellation(work -> work.parked().remove(Thread.currentThread()));
      baton.acquire();
      forEachGroup(Group::workerGoesOn);
      noteInterrupt();
    }
    checkAlive();
    return held;
  }

  /** Of a run it counts also if the code that it comes to makes something of it. */
  private void noteInterrupt() {
    if (reader != null && Thread.currentThread().isInterrupted()) {
      reader.cancellation().cut();
    }
  }

  /** As {@link #await}, without a limit, and also when the work is no longer wanted. */
  void awaitAnyway(BooleanSupplier done) {
    forEachGroup(Group::workerBlocks);
    workers.startPrepared(baton.release());
    boolean interrupted = false;
    while (!done.getAsBoolean()) {
      interrupted |= Thread.interrupted();
      workers.threads().park();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    baton.acquire();
    forEachGroup(Group::workerGoesOn);
  }

  private void forEachGroup(Consumer<Group> action) {
    for (var s = this; s != null; s = s.outer) {
      if (s.group != null) {
        action.accept(s.group);
      }
    }
  }

  private void forEachCancellation(Consumer<Cancellation> action) {
    forEachGroup(branches -> action.accept(branches.cancellation()));
    if (reader != null) {
      action.accept(reader.cancellation());
    }
  }

  boolean cancelled() {
    return (reader != null && reader.cancellation().cancelled())
        || anyGroup(Cancellation::cancelled);
  }

  /** Whether it is in a branch, and who waits for that was interrupted. */
  boolean isCut() {
    return anyGroup(Cancellation::isCut);
  }

  private boolean anyGroup(Predicate<Cancellation> what) {
    for (var s = this; s != null; s = s.outer) {
      if (s.group != null && what.test(s.group.cancellation())) {
        return true;
      }
    }
    return false;
  }

  /** Ends user code whose work is no longer wanted. */
  void checkAlive() {
    if (cancelled()) {
      throw new Unwanted();
    }
  }

  /** Unwinds user code whose result nobody will see. An error, so that user code lets it pass. */
  static final class Unwanted extends Error {
    Unwanted() {
      super("this work is no longer wanted", null, false, false);
    }
  }
}
