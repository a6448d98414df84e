package dev.evergreen.core.work;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Room for a bounded number of calls to one other node. A call from outside that finds none waits;
 * so a slow node slows only its own callers. A call that an operation makes is counted but does not
 * wait: what has the room may itself wait for that operation, and neither would ever go on.
 */
public final class Room {

  private final Workers workers;
  private final int most;
  private final AtomicInteger inside = new AtomicInteger();
  private final Queue<Thread> waiters = new ConcurrentLinkedQueue<>();

  /**
   * @param most how many may be inside at a time
   */
  public Room(Workers workers, int most) {
    this.workers = workers;
    this.most = most;
  }

  /** Enters whether there is room or not; {@link #leave} afterwards. */
  public void enterAnyway() {
    inside.incrementAndGet();
  }

  /**
   * Waits for room, outside of any scope; {@link #leave} afterwards if there was.
   *
   * @param deadline until when, as the clock of the workers tells it
   * @return whether there was room before the deadline
   */
  public boolean enter(long deadline) {
    if (waiters.isEmpty() && tryEnter()) {
      return true;
    }
    var self = Thread.currentThread();
    waiters.add(self);
    try {
      return workers.await(this::tryEnter, deadline, false);
    } finally {
      waiters.remove(self);
      wakeFirst();
    }
  }

  private boolean tryEnter() {
    for (int n = inside.get(); n < most; n = inside.get()) {
      if (inside.compareAndSet(n, n + 1)) {
        return true;
      }
    }
    return false;
  }

  /** Says that one who has entered is inside no longer; the first who waits looks again. */
  public void leave() {
    inside.decrementAndGet();
    wakeFirst();
  }

  /** The first in the queue looks for itself whether there is room, and wakes the next. */
  private void wakeFirst() {
    var first = waiters.peek();
    if (first != null) {
      workers.unpark(first);
    }
  }
}
