package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Collectors;
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
    var failures = Seeds.failures(first, count, ENOUGH, seed -> Verdict.of(seed, false).orNull());
    if (!failures.isEmpty()) {
      fail(failures.stream().map(Verdict::report).collect(Collectors.joining("\n")));
    }
  }

  private static void replay(long seed) {
    var verdict = Verdict.of(seed, true);
    var file = verdict.write(HISTORIES);
    System.out.println(verdict.summary() + "\nhistory: " + file);
    if (verdict.failed()) {
      fail(verdict.report() + "  history: " + file);
    }
  }

  @Test
  void aSeedsTraceIsTheSameTwice() {
    for (long seed = 1; seed <= 12; seed++) {
      assertEquals(Replay.hash(seed), Replay.hash(seed), "seed " + seed + " run twice");
    }
  }

  @Test
  void aSeedsTraceIsTheSameInAnotherProcess() throws IOException, InterruptedException {
    for (long seed = 1; seed <= 12; seed++) {
      assertEquals(
          Replay.hash(seed), Replay.hashInAnotherProcess(seed), "seed " + seed + " elsewhere");
    }
  }
}
