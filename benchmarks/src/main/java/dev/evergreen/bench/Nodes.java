package dev.evergreen.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs the benchmarks of several processes and prints one table. */
@Command(
    name = "nodes",
    description = {
      "Measures nodes in several processes of this machine as ratios with spread, and holds them against the budgets.",
      "A missed budget does not fail the run."
    },
    mixinStandardHelpOptions = true)
final class Nodes implements Callable<Integer> {

  /** Two renewals of each subscription. */
  private static final Duration IDLE = Duration.ofSeconds(60);

  private static final List<NodeExperiment> ALL =
      List.of(
          new RemoteCall(),
          new RemoteRead(),
          new RemotePropagation(),
          new MassSubscription(),
          new IdleNodes(IDLE));

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--processes",
      paramLabel = "N",
      defaultValue = "2",
      description = "One measures, the others host grains; 2 by default")
  private int processes;

  @Option(names = "--quick", description = "Takes a few minutes, with wider spreads")
  private boolean quick;

  @Option(names = "--only", paramLabel = "NAME", description = "Runs one experiment only")
  private @Nullable String only;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  @Override
  public Integer call() throws Exception {
    var chosen = ALL.stream().filter(e -> only == null || e.name().equals(only)).toList();
    if (chosen.isEmpty()) {
      throw refuse(
          "knows no experiment '%s'; there are %s"
              .formatted(
                  only, ALL.stream().map(NodeExperiment::name).collect(Collectors.joining(", "))));
    }
    if (processes < 2 || processes > 16) {
      throw refuse("needs 2 to 16 processes, but was to have " + processes);
    }
    if (report.isGiven() && only != null) {
      throw refuse("--report replaces the whole table, so it needs all experiments: omit --only");
    }
    var section = report.section("nodes-" + processes);
    var effort = quick ? Effort.NODES_QUICK : Effort.NODES;
    var lines = new ArrayList<Line>();
    for (var experiment : chosen) {
      var terminal = spec.commandLine().getErr();
      terminal.println("measuring " + experiment.name() + "…");
      terminal.flush();
      try (var cluster = BenchCluster.start(processes, experiment.role())) {
        lines.addAll(experiment.measure(cluster, effort));
      }
    }
    var measured = new Report(lines, effort.rounds());
    spec.commandLine().getOut().print(measured.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(measured.markdown());
    }
    return 0;
  }

  private ParameterException refuse(String text) {
    return new ParameterException(spec.commandLine(), text);
  }
}
