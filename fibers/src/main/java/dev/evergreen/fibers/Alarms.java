package dev.evergreen.fibers;

import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

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
    for (var alarm = first(); alarm != null && alarm.at() - now <= 0; alarm = first()) {
      // Somebody else may take it in between. To take the first one whatever it is needs memory
      // when it is taken already, and is lost if there is none.
      if (take(alarm)) {
        alarm.task().run();
      }
    }
  }

  private boolean take(Alarm alarm) {
    try {
      return alarms.remove(alarm);
    } catch (OutOfMemoryError e) {
      if (alarms.contains(alarm)) {
        throw e;
      }
      // By us or by another one: better twice than never.
      return true;
    }
  }

  private @Nullable Alarm first() {
    if (alarms.isEmpty()) {
      return null;
    }
    try {
      return alarms.first();
    } catch (NoSuchElementException e) {
      return null;
    }
  }

  /** The time from {@code now} to the next alarm: 0 if it is due, negative if there is none. */
  long nanosToNext(long now) {
    var first = first();
    return first == null ? -1 : Math.max(0, first.at() - now);
  }
}
