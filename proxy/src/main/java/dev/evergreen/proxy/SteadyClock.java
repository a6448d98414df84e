package dev.evergreen.proxy;

import java.util.function.LongSupplier;

/**
 * The milliseconds since 1970 as far as they were known when it began, and those that have passed
 * since. It does not go back when somebody sets the machine's clock back. It goes forward with
 * that: the machine may have slept, so that what is kept is older than what was counted.
 *
 * <p>Any thread may ask.
 */
final class SteadyClock implements LongSupplier {

  /** How often it looks at the machine's clock, in milliseconds. */
  private static final long EVERY = 1000;

  private final LongSupplier machine;
  private final LongSupplier nanos;
  private final long began;

  /** What is added to the time that was counted; it grows only. Changed under this. */
  private volatile long base;

  private volatile long nextLook;

  /**
   * One that begins now.
   *
   * @param machine tells the milliseconds since 1970, and may be set
   * @param nanos counts nanoseconds, from whenever
   */
  SteadyClock(LongSupplier machine, LongSupplier nanos) {
    this.machine = machine;
    this.nanos = nanos;
    // In this order, as in look().
    base = machine.getAsLong();
    began = nanos.getAsLong();
    nextLook = base + EVERY;
  }

  @Override
  public long getAsLong() {
    long now = base + counted();
    return now < nextLook ? now : look();
  }

  private long counted() {
    return (nanos.getAsLong() - began) / 1_000_000;
  }

  /** What passes between the two clocks is not taken for time by which the machine's is ahead. */
  private synchronized long look() {
    long told = machine.getAsLong();
    long counted = counted();
    base = Math.max(base, told - counted);
    nextLook = base + counted + EVERY;
    return base + counted;
  }
}
