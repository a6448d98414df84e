package dev.evergreen.core.sim;

import org.junit.jupiter.api.Test;

/** The properties of the design where threads and timers are refused now and then. */
final class RefusalsTest {

  @Test
  void whatMustHoldHoldsThereToo() throws InterruptedException {
    Simulation.REFUSALS.check(60);
  }
}
