package dev.evergreen.fibers;

import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The alarms of one processor. Its carrier runs those that are due; others may do so when it does
 * not come to it, and any thread may add and cancel.
 */
final class Alarms {

  private static final AtomicLong NUMBERS = new AtomicLong();

  private final ConcurrentSkipListSet<Alarm> alarms = new ConcurrentSkipListSet<>();

  /** Adds one; if it has become the first, the processor must learn of it. */
  Alarm add(long at, Runnable task) {
    var alarm = new Alarm(at, NUMBERS.incrementAndGet(), task);
    alarms.add(alarm);
    return alarm;
  }

  /** Says whether it had not yet begun, and never will. */
  boolean cancel(Alarm alarm) {
    return alarms.remove(alarm);
  }

  /** Runs what is due at {@code now}. */
  void runDue(long now) {
    while (nanosToNext(now) == 0) {
      var alarm = alarms.pollFirst();
      if (alarm == null) {
        return;
      }
      if (alarm.at() - now > 0) {
        // Somebody else took the due one in between.
        alarms.add(alarm);
        return;
      }
      alarm.task().run();
    }
  }

  /** The time from {@code now} to the next alarm: 0 if it is due, negative if there is none. */
  long nanosToNext(long now) {
    if (alarms.isEmpty()) {
      return -1;
    }
    try {
      return Math.max(0, alarms.first().at() - now);
    } catch (NoSuchElementException e) {
      return -1;
    }
  }
}
