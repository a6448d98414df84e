package dev.evergreen.bench.load;

import java.util.random.RandomGenerator;

/** When the requests of an open loop are due, by {@link System#nanoTime}. */
final class Schedule {

  private final Distribution gaps;
  private final RandomGenerator random;
  private final long start;

  /** Since the start; a fraction of a nanosecond must not be lost each time. */
  private double next;

  Schedule(LoadPlan plan, long start, RandomGenerator random) {
    this.gaps = plan.pool().gaps(plan.rate());
    this.random = random;
    this.start = start;
    this.next = gaps.draw(random);
  }

  /** When the next request is due; the same until it is taken. */
  long next() {
    return start + (long) next;
  }

  /** Takes the next request; returns when it was due. */
  long take() {
    long due = next();
    next += gaps.draw(random);
    return due;
  }
}
