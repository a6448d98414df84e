package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Circles of reads whose results are compared by what takes its time, under random seeds. */
final class ComparedStormTest {

  /** How many a test run tries. */
  static final long SEEDS = 100;

  @Test
  void everyMemberShowsWhatTheGraphSaysHoweverLongComparersTake() throws InterruptedException {
    Simulation.COMPARED_STORM.check(SEEDS);
  }

  @Test
  void aSeedsTraceIsTheSameTwice() {
    for (long seed = 1; seed <= 3; seed++) {
      assertEquals(
          Simulation.COMPARED_STORM.hash(seed),
          Simulation.COMPARED_STORM.hash(seed),
          "seed " + seed);
    }
  }
}
