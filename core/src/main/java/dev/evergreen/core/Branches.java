package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The branches of one {@link Parallel} call inside a scope. Since branches hold the baton in turn,
 * one worker takes them one after the other; only when it blocks is another started for the rest.
 * Branches that find everything in caches therefore cost no thread.
 *
 * <p>Fields that have no guard are touched only with the scope's baton held.
 */
final class Branches {

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
  private volatile boolean cancelled;

  @GuardedBy("this")
  private final Set<Thread> parked = new LinkedHashSet<>();

  private Branches(Scope parent, List<? extends Callable<?>> branches, boolean first) {
    this.parent = parent;
    this.branches = branches;
    this.first = first;
    this.results = new Object[branches.size()];
    this.failures = new Throwable[branches.size()];
  }

  /** Runs all branches; returns their results in order or throws the first failure in order. */
  static List<@Nullable Object> all(Scope parent, List<? extends Callable<?>> branches)
      throws Throwable {
    var all = new Branches(parent, branches, false);
    all.run();
    for (var failure : all.failures) {
      if (failure != null) {
        throw failure;
      }
    }
    var results = new ArrayList<@Nullable Object>(all.results.length);
    for (var result : all.results) {
      results.add(result);
    }
    return results;
  }

  /** Runs branches until one returns. */
  static @Nullable Object first(Scope parent, List<? extends Callable<?>> branches)
      throws Throwable {
    var race = new Branches(parent, branches, true);
    race.run();
    if (race.winner >= 0) {
      return race.results[race.winner];
    }
    var failure = race.failures[0];
    throw failure != null ? failure : new Scope.Unwanted();
  }

  private void run() throws Throwable {
    running = 1;
    workers = 1;
    parent
        .branch(this, true)
        .call(
            () -> {
              work();
              return null;
            });
    if (ended < branches.size()) {
      try {
        parent.await(this::ended, parent.node().never());
      } catch (Throwable t) {
        cancel();
        parent.awaitAnyway(this::ended);
        throw t;
      }
    }
    parent.checkAlive();
  }

  private boolean ended() {
    return ended == branches.size();
  }

  private void work() {
    while (next < branches.size()) {
      int i = next++;
      if (!cancelled) {
        take(i);
      }
      countEnded();
    }
    running--;
    workers--;
    if (ended()) {
      parent.node().threads().unpark(owner);
    }
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // only with the baton held
  private void countEnded() {
    ended++;
  }

  private void take(int i) {
    try {
      results[i] = branches.get(i).call();
      if (first && winner < 0) {
        winner = i;
        cancel();
      }
    } catch (Throwable t) {
      failures[i] = t;
    }
  }

  private void cancel() {
    List<Thread> wake;
    synchronized (this) {
      cancelled = true;
      wake = List.copyOf(parked);
    }
    wake.forEach(parent.node().threads()::unpark);
  }

  boolean cancelled() {
    return cancelled;
  }

  synchronized void parked(Thread thread, boolean isParked) {
    if (isParked) {
      parked.add(thread);
    } else {
      parked.remove(thread);
    }
  }

  /** A worker is about to block: the rest gets another one. */
  void workerBlocks() {
    running--;
    if (running == 0 && next < branches.size() && workers < MAX_WORKERS) {
      running++;
      workers++;
      var scope = parent.branch(this, false);
      parent
          .node()
          .threads()
          .start(
              () -> {
                scope.baton().acquire();
                try {
                  scope.call(
                      () -> {
                        work();
                        return null;
                      });
                } catch (Throwable t) {
                  throw new AssertionError("a branch worker failed", t);
                } finally {
                  parent.node().startPrepared(scope.baton().release());
                }
              });
    }
  }

  void workerGoesOn() {
    running++;
  }
}
