package dev.evergreen.core.sim;

import org.junit.jupiter.api.Test;

/** Circles of reads across two versions of a program, under random seeds. */
final class VersionStormTest {

  @Test
  void everyReaderShowsWhatIsSoWhenItIsQuiet() throws InterruptedException {
    Simulation.VERSION_STORM.check(100);
  }
}
