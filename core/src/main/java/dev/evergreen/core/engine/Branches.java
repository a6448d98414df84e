package dev.evergreen.core.engine;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.work.Cancellation;
import dev.evergreen.core.work.StackRoom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The branches of one {@link Parallel} call inside a scope. Since branches hold the baton in turn,
 * one worker takes them one after the other; only when it blocks is another started for the rest.
 * Branches that find everything in caches therefore cost no thread.
 *
 * <p>Fields that have no guard are touched only with the scope's baton held.
 */
final class Branches implements Scope.Group {

  private static final int MAX_WORKERS = 1_024;

  private final Scope parent;
  private final List<? extends Callable<?>> branches;
  private final boolean first;
  private final @Nullable Object[] results;
  private final @Nullable Throwable[] failures;
  private final Thread owner = Thread.currentThread();
  private int next;
  private int running;
  private int workers;
  private int winner = -1;
  private volatile int ended;
  private final Cancellation cancellation = new Cancellation();

  private Branches(List<? extends Callable<?>> branches, boolean first) {
    this.parent = Objects.requireNonNull(Scope.current(), "asked before");
    this.branches = branches;
    this.first = first;
    this.results = new Object[branches.size()];
    this.failures = new Throwable[branches.size()];
  }

  /** Runs all branches; returns their results in order or throws the first failure in order. */
  static List<@Nullable Object> all(List<? extends Callable<?>> branches) throws Throwable {
    var all = new Branches(branches, false);
    all.run();
    for (var failure : all.failures) {
      if (failure != null) {
        throw failure;
      }
    }
    return new ArrayList<@Nullable Object>(Arrays.asList(all.results));
  }

  /** Runs branches until one returns. */
  static @Nullable Object first(List<? extends Callable<?>> branches) throws Throwable {
    var race = new Branches(branches, true);
    race.run();
    if (race.winner >= 0) {
      return race.results[race.winner];
    }
    var failure = race.failures[0];
    throw failure != null ? failure : new Scope.Unwanted();
  }

  private void run() throws Throwable {
    StackRoom.check();
    running = 1;
    workers = 1;
    workIn(parent.branch(this, true));
    if (ended < branches.size()) {
      try {
        parent.await(this::ended, parent.workers().never(), false);
      } catch (Throwable t) {
        if (t instanceof CallInterruptedException || parent.isCut()) {
          cancellation.cut();
        }
        cancellation.cancel(parent.workers());
        parent.awaitAnyway(this::ended);
        throw t;
      }
    }
    parent.checkAlive();
  }

  private boolean ended() {
    return ended == branches.size();
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // only with the baton held
  private void work() {
    while (next < branches.size()) {
      int i = next++;
      if (!cancellation.cancelled()) {
        take(i);
      }
      ended++;
    }
    running--;
    workers--;
    if (ended()) {
      parent.workers().unpark(owner);
    }
  }

  private void take(int i) {
    try {
      results[i] = branches.get(i).call();
      if (first && winner < 0) {
        winner = i;
        cancellation.cancel(parent.workers());
      }
    } catch (Throwable t) {
      failures[i] = t;
    }
  }

  @Override
  public Cancellation cancellation() {
    return cancellation;
  }

  /** A worker is about to block: the rest gets another one. */
  @Override
  public void workerBlocks() {
    running--;
    if (running == 0 && next < branches.size() && workers < MAX_WORKERS) {
      running++;
      workers++;
      var scope = parent.branch(this, false);
      parent.workers().begin(() -> workAlone(scope));
    }
  }

  private void workAlone(Scope scope) {
    scope.baton().acquire();
    try {
      workIn(scope);
    } catch (Throwable t) {
      throw new AssertionError("a branch worker failed", t);
    } finally {
      scope.workers().startPrepared(scope.baton().release());
    }
  }

  private void workIn(Scope scope) throws Throwable {
    scope.call(
        () -> {
          work();
          return null;
        });
  }

  @Override
  public void workerGoesOn() {
    running++;
  }
}
