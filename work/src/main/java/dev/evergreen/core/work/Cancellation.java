package dev.evergreen.core.work;

/** Ends work that is no longer wanted, at its next blocking point. */
public final class Cancellation {

  private volatile boolean cancelled;
  private volatile boolean cut;
  private final Waiters parked = new Waiters();

  public boolean cancelled() {
    return cancelled;
  }

  /** Whether it was cancelled as who waits for the work was interrupted. */
  public boolean isCut() {
    return cut;
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

  /** As {@link #cancel}; {@code interrupted} if who waits for the work may go on without it. */
  public void cancel(Workers workers, boolean interrupted) {
    cut = interrupted;
    cancel(workers);
  }
}
