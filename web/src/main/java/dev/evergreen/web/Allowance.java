package dev.evergreen.web;

/**
 * How much may be used in a while: so much a second, and what was not used is saved up to a limit
 * (a token bucket). Not for several threads at a time.
 */
final class Allowance {

  private final double perSecond;
  private final double most;
  private double left;
  private long atNanos;

  /**
   * A full one.
   *
   * @param burstSeconds for how many seconds what is not used is saved
   */
  Allowance(double perSecond, int burstSeconds, long now) {
    this.perSecond = perSecond;
    this.most = perSecond * burstSeconds;
    this.left = most;
    this.atNanos = now;
  }

  /** Uses {@code amount}; false if so much is not left. */
  boolean use(double amount, long now) {
    left = at(now);
    atNanos = now;
    if (left < amount) {
      return false;
    }
    left -= amount;
    return true;
  }

  /**
   * Uses {@code amount}, more than is left if need be.
   *
   * @return for how many nanoseconds nothing more is to be used, so that it is made up for
   */
  long borrow(double amount, long now) {
    left = at(now) - amount;
    atNanos = now;
    return left >= 0 ? 0 : (long) (-left / perSecond * 1e9);
  }

  /** Whether it is as good as a new one. */
  boolean isFull(long now) {
    return at(now) >= most;
  }

  private double at(long now) {
    return Math.min(most, left + (now - atNanos) * perSecond / 1e9);
  }
}
