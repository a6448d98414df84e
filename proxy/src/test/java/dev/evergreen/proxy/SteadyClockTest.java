package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock that does not go back. */
class SteadyClockTest {
  private static final long START = 1_795_435_200_000L;

  private final AtomicLong machine = new AtomicLong(START);
  private final AtomicLong nanos = new AtomicLong(-5);
  private final SteadyClock clock = new SteadyClock(machine::get, nanos::get);

  private void pass(long millis) {
    machine.addAndGet(millis);
    nanos.addAndGet(millis * 1_000_000);
  }

  @Test
  void itCountsTheTimeThatPasses() {
    assertEquals(START, clock.getAsLong());
    pass(10);
    assertEquals(START + 10, clock.getAsLong());
    pass(100_000);
    assertEquals(START + 100_010, clock.getAsLong());
  }

  @Test
  void itGoesOnWhenTheMachinesIsSetBack() {
    pass(5_000);
    machine.addAndGet(-3_600_000);
    assertEquals(START + 5_000, clock.getAsLong());
    pass(5_000);
    assertEquals(START + 10_000, clock.getAsLong());
  }

  /** Seen: as long as it was held up between its two clocks it was ahead from then on. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoIsHeldUpAmidALookIsNotTakenToHaveSlept(boolean atTheStart) {
    var held = new AtomicLong(atTheStart ? 5_000 : 0);
    var heldUp = new SteadyClock(() -> after(held, machine), () -> after(held, nanos));
    held.set(5_000);
    long _ = heldUp.getAsLong();
    held.set(0);
    long behind = machine.get() - heldUp.getAsLong();
    assertTrue(behind >= 0 && behind <= 5_000, () -> "it is behind by " + behind);
  }

  private long after(AtomicLong held, AtomicLong time) {
    pass(held.get());
    return time.get();
  }

  @Test
  void itGoesForwardWithTheMachines() {
    machine.addAndGet(3_600_000); // It has slept.
    pass(1_000);
    assertEquals(START + 3_601_000, clock.getAsLong());
    machine.addAndGet(-7_200_000);
    pass(1_000);
    assertEquals(START + 3_602_000, clock.getAsLong());
  }
}
