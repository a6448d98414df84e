package dev.evergreen.core.work;

/** Ends work that is no longer wanted, at its next blocking point. */
public final class Cancellation {

  private volatile boolean cancelled;
  private volatile boolean cut;
  private final Waiters parked = new Waiters();

  public boolean cancelled() {
    return cancelled;
  }

  /** Whether an interrupt has come to the work, or has ended it. */
  public boolean isCut() {
    return cut;
  }

  /** An interrupt has come: the work may have done something else for it. */
  public void cut() {
    cut = true;
  }

  /** Its threads that wait on behalf of the work; each looks whether that is still wanted. */
  public Waiters parked() {
    return parked;
  }

  /** The work is not wanted from now on: its threads that wait are woken. */
  public void cancel(Workers workers) {
    cancelled = true;
    parked.wake(workers);
  }
}
