package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Clock;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ChainClockTest {

  /** Stands still until it is set. */
  private static final class SetClock implements Clock {
    private long nanos;

    SetClock(long nanos) {
      this.nanos = nanos;
    }

    @Override
    public long nanos() {
      return nanos;
    }

    @Override
    public Instant now() {
      return Instant.EPOCH;
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      throw new UnsupportedOperationException();
    }
  }

  private final SetClock own = new SetClock(-1_000_000);
  private final ChainClock clock = new ChainClock(own);

  private long now() {
    return clock.at(own.nanos());
  }

  @Test
  void itBeginsAfterNoneAndMovesOnWithTheNodesOwnClock() {
    long first = now();
    assertTrue(first > ChainClock.NONE);
    own.nanos += 17;
    assertEquals(first + 17, now());
  }

  @Test
  void itIsNeverBeforeWhatItHasHeardOf() {
    long later = now() + 5_000;
    clock.learns(later);
    assertEquals(later, now());
    clock.learns(later - 1);
    clock.learns(ChainClock.NONE);
    clock.learns(Long.MIN_VALUE);
    assertEquals(later, now());
    own.nanos += 3;
    assertEquals(later + 3, now());
  }

  @Test
  void whatCannotBeATimeIsIgnored() {
    long before = now();
    clock.learns(Long.MAX_VALUE);
    assertEquals(before, now());
  }
}
