package dev.evergreen.fibers;

import org.jspecify.annotations.Nullable;

/**
 * What is ready to run on one processor, in two queues: fibers that something has woken, or that
 * are new; and fibers that had more to do and let others run, as their turn was over, or that were
 * woken and had done so just before they waited. So one that asks for little waits for little,
 * however many there are that always have work. The rule:
 *
 * <ol>
 *   <li>In each queue the oldest comes first.
 *   <li>The woken come before those whose turn was over; but one of the latter comes first if their
 *       oldest has waited for {@link #SHARE_NANOS} and none of them has run for as long.
 * </ol>
 *
 * <p>Nobody starves. Let no turn be longer than T, and S be the share. The n-th of those whose turn
 * was over runs within n (S + T), whatever is woken meanwhile: each time S has passed, the next
 * choice is one of them. A woken one waits for the woken before it and, in each S that this takes,
 * for one turn of the others.
 */
final class Ready {

  /** So long only the woken may run at most, in nanoseconds. */
  static final long SHARE_NANOS = 1_000_000;

  private final ReadyQueue woken = new ReadyQueue();
  private final ReadyQueue turnOver = new ReadyQueue();

  /** When one whose turn had been over was taken last; only about, if several take. */
  private volatile long turnOverTakenAt = System.nanoTime();

  /**
   * Adds one; any thread may do so.
   *
   * @param behind whether after those that were woken, as its turn was over
   */
  void put(Runnable task, boolean behind, long now) {
    (behind ? turnOver : woken).put(task, now);
  }

  /** Takes the next one, if there is one. */
  @Nullable Runnable take(long now) {
    if (turnOverWait(now) < SHARE_NANOS) {
      var task = woken.take();
      if (task != null) {
        return task;
      }
    }
    var task = turnOver.take();
    if (task == null) {
      return woken.take();
    }
    turnOverTakenAt = now;
    return task;
  }

  /** For how long one of those whose turn was over waits, and none of them was taken. */
  private long turnOverWait(long now) {
    return turnOver.isEmpty()
        ? 0
        : Math.min(turnOver.oldestWait(now), Math.max(0, now - turnOverTakenAt));
  }

  boolean isEmpty() {
    return woken.isEmpty() && turnOver.isEmpty();
  }

  /**
   * Says how long what is to run next has waited for its processor at {@code now}, in nanoseconds;
   * 0 if there is nothing. Those whose turn was over count as waiting since one of them ran.
   */
  long oldestWait(long now) {
    return Math.max(woken.oldestWait(now), turnOverWait(now));
  }

  /** Counts them; for reports only. */
  int count() {
    return woken.count() + turnOver.count();
  }
}
