package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.fail;

import java.nio.file.Path;
import java.util.function.BiFunction;
import java.util.function.LongFunction;
import java.util.stream.Collectors;

/**
 * What a seed stands for. Options, as system properties: {@code evergreen.sim.seeds} is how many
 * are run, {@code evergreen.sim.first} the first; {@code evergreen.sim.seed} runs that one alone
 * and writes its history to a file.
 *
 * @param test the class whose tests run it
 * @param scenario what a seed fixes
 * @param run runs a scenario to its end and returns numbers about that; throws a {@link
 *     SimulationFailure} if a property does not hold
 */
record Simulation(
    String test, LongFunction<Scenario> scenario, BiFunction<Scenario, Trace, String> run) {

  static final Simulation APPLICATION = new Simulation("SimulationTest", Scenario::of, Run::of);

  static final Simulation REFUSALS =
      new Simulation("RefusalsTest", Scenario::of, Run::withRefusals);

  static final Simulation STORM =
      new Simulation("StormTest", seed -> Scenario.of(seed).withoutApplication(), Storm::of);

  static final Simulation COMPARED_STORM =
      new Simulation(
          "ComparedStormTest", seed -> Scenario.of(seed).withoutApplication(), Storm::compared);

  static final Simulation VERSION_STORM =
      new Simulation(
          "VersionStormTest", seed -> Scenario.of(seed).withoutApplication(), VersionStorm::of);

  private static final Path HISTORIES = Path.of("target", "simulation");
  private static final int ENOUGH = 3;

  /**
   * Fails if a seed does.
   *
   * @param usual how many are run unless an option says otherwise
   */
  void check(long usual) throws InterruptedException {
    var one = Long.getLong("evergreen.sim.seed");
    if (one != null) {
      replay(one);
      return;
    }
    long first = Long.getLong("evergreen.sim.first", 1);
    long count = Long.getLong("evergreen.sim.seeds", usual);
    var failures =
        Seeds.failures(first, count, ENOUGH, seed -> Verdict.of(this, seed, false).orNull());
    if (!failures.isEmpty()) {
      fail(failures.stream().map(Verdict::report).collect(Collectors.joining("\n")));
    }
  }

  private void replay(long seed) {
    var verdict = Verdict.of(this, seed, true);
    var file = verdict.write(HISTORIES);
    System.out.println(verdict.summary() + "\nhistory: " + file);
    if (verdict.failed()) {
      fail(verdict.report() + "  history: " + file);
    }
  }

  /** The hash of everything that happens in a seed's run, the content of messages included. */
  String hash(long seed) {
    var trace = Verdict.of(this, seed, true).trace();
    return seed + " " + Long.toHexString(trace.hash()) + " " + trace.count();
  }
}
