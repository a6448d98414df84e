package dev.evergreen.core.engine;

import dev.evergreen.core.work.Chain;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import org.jspecify.annotations.Nullable;

/**
 * The runs of one activation's summaries: those that are under way, and the summaries that wait for
 * one.
 *
 * <p>Runs start whenever no write is inside, and never delay one: a write that is admitted discards
 * them, and they start again after it. A summary that was interrupted three times in a row gets its
 * run protected for a short time (design §4), and so do those that could not even begin for as
 * long, since a write was always waiting.
 *
 * <p>Not thread-safe: for who holds the activation's monitor.
 */
final class Runs {

  private static final int DISCARDS_BEFORE_PROTECTION = 3;

  private final Workers workers;

  /** How long writes may hold a run back, and a run a write. */
  private final long longest;

  private final Chain<Summary> waiting = new Chain<>();
  private final Chain<Summary.Run> underWay = new Chain<>();
  private boolean heldBack;
  private long heldBackSince;

  Runs(Propagation parts) {
    this.workers = parts.base().workers();
    this.longest = parts.base().settings().writeDelay().toNanos();
  }

  /** A summary is to run as soon as it may. */
  void await(Summary summary) {
    waiting.add(summary);
  }

  void withdraw(Summary summary) {
    waiting.remove(summary);
  }

  /** Whether a summary waits. */
  boolean awaited() {
    return !waiting.isEmpty();
  }

  /** Whether writes that follow each other without a pause have held runs back for long. */
  boolean overdue() {
    return heldBack && workers.nanos() - heldBackSince >= longest;
  }

  /** Starts what waits; nothing is written. */
  void start(Tasks next) {
    boolean overdue = overdue();
    heldBack = false;
    // One that does not begin is under way, and comes back when it ends, or needs no run any more.
    for (var summary = waiting.poll(); summary != null; summary = waiting.poll()) {
      var run = summary.begin();
      if (run != null) {
        if (overdue || run.discardedBefore() >= DISCARDS_BEFORE_PROTECTION) {
          run.protectUntil(workers.nanos() + longest);
        }
        underWay.add(run);
        next.add(run);
      }
    }
  }

  /** How long a write must still wait for a run; 0 if it need not. */
  long protectedFor() {
    for (var run : underWay.toList()) {
      long left = run.protectedFor();
      if (left > 0) {
        return left;
      }
    }
    return 0;
  }

  /** A write begins: what is under way runs again after it. */
  void makeWay() {
    for (var run : underWay.drain()) {
      run.discardForWrite();
      waiting.add(run.summary());
    }
    if (!heldBack && awaited()) {
      heldBack = true;
      heldBackSince = workers.nanos();
    }
  }

  /** A run has ended, or is not wanted any more; returns whether its result is. */
  boolean ended(Summary.@Nullable Run run) {
    return run != null && underWay.remove(run) && !run.discarded();
  }
}
