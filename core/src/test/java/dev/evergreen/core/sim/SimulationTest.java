package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The properties of the design under random seeds. */
final class SimulationTest {

  /** How many a test run tries. */
  static final long SEEDS = 600;

  @Test
  void whatMustHoldHoldsForEverySeed() throws InterruptedException {
    Simulation.APPLICATION.check(SEEDS);
  }

  @Test
  void aSeedsTraceIsTheSameTwice() {
    for (long seed = 1; seed <= 12; seed++) {
      assertEquals(hash(seed), hash(seed), "seed " + seed + " run twice");
    }
  }

  @Test
  void aSeedsTraceIsTheSameInAnotherProcess() throws IOException, InterruptedException {
    var here = LongStream.rangeClosed(1, 6).mapToObj(SimulationTest::hash).toList();
    assertEquals(here, Replay.hashesInAnotherProcess(here.size()));
  }

  private static String hash(long seed) {
    return Simulation.APPLICATION.hash(seed);
  }
}
