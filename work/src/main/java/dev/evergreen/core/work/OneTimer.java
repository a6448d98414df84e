package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * One timer for all that want the same task to run: whoever wants it while it is set need do
 * nothing. Where setting it fails, as where a stack or the memory ends, it is not set, and the next
 * one who wants it sets it.
 */
public final class OneTimer {

  private final Workers workers;

  @GuardedBy("this")
  private boolean isSet;

  /** One that is not set. */
  public OneTimer(Workers workers) {
    this.workers = workers;
  }

  /** Whether it is set. */
  public synchronized boolean isSet() {
    return isSet;
  }

  /**
   * Starts a thread for a task after a while, unless it is set already. It is set no more before
   * the task begins: what is wanted from then on is not of this time.
   */
  public void after(long nanos, Tasks.Task task) {
    synchronized (this) {
      if (isSet) {
        return;
      }
      isSet = true;
    }
    try {
      workers.afterShortly(nanos, () -> start(task));
    } catch (RuntimeException | Error e) {
      synchronized (this) {
        isSet = false; // by no call: there may be no stack for one
      }
      throw e;
    }
  }

  private void start(Tasks.Task task) {
    synchronized (this) {
      isSet = false;
    }
    workers.start(task);
  }
}
