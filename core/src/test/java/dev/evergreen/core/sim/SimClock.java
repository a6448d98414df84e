package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Clock;
import java.time.Duration;
import java.time.Instant;

/** The clock of one simulated process: it runs a little fast or slow, and its wall clock is off. */
final class SimClock implements Clock {

  private static final Instant START = Instant.parse("2026-03-01T08:00:00Z");

  private static final double FOR_EVER = 1L << 61;

  private final Scheduler scheduler;
  private final Life life;
  private final double rate;
  private final long originNanos;
  private Duration wallOffset;

  /**
   * @param rate how many of its seconds pass in a virtual second
   * @param originNanos what {@link #nanos} is at virtual time zero
   * @param wallOffset how much its wall clock is off
   */
  SimClock(Scheduler scheduler, Life life, double rate, long originNanos, Duration wallOffset) {
    this.scheduler = scheduler;
    this.life = life;
    this.rate = rate;
    this.originNanos = originNanos;
    this.wallOffset = wallOffset;
  }

  @Override
  public long nanos() {
    return originNanos + (long) (scheduler.now() * rate);
  }

  @Override
  public Instant now() {
    return START.plusNanos((long) (scheduler.now() * rate)).plus(wallOffset);
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    return scheduler.after(toVirtual(delayNanos), life, task);
  }

  /** Sets the wall clock, which jumps. */
  void jump(Duration offset) {
    wallOffset = offset;
  }

  /** How much virtual time passes while this clock shows {@code nanos} to pass. */
  long toVirtual(long nanos) {
    // Rounded up: a timer that rings early would find by this clock that it is not yet time.
    return nanos <= 0 ? 0 : (long) Math.min(Math.ceil(nanos / rate) + 1, FOR_EVER);
  }
}
