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
  void whatIsGivenBackCanBeTakenAgain() {
    assertEquals(10, all());
    allowance.giveBack(4);
    assertEquals(3, all());
    allowance.giveBack(1000);
    assertEquals(10, all(), "never more than at once");
  }
}
