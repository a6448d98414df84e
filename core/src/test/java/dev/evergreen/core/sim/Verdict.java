package dev.evergreen.core.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How a seed's run ended.
 *
 * @param simulation what the seed stands for
 * @param summary numbers about the run; the failure if there was one
 */
record Verdict(
    Simulation simulation,
    Scenario scenario,
    Trace trace,
    String summary,
    @Nullable SimulationFailure failure) {

  private static final int HISTORY_LINES = 40;

  /** Runs a seed. Blocks until its end. */
  static Verdict of(Simulation simulation, long seed, boolean detailed) {
    var scenario = simulation.scenario().apply(seed);
    var trace = new Trace(detailed);
    try {
      var summary = simulation.run().apply(scenario, trace);
      return new Verdict(simulation, scenario, trace, summary, null);
    } catch (SimulationFailure e) {
      return new Verdict(simulation, scenario, trace, e.toString(), e);
    }
  }

  boolean failed() {
    return failure != null;
  }

  /** This if it is a failure, or else null. */
  @Nullable Verdict orNull() {
    return failed() ? this : null;
  }

  /** What failed, the end of the history, and the command that replays it. */
  String report() {
    return "seed "
        + scenario.seed()
        + ": "
        + summary
        + "\n  scenario: "
        + scenario
        + "\n  the last of "
        + trace.count()
        + " events:\n    "
        + trace.last(HISTORY_LINES).stream()
            .map(Verdict::shortened)
            .collect(Collectors.joining("\n    "))
        + "\n  replay it, with its whole history, by:\n    "
        + replayCommand()
        + "\n";
  }

  String replayCommand() {
    return "mvn -pl core -am test -Dsurefire.failIfNoSpecifiedTests=false -Dtest="
        + simulation.test()
        + " -Devergreen.sim.seed="
        + scenario.seed();
  }

  private static String shortened(String line) {
    return line.length() <= 240 ? line : line.substring(0, 240) + "...";
  }

  /** Writes scenario, history and end to a file of its own; returns where. */
  Path write(Path directory) {
    var lines = new ArrayList<String>();
    lines.add(scenario.toString());
    lines.addAll(trace.lines());
    lines.add(summary);
    if (failure != null) {
      for (var frame : failure.getStackTrace()) {
        lines.add("  at " + frame);
      }
    }
    lines.add("hash " + Long.toHexString(trace.hash()));
    var file = directory.resolve(simulation.test() + "-" + scenario.seed() + ".txt");
    return written(file, lines);
  }

  static Path written(Path file, List<String> lines) {
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
      return Files.write(file, lines);
    } catch (IOException e) {
      throw new UncheckedIOException("the history cannot be written to " + file, e);
    }
  }
}
