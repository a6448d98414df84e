package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a processor looks for what comes before it sleeps. */
@Timeout(60)
class SpinningTest {
  private static final long SHORT = 9_000;
  private static final long LONG = 10_000;

  private final Spinning spinning = new Spinning(Duration.ofNanos(LONG));

  @Test
  void beginsAfterAShortSleep() {
    assertFalse(spinning.pays());
    spinning.slept(LONG);
    assertFalse(spinning.pays());
    spinning.slept(SHORT);
    assertTrue(spinning.pays());
    spinning.found();
    assertTrue(spinning.pays(), "as long as it finds something");
    spinning.slept(LONG);
    assertFalse(spinning.pays(), "until a sleep is long");
  }

  /** As where events come late because of it: each short sleep would lead to another one. */
  @Test
  void isTriedLessOftenTheMoreOftenItFindsNothing() {
    int sleeps = 0;
    for (int missed = 0; missed < 10; missed++) {
      while (!spinning.pays()) {
        spinning.slept(SHORT);
        sleeps++;
      }
      spinning.missed();
    }
    assertEquals(1 + 2 + 4 + 8 + 16 + 32 + 4 * 64, sleeps);
    while (!spinning.pays()) {
      spinning.slept(SHORT);
    }
    spinning.found();
    spinning.missed();
    spinning.slept(SHORT);
    spinning.slept(SHORT);
    assertTrue(spinning.pays(), "anew when it has found something");
  }

  @Test
  void neverIsWithoutALimit() {
    var none = new Spinning(Duration.ZERO);
    none.slept(0);
    assertFalse(none.pays());
  }

  @Test
  void aLimitIsShort() {
    var builder = Fibers.builder();
    assertThrows(IllegalArgumentException.class, () -> builder.spinning(Duration.ofMillis(2)));
    assertThrows(IllegalArgumentException.class, () -> builder.spinning(Duration.ofNanos(-1)));
  }

  /**
   * One that is asked at once when it has replied does not sleep; one that is left alone does.
   * Where others want its core, it need not spin: so this waits for a stretch in which it did.
   */
  @Test
  void aProcessorSleepsLessWhileItIsAsked() throws Exception {
    int rounds = 200;
    try (var fibers =
        Fibers.builder()
            .mode(Fibers.Mode.PROCESSORS)
            .processors(1)
            .spinning(Duration.ofMillis(1))
            .start()) {
      var there = new Gate();
      var back = new Gate();
      var ended = new AtomicBoolean();
      var replier =
          Fiber.start(
              fibers,
              () -> {
                while (there.await() && !ended.get()) {
                  back.open();
                }
                return 0;
              });
      long slept;
      do {
        long before = fibers.report().processors().getFirst().sleeps();
        for (int i = 0; i < rounds; i++) {
          there.open();
          assertTrue(back.await());
        }
        slept = fibers.report().processors().getFirst().sleeps() - before;
      } while (slept >= rounds / 2);
      ended.set(true);
      there.open();
      Fiber.get(replier);
      fibers.sleep(Duration.ofMillis(50));
      long polls = fibers.report().processors().getFirst().polls();
      fibers.sleep(Duration.ofMillis(50));
      long more = fibers.report().processors().getFirst().polls() - polls;
      assertTrue(more < 10, more + " polls at rest");
    }
  }
}
