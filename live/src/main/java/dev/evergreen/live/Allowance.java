package dev.evergreen.live;

/**
 * How much may be used in a while: so much a second, and what was not used is saved up to a limit
 * (a token bucket). Times are those of {@link System#nanoTime}. Not for several threads at a time.
 */
public final class Allowance {

  private final double perSecond;
  private final double most;
  private double left;
  private long atNanos;

  /**
   * A full one.
   *
   * @param burstSeconds for how many seconds what is not used is saved
   */
  public Allowance(double perSecond, int burstSeconds, long now) {
    this.perSecond = perSecond;
    this.most = perSecond * burstSeconds;
    this.left = most;
    this.atNanos = now;
  }

  /** Uses {@code amount}; false if so much is not left. */
  public boolean use(double amount, long now) {
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
  public long borrow(double amount, long now) {
    left = at(now) - amount;
    atNanos = now;
    return left >= 0 ? 0 : (long) (-left / perSecond * 1e9);
  }

  /**
   * As {@link #borrow}, but no more than {@code limit} is owed for it: what would be is let off.
   * What is owed already stays.
   *
   * @return for how many nanoseconds nothing more is to be used, so that as much as is owed up to
   *     this limit is made up for
   */
  public long owe(double amount, double limit, long now) {
    long due = borrow(Math.max(0, Math.min(amount, at(now) + limit)), now);
    return Math.min(due, (long) (limit / perSecond * 1e9));
  }

  /**
   * Keeps what was saved since then, also beyond the limit. Nothing must have been used meanwhile:
   * whoever was kept from using it has not lost it.
   */
  public void keepAllSince(long then, long now) {
    left = at(then) + (now - then) * perSecond / 1e9;
    atNanos = now;
  }

  /** Whether so much is left. */
  public boolean has(double amount, long now) {
    return at(now) >= amount;
  }

  /** Whether nothing is left. */
  public boolean isUsedUp(long now) {
    return at(now) <= 0;
  }

  /** Whether it is as good as a new one. */
  public boolean isFull(long now) {
    return at(now) >= most;
  }

  private double at(long now) {
    return left >= most ? left : Math.min(most, left + (now - atNanos) * perSecond / 1e9);
  }
}
