package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a peer may cause, by a clock that stands still. */
class AllowanceTest {
  private long now = Long.MAX_VALUE - 5; // as nanoseconds may overflow
  private final Allowance allowance = new Allowance(10, 5, () -> now);

  private int all() {
    int taken = 0;
    while (allowance.take()) {
      taken++;
    }
    return taken;
  }

  @Test
  void thereAreSoManyAtOnce() {
    assertEquals(10, all());
  }

  @Test
  void andThenSoManyInASecond() {
    assertEquals(10, all());
    now += TimeUnit.SECONDS.toNanos(1);
    assertEquals(4, all(), "one was taken too many before");
    now += TimeUnit.HOURS.toNanos(1);
    assertEquals(10, all(), "never more than at once");
  }

  @Test
  void whatWasEarnedIsKeptUntilItIsTaken() {
    allowance.earn(4, 20);
    now += TimeUnit.HOURS.toNanos(1);
    assertEquals(14, all());
    allowance.earn(4, 20);
    assertEquals(4, all());
    allowance.earn(15, 20);
    allowance.earn(15, 20);
    assertEquals(20, all(), "never more than the limit");
  }
}
