package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import dev.evergreen.bench.load.Generators;
import dev.evergreen.bench.load.LoadPlan;
import dev.evergreen.bench.load.LoadResult;
import dev.evergreen.bench.load.Pool;
import dev.evergreen.bench.load.ServerProcess;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures what hostile clients of a memcached server cost the others. */
@Command(
    name = "attacks",
    description = {
      "Measures what hostile clients of our memcached server cost a normal one: its latency, with and without each attack in turns.",
      "The server has a core of its own. The attackers are on the normal client's, and run only when it does not, so that the ratio tells of the server."
    },
    mixinStandardHelpOptions = true)
final class AttacksCommand implements Callable<Integer> {

  private static final int SERVER_CORE = 0;
  private static final int CLIENT_CORE = 1;
  private static final int KEYS = 10_000;
  private static final double MOST = 2;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--only",
      paramLabel = "ATTACK",
      split = ",",
      description = "Makes only these: ${COMPLETION-CANDIDATES}")
  private Set<Attack> only = EnumSet.allOf(Attack.class);

  @Option(names = "--quick", description = "Takes about six minutes, with wider intervals")
  private boolean quick;

  @Option(names = "--rounds", paramLabel = "N", description = "21 by default, 7 if quick")
  private @Nullable Integer roundsGiven;

  @Option(
      names = "--rate",
      paramLabel = "N",
      defaultValue = "3000",
      description = "The normal client's requests a second, in open loop; 3,000 by default")
  private double rate;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      description = "How long each turn is measured; 1 by default, 0.7 if quick")
  private @Nullable Double secondsGiven;

  @Option(
      names = "--server",
      paramLabel = "COMMAND",
      description = "Attacks this one; {port} is the port at 127.0.0.1 where it must listen")
  private @Nullable String command;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  @Override
  public Integer call() throws Exception {
    var section = report.section("attacks");
    int rounds = roundsGiven != null ? roundsGiven : quick ? 7 : 21;
    double seconds = secondsGiven != null ? secondsGiven : quick ? 0.7 : 1;
    var lines = new ArrayList<Line>();
    try (var server = ServerProcess.memcached(command(), SERVER_CORE);
        var generators = Generators.start(1, CLIENT_CORE)) {
      var plan =
          LoadPlan.of(server.address())
              .withKeys(KEYS, Pool.ETC)
              .withConnections(16)
              .withUpdates(0.03)
              .withRate(rate)
              .withTimes(Duration.ofMillis(300), Duration.ofMillis((long) (1000 * seconds)));
      generators.fill(plan);
      for (var attack : only) {
        lines.addAll(measure(attack, plan, rounds, generators, server));
      }
    }
    var table = new Report(lines, rounds);
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(table.markdown());
    }
    return 0;
  }

  private List<String> command() {
    return command == null
        ? List.of(
            "./evergreen",
            "memcached",
            "-p",
            ServerProcess.PORT,
            "-l",
            "127.0.0.1",
            "-t",
            "1",
            "-m",
            "64",
            "-c",
            "8192")
        : List.of(command.trim().split(" +"));
  }

  private List<Line> measure(
      Attack attack, LoadPlan plan, int rounds, Generators generators, ServerProcess server)
      throws IOException, InterruptedException {
    var without = new ArrayList<LoadResult>();
    var with = new ArrayList<LoadResult>();
    // The first round warms the server up.
    for (int round = 0; round <= rounds; round++) {
      var turn = plan.withSeed(round + 1);
      // By turns the one and the other first, as what is first may leave something behind.
      boolean attackFirst = round % 2 == 1;
      var first = attackFirst ? attacked(attack, turn, generators, server) : calm(turn, generators);
      var second =
          attackFirst ? calm(turn, generators) : attacked(attack, turn, generators, server);
      if (round > 0) {
        without.add(attackFirst ? second : first);
        with.add(attackFirst ? first : second);
      }
    }
    var name = attack.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    var lines =
        List.of(
            compare(name + ": " + attack.description, 99, with, without).ratioAtMost(MOST),
            compare(name, 50, with, without));
    var terminal = spec.commandLine().getErr();
    for (var line : lines) {
      terminal.printf("%s, %s: ratio %s%n", name, line.unit(), line.ratio());
    }
    terminal.flush();
    return lines;
  }

  private static LoadResult calm(LoadPlan turn, Generators generators)
      throws IOException, InterruptedException {
    return generators.run(turn, null).load();
  }

  private static LoadResult attacked(
      Attack attack, LoadPlan turn, Generators generators, ServerProcess server)
      throws IOException, InterruptedException {
    var attackers = start(attack, server);
    try {
      return calm(turn, generators);
    } finally {
      attackers.destroyForcibly().waitFor();
    }
  }

  private static Line compare(
      String name, double percentile, List<LoadResult> with, List<LoadResult> without) {
    var unit = percentile == 50 ? "median, µs" : "p99, µs";
    return Line.compared(
        name, unit, latencies(percentile, with), "without", latencies(percentile, without));
  }

  private static List<Double> latencies(double percentile, List<LoadResult> results) {
    return results.stream().map(result -> result.latency(percentile)).toList();
  }

  /** Starts the attackers, and waits until all have begun. */
  private static Process start(Attack attack, ServerProcess server) throws IOException {
    var java =
        List.of(
            // It runs only while nobody else wants that core.
            "chrt",
            "--idle",
            "0",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx512m",
            "-cp",
            System.getProperty("java.class.path"),
            Attack.class.getName(),
            attack.name(),
            String.valueOf(server.address().getPort()));
    var process =
        new ProcessBuilder(Cores.pinned(CLIENT_CORE, java)).redirectError(Redirect.INHERIT).start();
    if (process.inputReader().readLine() == null) {
      throw new IOException("the attackers did not start; the reason stands above");
    }
    return process;
  }
}
