package dev.evergreen.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs the micro-benchmarks and prints one table. */
@Command(
    name = "micro",
    description = {
      "Measures the hot paths of one node as ratios with spread, and holds them against the budgets.",
      "A missed budget does not fail the run."
    },
    mixinStandardHelpOptions = true)
final class Micro implements Callable<Integer> {

  private static final List<Experiment> ALL =
      List.of(
          new LocalCall(),
          new Throughput(),
          new CachedRead(),
          new OneTimeQuery(),
          new Propagation(),
          new IdleSubscription());

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(names = "--quick", description = "Only shows that everything runs: far too short to tell")
  private boolean quick;

  @Option(names = "--only", paramLabel = "NAME", description = "Runs one experiment only")
  private @Nullable String only;

  @Option(names = "--out", paramLabel = "FILE", description = "Writes the table as Markdown, too")
  private @Nullable Path out;

  @Override
  public Integer call() throws Exception {
    var chosen = ALL.stream().filter(e -> only == null || e.name().equals(only)).toList();
    if (chosen.isEmpty()) {
      throw new ParameterException(
          spec.commandLine(),
          "knows no experiment '"
              + only
              + "'; there are "
              + ALL.stream().map(Experiment::name).collect(Collectors.joining(", ")));
    }
    var effort = quick ? Effort.QUICK : Effort.FULL;
    var lines = new ArrayList<Line>();
    for (var experiment : chosen) {
      var terminal = spec.commandLine().getErr();
      terminal.println("measuring " + experiment.name() + "…");
      terminal.flush();
      lines.addAll(experiment.measure(effort));
    }
    var report = new Report(lines, effort.rounds());
    spec.commandLine().getOut().print(report.text());
    spec.commandLine().getOut().flush();
    if (out != null) {
      Files.writeString(out, report.markdown());
    }
    return 0;
  }
}
