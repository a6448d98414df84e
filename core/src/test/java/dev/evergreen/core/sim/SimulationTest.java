package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * The properties of the design under random seeds. Options, as system properties: {@code
 * evergreen.sim.seeds} is how many, {@code evergreen.sim.first} the first; {@code
 * evergreen.sim.seed} runs that one alone and writes its history to a file.
 */
final class SimulationTest {

  private static final Path HISTORIES = Path.of("target", "simulation");
  private static final int ENOUGH = 3;

  @Test
  void whatMustHoldHoldsForEverySeed() throws InterruptedException {
    var one = Long.getLong("evergreen.sim.seed");
    if (one != null) {
      replay(one);
      return;
    }
    long first = Long.getLong("evergreen.sim.first", 1);
    long count = Long.getLong("evergreen.sim.seeds", 600);
    var failures = Seeds.<String>failures(first, count, ENOUGH, CoreLoader.load()::seed);
    if (!failures.isEmpty()) {
      fail(String.join("\n", failures));
    }
  }

  private static void replay(long seed) {
    var failure = CoreLoader.load().replay(seed, HISTORIES);
    if (failure != null) {
      fail(failure);
    }
  }

  @Test
  void aSeedsTraceIsTheSameTwice() {
    var trials = CoreLoader.load();
    for (long seed = 1; seed <= 12; seed++) {
      assertEquals(trials.hash(seed), trials.hash(seed), "seed " + seed + " run twice");
    }
  }

  @Test
  void aSeedsTraceIsTheSameInAnotherProcess() throws IOException, InterruptedException {
    var trials = CoreLoader.load();
    for (long seed = 1; seed <= 12; seed++) {
      assertEquals(
          trials.hash(seed), Replay.hashInAnotherProcess(seed), "seed " + seed + " elsewhere");
    }
  }
}
