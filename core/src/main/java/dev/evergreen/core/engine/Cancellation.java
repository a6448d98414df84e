package dev.evergreen.core.engine;

/** Ends work that is no longer wanted, at its next blocking point. */
final class Cancellation {

  private volatile boolean cancelled;
  private final Waiters parked = new Waiters();

  boolean cancelled() {
    return cancelled;
  }

  /** Its threads that wait on behalf of the work; each looks whether that is still wanted. */
  Waiters parked() {
    return parked;
  }

  /** The work is not wanted from now on: its threads that wait are woken. */
  void cancel(Workers workers) {
    cancelled = true;
    parked.wake(workers);
  }
}
