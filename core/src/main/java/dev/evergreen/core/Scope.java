package dev.evergreen.core;

import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * On whose behalf a thread runs user code: a turn of an activation, a run of a summary, or a branch
 * of either. Bound while user code runs. It is also the one place where user code waits: {@link
 * #await} releases the baton and takes it again.
 */
final class Scope {

  private static final ScopedValue<Scope> CURRENT = ScopedValue.newInstance();

  private final NodeRuntime node;
  private final @Nullable Activation activation;
  private final @Nullable Turn turn;
  private final @Nullable Run run;
  private final Baton baton;
  private final @Nullable Branches branches;
  private final @Nullable Scope outer;

  private Scope(
      NodeRuntime node,
      @Nullable Activation activation,
      @Nullable Turn turn,
      @Nullable Run run,
      Baton baton,
      @Nullable Branches branches,
      @Nullable Scope outer) {
    this.node = node;
    this.activation = activation;
    this.turn = turn;
    this.run = run;
    this.baton = baton;
    this.branches = branches;
    this.outer = outer;
  }

  /** A turn of an activation. */
  static Scope of(Turn turn) {
    var activation = turn.activation();
    return new Scope(activation.node(), activation, turn, null, activation.baton(), null, null);
  }

  /** A run of a summary; {@code turn} is the turn whose thread it borrows, if it does. */
  static Scope of(Run run, @Nullable Turn turn) {
    var activation = run.summary().activation();
    return new Scope(run.node(), activation, turn, run, run.baton(), null, null);
  }

  /** A branch of this scope; {@code sameThread} for the thread that started the branches. */
  Scope branch(Branches branches, boolean sameThread) {
    return new Scope(node, activation, turn, run, baton, branches, sameThread ? this : null);
  }

  static @Nullable Scope current() {
    return CURRENT.isBound() ? CURRENT.get() : null;
  }

  <T extends @Nullable Object> T call(ScopedValue.CallableOp<T, Throwable> body) throws Throwable {
    return ScopedValue.where(CURRENT, this).call(body);
  }

  NodeRuntime node() {
    return node;
  }

  /** The activation whose code runs; null for a computation outside of grains. */
  @Nullable Activation activation() {
    return activation;
  }

  @Nullable Turn turn() {
    return turn;
  }

  @Nullable Run run() {
    return run;
  }

  Baton baton() {
    return baton;
  }

  /** Whether writes are refused. */
  boolean readOnly() {
    return run != null || (turn != null && turn.readOnly());
  }

  /**
   * Waits as a blocking point: without the baton.
   *
   * @param deadline by the node's clock
   * @return whether {@code done} held in time
   */
  boolean await(BooleanSupplier done, long deadline) {
    return await(done, deadline, false);
  }

  /**
   * As {@link #await}.
   *
   * @param remote whether another node is to end the waiting
   */
  boolean await(BooleanSupplier done, long deadline, boolean remote) {
    beforeBlock();
    node.startPrepared(baton.release());
    boolean held;
    try {
      held = park(node, this, done, deadline, remote);
    } finally {
      baton.acquire();
      afterBlock();
    }
    checkAlive();
    return held;
  }

  /** As {@link #await}, without a limit, and also when the work is no longer wanted. */
  void awaitAnyway(BooleanSupplier done) {
    beforeBlock();
    node.startPrepared(baton.release());
    boolean interrupted = false;
    while (!done.getAsBoolean()) {
      interrupted |= Thread.interrupted();
      node.threads().park();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    baton.acquire();
    afterBlock();
  }

  /** Waits outside of any scope. */
  static boolean awaitOutside(NodeRuntime node, BooleanSupplier done, long deadline) {
    return awaitOutside(node, done, deadline, false);
  }

  /**
   * Waits outside of any scope.
   *
   * @param remote whether another node is to end the waiting
   */
  static boolean awaitOutside(
      NodeRuntime node, BooleanSupplier done, long deadline, boolean remote) {
    return park(node, null, done, deadline, remote);
  }

  private static boolean park(
      NodeRuntime node,
      @Nullable Scope scope,
      BooleanSupplier done,
      long deadline,
      boolean remote) {
    if (scope != null) {
      scope.parked(true);
    }
    try {
      while (!done.getAsBoolean()) {
        if (scope != null && scope.cancelled()) {
          return false;
        }
        long left = deadline - node.clock().nanos();
        if (left <= 0) {
          return false;
        }
        if (Thread.interrupted()) {
          Thread.currentThread().interrupt();
          throw new CallInterruptedException(
              "interrupted while waiting for a grain; the outcome of what was called is unknown");
        }
        if (remote) {
          node.threads().parkNanosForOthers(left);
        } else {
          node.threads().parkNanos(left);
        }
      }
      return true;
    } finally {
      if (scope != null) {
        scope.parked(false);
      }
    }
  }

  /** Keeps where this thread can be woken when its work is no longer wanted. */
  private void parked(boolean parked) {
    for (var s = this; s != null; s = s.outer) {
      if (s.branches != null) {
        s.branches.parked(Thread.currentThread(), parked);
      }
    }
    if (run != null) {
      run.parked(Thread.currentThread(), parked);
    }
  }

  private void beforeBlock() {
    for (var s = this; s != null; s = s.outer) {
      if (s.branches != null) {
        s.branches.workerBlocks();
      }
    }
  }

  private void afterBlock() {
    for (var s = this; s != null; s = s.outer) {
      if (s.branches != null) {
        s.branches.workerGoesOn();
      }
    }
  }

  private boolean cancelled() {
    if (run != null && run.discarded()) {
      return true;
    }
    for (var s = this; s != null; s = s.outer) {
      if (s.branches != null && s.branches.cancelled()) {
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
