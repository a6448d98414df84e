package dev.evergreen.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class AllowanceTest {

  private static final int SAVED = 60;

  private final Allowance ofOneASecond = new Allowance(1, SAVED, 0);

  private static long seconds(int count) {
    return TimeUnit.SECONDS.toNanos(count);
  }

  @Test
  void whatIsBorrowedIsMadeUpFor() {
    assertEquals(seconds(10), ofOneASecond.borrow(SAVED + 10, 0));
    assertFalse(ofOneASecond.use(1, seconds(10)));
    assertTrue(ofOneASecond.use(1, seconds(11)));
  }

  /** However much it is, and however often. */
  @Test
  void noMoreIsOwedThanMayBe() {
    for (int i = 0; i < 5; i++) {
      assertEquals(seconds(SAVED), ofOneASecond.owe(1_000, SAVED, 0));
    }
    assertTrue(ofOneASecond.use(1, seconds(SAVED + 1)));
  }

  @Test
  void whatIsOwedAlreadyStaysAndIsNotWaitedForBeyondTheLimit() {
    ofOneASecond.borrow(SAVED + 10, 0);
    assertEquals(seconds(3), ofOneASecond.owe(5, 3, 0));
    assertEquals(seconds(10), ofOneASecond.borrow(0, 0));
    assertEquals(seconds(12), ofOneASecond.owe(2, 99, 0));
  }
}
