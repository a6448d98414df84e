package dev.evergreen.http;

/** How much of something a peer may cause at once, and then in each second. For one thread. */
final class Allowance {
  private final long nanosEach;
  private final long burst;

  /** When all that was taken will have been given again. */
  private long paidUntil = System.nanoTime();

  Allowance(int burst, int perSecond) {
    nanosEach = 1_000_000_000L / perSecond;
    this.burst = burst * nanosEach;
  }

  /** Takes one; false if it is one too many. */
  boolean take() {
    long now = System.nanoTime();
    if (paidUntil - now < 0) {
      paidUntil = now;
    }
    paidUntil += nanosEach;
    return paidUntil - now <= burst;
  }
}
