package dev.evergreen.core.engine;

import dev.evergreen.core.work.Chain;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The runs of one activation's summaries: those that are under way, and the summaries that wait for
 * one.
 *
 * <p>A run begins when the activation's baton comes to it, and so few wait for the baton at a time
 * that a read or a write is not behind all of them, however many summaries there are. It begins
 * only while no write is inside, and never delays one: a write that is admitted discards what is
 * under way, which runs again after it. Two things protect runs, for a short time in which writes
 * wait until all have run (design §4): that one of them was interrupted three times in a row, and
 * that writes have kept one of them from beginning for as long.
 *
 * <p>Not thread-safe: for who holds the activation's monitor.
 */
final class Runs {

  private static final int DISCARDS_BEFORE_PROTECTION = 3;

  /** Enough of them that they are not behind many reads, one by one. */
  private static final int MOST_DUE = 32;

  private final Workers workers;

  private final long longest;

  private final Chain<Summary> waiting = new Chain<>();
  private final Chain<Summary.Run> underWay = new Chain<>();
  private int waits;

  /** Whether some have waited since a write that began then. */
  private boolean heldBack;

  private long heldBackSince;

  /** Whether runs are protected until then, or were since the last write. */
  private boolean sheltered;

  private long shelteredUntil;

  /**
   * @param writeDelay how long writes may hold runs back, and runs a write
   */
  Runs(Workers workers, Duration writeDelay) {
    this.workers = workers;
    this.longest = writeDelay.toNanos();
  }

  /** A summary is to run as soon as it may. */
  void await(Summary summary) {
    waits += waiting.add(summary) ? 1 : 0;
  }

  void withdraw(Summary summary) {
    if (waiting.remove(summary)) {
      waitsNoMore();
    }
  }

  private void waitsNoMore() {
    waits--;
    heldBack &= waits > 0;
  }

  /** How many should wait for the baton to begin. */
  int due() {
    return Math.min(waits, MOST_DUE);
  }

  /** Begins the next; null if none can. Nothing is written. */
  Summary.@Nullable Run begin() {
    // One that does not begin is under way, and comes back when it ends, or needs no run any more.
    for (var summary = waiting.poll(); summary != null; summary = waiting.poll()) {
      waitsNoMore();
      var run = summary.begin();
      if (run != null) {
        if (run.discardedBefore() >= DISCARDS_BEFORE_PROTECTION) {
          shelter();
        }
        underWay.add(run);
        return run;
      }
    }
    return null;
  }

  /** Once between two writes, so that these come between the runs, however many there are. */
  private void shelter() {
    if (!sheltered) {
      sheltered = true;
      shelteredUntil = workers.nanos() + longest;
    }
  }

  /** How long a write must still wait for runs; 0 if it need not. */
  long protectedFor() {
    if (waits == 0 && underWay.isEmpty()) {
      return 0;
    }
    if (heldBack && workers.nanos() - heldBackSince >= longest) {
      heldBack = false;
      shelter();
    }
    return sheltered ? Math.max(0, shelteredUntil - workers.nanos()) : 0;
  }

  /** A write begins: what is under way runs again after it. */
  void makeWay() {
    sheltered = false;
    for (var run : underWay.drain()) {
      run.discardForWrite();
      await(run.summary());
    }
    if (!heldBack && waits > 0) {
      heldBack = true;
      heldBackSince = workers.nanos();
    }
  }

  /** A run has ended, or is not wanted any more; returns whether its result is. */
  boolean ended(Summary.@Nullable Run run) {
    return run != null && underWay.remove(run) && !run.discarded();
  }
}
