package dev.evergreen.fibers;

import org.jspecify.annotations.Nullable;

/**
 * Opens a gate when a wait at it has lasted too long. One alarm serves many waits: it is set for
 * the first, and when it rings it is set anew for whatever is waited for then, so that a wait which
 * is over in time costs two writes.
 *
 * <p>Invariant: while a thread waits, an alarm is set for its limit or earlier. The waiting thread
 * says that it waits before it looks for the alarm; the alarm says that it has rung before it looks
 * whether somebody waits.
 */
final class TimeLimit implements Runnable {

  private record Armed(Processor processor, Alarm alarm) {}

  private final Gate gate;
  private volatile boolean waiting;
  private volatile long until;
  private volatile @Nullable Armed armed;

  TimeLimit(Gate gate) {
    this.gate = gate;
  }

  /**
   * A wait begins that is to end at {@code until}; the alarm, if one is needed, goes to a
   * processor.
   */
  void begin(long until, Processor processor) {
    this.until = until;
    waiting = true;
    var present = armed;
    // One whose time has come may have rung before it was noted; it may ring once more.
    if (present == null
        || present.alarm.at() - until > 0
        || present.alarm.at() - System.nanoTime() <= 0) {
      arm(until, processor);
      if (present != null) {
        present.processor.cancel(present.alarm);
      }
    }
  }

  void end() {
    waiting = false;
  }

  /** Forgets the alarm, as nobody will wait again. */
  void cancel() {
    waiting = false;
    var present = armed;
    if (present != null) {
      present.processor.cancel(present.alarm);
    }
  }

  private void arm(long at, Processor processor) {
    armed = new Armed(processor, processor.alarm(at, this));
  }

  @Override
  public void run() {
    var rung = armed;
    armed = null;
    if (waiting) {
      // If it rang before it was noted, the one who waits begins anew.
      if (until - System.nanoTime() <= 0 || rung == null || !rearm(rung.processor)) {
        gate.open();
      }
    }
  }

  /** Says whether there was memory for that; else the one who waits is to look for some. */
  private boolean rearm(Processor processor) {
    try {
      arm(until, processor);
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }
}
