package dev.evergreen.core.work;

import dev.evergreen.core.spi.Clock;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The time by which nodes agree which of two call chains is older: Lamport's logical time (1978),
 * that moves on with this node's own clock. A time is carried along with a chain and never
 * translated, so that it is the same everywhere; a node that hears of a later time than its own
 * jumps there. So a chain that begins on a node after that has heard of another is not older. No
 * wall clock takes part, and no agreement about the time of day.
 */
public final class ChainClock {

  /** No chain: what a message carries that is not part of one, or is of an older version. */
  public static final long NONE = 0;

  /** Two centuries; what is later is no time that a node has told. */
  private static final long LATEST = 1L << 62;

  private final Clock clock;
  private final long origin;
  private final AtomicLong ahead = new AtomicLong(1);

  public ChainClock(Clock clock) {
    this.clock = clock;
    this.origin = clock.nanos();
  }

  /** The present time, when this node's own clock says {@code nanos}; not before any heard of. */
  public long at(long nanos) {
    return nanos - origin + ahead.get();
  }

  /** Another node knows of this time. */
  public void learns(long time) {
    long own = clock.nanos() - origin;
    if (time > own + ahead.get() && time < LATEST) {
      ahead.accumulateAndGet(time - own, Math::max);
    }
  }
}
