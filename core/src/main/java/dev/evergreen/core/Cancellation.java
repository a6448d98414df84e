package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.List;

/** Ends work that is no longer wanted, at its next blocking point. */
final class Cancellation {

  private volatile boolean cancelled;

  @GuardedBy("this")
  private final List<Thread> parked = new ArrayList<>(0);

  boolean cancelled() {
    return cancelled;
  }

  /** The work is not wanted from now on: its threads that wait are woken. */
  void cancel(Workers workers) {
    List<Thread> wake;
    synchronized (this) {
      cancelled = true;
      wake = List.copyOf(parked);
    }
    wake.forEach(workers::unpark);
  }

  /** A thread begins to wait on behalf of the work; it looks whether that is wanted afterwards. */
  synchronized void parks(Thread thread) {
    parked.add(thread);
  }

  synchronized void goesOn(Thread thread) {
    parked.remove(thread);
  }
}
