package dev.evergreen.http;

import java.util.function.LongSupplier;

/**
 * How much of something a peer may cause: so many at once, then so many in each second, and as many
 * more as it {@linkplain #earn earns}. Whoever uses it sees to it that one thread does at a time.
 */
final class Allowance {
  private final long nanosEach;
  private final long burst;
  private final LongSupplier clock;

  /** What was earned and not taken yet; this is taken first. */
  private int earned;

  /** When all that was taken will have been given again. */
  private long paidUntil;

  Allowance(int burst, int perSecond) {
    this(burst, perSecond, System::nanoTime);
  }

  /**
   * One by another clock.
   *
   * @param clock in nanoseconds
   */
  Allowance(int burst, int perSecond, LongSupplier clock) {
    nanosEach = 1_000_000_000L / perSecond;
    this.burst = burst * nanosEach;
    this.clock = clock;
    paidUntil = clock.getAsLong();
  }

  /** Takes one; false if it is one too many. */
  boolean take() {
    if (earned > 0) {
      earned--;
      return true;
    }
    long now = clock.getAsLong();
    if (paidUntil - now < 0) {
      paidUntil = now;
    }
    paidUntil += nanosEach;
    return paidUntil - now <= burst;
  }

  /** Adds some, which are kept until they are taken, but never more than a limit. */
  void earn(int number, int most) {
    earned = Math.min(most, earned + number);
  }
}
