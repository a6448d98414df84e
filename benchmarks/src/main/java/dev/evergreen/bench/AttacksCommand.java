package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import dev.evergreen.bench.load.Generators;
import dev.evergreen.bench.load.LoadPlan;
import dev.evergreen.bench.load.PacedProcess;
import dev.evergreen.bench.load.Pool;
import dev.evergreen.bench.load.ServerProcess;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures what hostile clients of a server cost the others. */
@Command(
    name = "attacks",
    description = {
      "Measures what hostile clients of our memcached server, or of our web server, cost a normal one: its latency, with and without each attack in turns.",
      "The server has a core of its own. The attackers are on the normal client's, and run only when it does not, so that the ratio tells of the server."
    },
    mixinStandardHelpOptions = true)
final class AttacksCommand implements Callable<Integer> {

  private static final int SERVER_CORE = 0;
  private static final int CLIENT_CORE = 1;
  private static final int KEYS = 10_000;
  private static final int CONNECTIONS = 16;
  private static final double MOST = 2;
  private static final int WARM_UPS = 10;

  /** How often it is measured in a row amid an attack: its beginning, and when it has settled. */
  private static final int TURNS = 3;

  /** The names of all attacks. */
  static final class Names implements Iterable<String> {
    /** Made by picocli. */
    Names() {}

    @Override
    public Iterator<String> iterator() {
      return Attack.all().stream().map(Attack::option).iterator();
    }
  }

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(names = "--web", description = "Attacks the web server")
  private boolean web;

  @Option(
      names = "--only",
      paramLabel = "ATTACK",
      split = ",",
      completionCandidates = Names.class,
      description = "Makes only these: ${COMPLETION-CANDIDATES}")
  private List<String> only = List.of();

  @Option(names = "--quick", description = "Takes a third of the time, with wider intervals")
  private boolean quick;

  @Option(names = "--rounds", paramLabel = "N", description = "21 by default, 7 if quick")
  private @Nullable Integer roundsGiven;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description =
          "The normal client's requests a second, in open loop; 3,000 by default, 1,000 of the web server")
  private @Nullable Double rateGiven;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      defaultValue = "0.7",
      description = "How long each turn is measured; ${DEFAULT-VALUE} by default")
  private double seconds;

  @Option(
      names = "--server",
      paramLabel = "COMMAND",
      description = "Attacks this one; {port} is the port at 127.0.0.1 where it must listen")
  private @Nullable String command;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  /** A server and its normal client. */
  private interface Target extends AutoCloseable {
    ServerProcess server();

    /** What of the normal client's latencies is the server's, in nanoseconds. */
    AbstractHistogram measure(int turn) throws IOException, InterruptedException;

    @Override
    void close();
  }

  @Override
  public Integer call() throws Exception {
    var section = report.section(web ? "attacks-web" : "attacks");
    int rounds = roundsGiven != null ? roundsGiven : quick ? 7 : 21;
    var lines = new ArrayList<Line>();
    try (var target = web ? web() : memcached()) {
      for (var attack : attacks()) {
        lines.addAll(measure(attack, target, rounds));
      }
    }
    var values =
        "Percentile of all rounds together (its 95 %% interval) of %d rounds without, with and without in turns"
            .formatted(rounds);
    var table = new Report(lines, values);
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(table.markdown());
    }
    return 0;
  }

  private List<? extends Attack> attacks() {
    var all = List.<Attack>of(web ? WebAttack.values() : MemcachedAttack.values());
    var chosen =
        all.stream().filter(each -> only.isEmpty() || only.contains(each.option())).toList();
    if (!only.isEmpty() && chosen.size() != only.size()) {
      throw new ParameterException(
          spec.commandLine(), "the attacks are " + all.stream().map(Attack::option).toList());
    }
    return chosen;
  }

  private double rate(double usual) {
    return rateGiven != null ? rateGiven : usual;
  }

  private Target memcached() throws IOException {
    var words =
        command == null
            ? "./evergreen memcached -p {port} -l 127.0.0.1 -t 1 -m 64 -c 8192"
            : command.trim();
    var server = ServerProcess.memcached(List.of(words.split(" +")), SERVER_CORE);
    var generators = Generators.start(1, CLIENT_CORE);
    var plan =
        LoadPlan.of(server.address())
            .withKeys(KEYS, Pool.ETC)
            .withConnections(CONNECTIONS)
            .withUpdates(0.03)
            .withRate(rate(3_000))
            .withTimes(Duration.ofMillis(300), Duration.ofMillis((long) (1000 * seconds)));
    generators.fill(plan);
    return new Target() {
      @Override
      public ServerProcess server() {
        return server;
      }

      @Override
      public AbstractHistogram measure(int turn) throws IOException, InterruptedException {
        return generators.run(plan.withSeed(turn + 1), null).load().served();
      }

      @Override
      public void close() {
        generators.close();
        server.close();
      }
    };
  }

  private Target web() throws IOException {
    var own =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            // With one core the JVM would choose the serial collector, and a quarter of the memory.
            "@scripts/java.options",
            "@scripts/server.options",
            "-cp",
            System.getProperty("java.class.path"),
            WebTarget.class.getName(),
            ServerProcess.PORT);
    var server =
        ServerProcess.Plan.of(
                "web",
                command == null ? own : List.of(command.trim().split(" +")),
                ServerProcess.Probe.HTTP)
            .on(SERVER_CORE)
            .start();
    var client =
        PacedProcess.start(
            CLIENT_CORE,
            server.port(),
            "/live/board?owner=normal&count=10",
            CONNECTIONS,
            rate(1_000));
    return new Target() {
      @Override
      public ServerProcess server() {
        return server;
      }

      @Override
      public AbstractHistogram measure(int turn) throws IOException {
        return client.measure(seconds);
      }

      @Override
      public void close() {
        client.close();
        server.close();
      }
    };
  }

  private List<Line> measure(Attack attack, Target target, int rounds)
      throws IOException, InterruptedException {
    var beginning = new Pooled();
    var settled = new Pooled();
    // The first round warms the server up: its attack lasts longer, until the JVM has compiled what
    // it makes the server do. What is without is measured on both sides of what is
    // with, so that neither what changes meanwhile nor what an attack leaves counts for one only.
    for (int round = 0; round <= rounds; round++) {
      var without = new Histogram(3);
      without.add(target.measure(2 * round));
      var with = attacked(attack, target, 2 * round, round == 0 ? WARM_UPS : TURNS);
      without.add(target.measure(2 * round + 1));
      if (round > 0) {
        beginning.add(with.getFirst(), without);
        settled.add(with.getLast(), without);
      }
    }
    var name = attack.option().replace('-', ' ');
    var lines =
        List.of(
            settled.line(name + ": " + attack.description(), 99).ratioAtMost(MOST),
            settled.line(name, 50),
            beginning.line(name + ", its first second", 99));
    var terminal = spec.commandLine().getErr();
    for (var line : lines) {
      terminal.printf("%s, %s: ratio %s%n", line.name(), line.unit(), line.ratio());
    }
    terminal.flush();
    return lines;
  }

  /** Measures so often in a row amid an attack. */
  private static List<AbstractHistogram> attacked(Attack attack, Target target, int turn, int times)
      throws IOException, InterruptedException {
    var attackers = start(attack, target.server());
    try {
      var found = new ArrayList<AbstractHistogram>();
      for (int i = 0; i < times; i++) {
        found.add(target.measure(turn));
      }
      return found;
    } finally {
      attackers.destroyForcibly().waitFor();
    }
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
            attack.option(),
            String.valueOf(server.address().getPort()));
    var process =
        new ProcessBuilder(Cores.pinned(CLIENT_CORE, java)).redirectError(Redirect.INHERIT).start();
    if (process.inputReader().readLine() == null) {
      throw new IOException("the attackers did not start; the reason stands above");
    }
    return process;
  }
}
