package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;

/**
 * What time it is, which items still live, and the numbers that only go up.
 *
 * <p>An item carries the epoch in which it was stored; flushing begins another one. Epochs have 16
 * bits, so that items of former ones must be gone before their number returns: {@link #flush} says
 * when. Then no other one begins until they are.
 */
final class Life {
  private static final int NEVER = Integer.MAX_VALUE;
  private static final int EPOCHS_BETWEEN_PURGES = 1 << 14;

  private final IntSupplier clock;
  private final boolean numbers;
  private final AtomicLong cas = new AtomicLong();
  private volatile int epoch;
  private volatile int flushAt = NEVER;

  // Guarded by this: the epoch before which nothing is left.
  private int purged;

  Life(IntSupplier clock, boolean numbers) {
    this.clock = clock;
    this.numbers = numbers;
  }

  /** The second; a flush that is due by now has happened. */
  int now() {
    int now = clock.getAsInt();
    if (now >= flushAt) {
      flushDue(now);
    }
    return now;
  }

  private synchronized void flushDue(int now) {
    if (now >= flushAt) {
      flushAt = NEVER;
      epoch++;
    }
  }

  /**
   * Ends the life of all items of now, or of those that there are at the second, in place of an
   * earlier wish of that kind.
   *
   * @return false if memory must be {@link #purged} of former epochs before; nothing was done then
   */
  synchronized boolean flush(int second) {
    if (isPurgeDue()) {
      return false;
    }
    // What is due by now has happened, though nobody has asked for the time since.
    if (second > now()) {
      flushAt = second;
    } else {
      flushAt = NEVER;
      epoch++;
    }
    return true;
  }

  synchronized boolean isPurgeDue() {
    return epoch - purged >= EPOCHS_BETWEEN_PURGES;
  }

  /** How many epochs there were; the number that items carry is the end of this one. */
  int epochs() {
    return epoch;
  }

  /** Says that no item is left of an epoch before the one of this count. */
  synchronized void purged(int epochs) {
    purged = epochs;
  }

  short epoch() {
    return (short) epoch;
  }

  boolean isAlive(short itsEpoch, int expiry, int now) {
    return itsEpoch == (short) epoch && !hasExpired(expiry, now);
  }

  static boolean hasExpired(int expiry, int now) {
    return expiry != 0 && expiry <= now;
  }

  /** The CAS number that a client chose, if items have any. */
  long chosenCas(long chosen) {
    return numbers ? chosen : 0;
  }

  /**
   * A CAS number that no item got before, unless a client chose it; then at least not the former
   * one of this item.
   */
  long nextCas(long former) {
    if (!numbers) {
      return 0;
    }
    long next = cas.incrementAndGet();
    return next == former ? cas.incrementAndGet() : next;
  }
}
