package dev.evergreen.core.work;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many runs wait for a processor: while they are many, pushes are acknowledged late. A run that
 * waits for its grain is none of them, or one grain that is stuck would hold up what is pushed to
 * all others.
 */
public final class Backlog {

  private final int most;
  private final AtomicInteger runs = new AtomicInteger();
  private final Queue<Runnable> acknowledgements = new ConcurrentLinkedQueue<>();

  /**
   * Makes one of no runs.
   *
   * @param most with so many runs, and with more, acknowledgements wait
   */
  public Backlog(int most) {
    this.most = most;
  }

  /** How many runs wait. */
  public int size() {
    return runs.get();
  }

  /** A run waits for a processor from now on. */
  public void runScheduled() {
    runs.incrementAndGet();
  }

  /** A run has got a processor. */
  public void runBegins() {
    int left = runs.decrementAndGet();
    acknowledgeOne();
    while (left <= 0 && !acknowledgements.isEmpty() && runs.get() < most) {
      acknowledgeOne(); // No run follows that would.
    }
  }

  /** Acknowledges now, or when there is room. */
  public void acknowledge(Runnable acknowledgement) {
    // First there to be found, then looked for: the backlog may go at any moment.
    acknowledgements.add(acknowledgement);
    acknowledgeOne();
  }

  private void acknowledgeOne() {
    if (runs.get() < most) {
      var acknowledgement = acknowledgements.poll();
      if (acknowledgement != null) {
        try {
          acknowledgement.run();
        } catch (RuntimeException | Error e) {
          Handover.log("an acknowledgement failed", e); // it is no affair of who has made room
        }
      }
    }
  }
}
