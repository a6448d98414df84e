package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** Circles of reads across two versions of a program, under random seeds. */
final class VersionStormTest {

  /** How many a test run tries. */
  static final long SEEDS = 100;

  @Test
  void everyReaderShowsWhatIsSoWhenItIsQuiet() throws InterruptedException {
    Simulation.VERSION_STORM.check(SEEDS);
  }

  /**
   * Its members ran again while others were still being closed: the grace was too short for that.
   */
  @Test
  void aCircleIsCollectedHoweverShortTheGraceIs() {
    assertNull(Verdict.of(Simulation.VERSION_STORM, 8_001_072, false).orNull());
  }
}
