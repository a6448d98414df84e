package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import dev.evergreen.bench.load.Generators;
import dev.evergreen.bench.load.LoadPlan;
import dev.evergreen.bench.load.Pool;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Makes load on one memcached server and prints what came of it. */
@Command(
    name = "load",
    description = {
      "Makes load on a memcached server, and checks every reply.",
      "Latencies count from when a request was due, whether or not it could be sent then."
    },
    mixinStandardHelpOptions = true)
final class LoadCommand implements Callable<Integer> {

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--host",
      defaultValue = "127.0.0.1",
      description = "The server, by IPv4; 127.0.0.1 by default")
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private InetAddress host;

  @Option(names = "--port", defaultValue = "11211", description = "Its port; 11211 by default")
  private int port;

  @Option(
      names = "--pid",
      paramLabel = "PID",
      description = "Its process on this machine, to take its processor time")
  private @Nullable Long pid;

  @Option(
      names = "--connections",
      paramLabel = "N",
      defaultValue = "16",
      description = "16 by default")
  private int connections;

  @Option(
      names = "--depth",
      paramLabel = "N",
      defaultValue = "1",
      description = "Requests at a time on each connection; 1 by default")
  private int depth;

  @Option(
      names = "--rate",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Requests a second, whether or not earlier ones are answered (open loop); without it each waits for the one before (closed loop)")
  private double rate;

  @Option(
      names = "--updates",
      paramLabel = "PERCENT",
      defaultValue = "3",
      description = "The share of sets; 3 by default")
  private double updates;

  @Option(
      names = "--pool",
      defaultValue = "ETC",
      description = {
        "ETC, Facebook's pool: sizes of keys and values, and gaps between requests (default);",
        "PLAIN: 30 and 200 bytes, exponential gaps; SMALL: 20 and 80"
      })
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private Pool pool;

  @Option(
      names = "--keys",
      paramLabel = "N",
      defaultValue = "100000",
      description = "100,000 by default")
  private int keys;

  @Option(names = "--hot", description = "All requests are for one key")
  private boolean hot;

  @Option(names = "--no-fill", description = "Does not set all keys before")
  private boolean unfilled;

  @Option(
      names = "--warm-up",
      paramLabel = "SECONDS",
      defaultValue = "2",
      description = "Not measured; 2 by default")
  private double warmUp;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      defaultValue = "5",
      description = "Measured; 5 by default")
  private double seconds;

  @Option(
      names = "--processes",
      paramLabel = "N",
      defaultValue = "1",
      description = "Generators that share the load; 1 by default")
  private int processes;

  @Override
  public Integer call() throws Exception {
    var plan = plan();
    if (processes < 1 || processes > plan.connections()) {
      throw refuse("needs 1 to as many processes as connections, not " + processes);
    }
    var server = pid == null ? null : ProcessHandle.of(pid).orElse(null);
    if (pid != null && server == null) {
      throw refuse("there is no process " + pid);
    }
    try (var generators = Generators.start(processes, Cores.count() - 1)) {
      if (!unfilled) {
        generators.fill(plan);
      }
      print(generators.run(plan, server));
    }
    return 0;
  }

  private LoadPlan plan() {
    try {
      return LoadPlan.of(new InetSocketAddress(host, port))
          .withConnections(connections)
          .withDepth(depth)
          .withRate(rate)
          .withUpdates(updates / 100)
          .withKeys(keys, pool)
          .withHotKey(hot)
          .withTimes(duration(warmUp), duration(seconds));
    } catch (IllegalArgumentException e) {
      throw refuse(String.valueOf(e.getMessage()));
    }
  }

  private static Duration duration(double seconds) {
    return Duration.ofNanos((long) (seconds * 1e9));
  }

  private ParameterException refuse(String text) {
    return new ParameterException(spec.commandLine(), text);
  }

  private void print(Generators.Outcome outcome) {
    var load = outcome.load();
    var out = spec.commandLine().getOut();
    out.printf(
        Locale.ROOT,
        "%,.0f requests a second answered%s%n",
        load.rate(),
        outcome.generatorBound() ? ", bound by the generator" : "");
    out.printf(
        "hits %,d, misses %,d, updates %,d, errors %,d, unanswered %,d, unsent %,d%n",
        load.hits(),
        load.misses(),
        load.updates(),
        load.errors(),
        load.unanswered(),
        load.unsent());
    out.printf(
        Locale.ROOT,
        "latency, µs: p50 %,.0f, p90 %,.0f, p99 %,.0f, p99.9 %,.0f, greatest %,.0f; the generator's own, p99 %,.0f%n",
        load.latency(50),
        load.latency(90),
        load.latency(99),
        load.latency(99.9),
        load.latency(100),
        load.lags().getValueAtPercentile(99) / 1e3);
    if (pid != null) {
      out.printf(
          Locale.ROOT, "processor time of the server: %.2f µs a request%n", outcome.serverMicros());
    }
    out.printf(
        Locale.ROOT,
        "the generator was busy for %.0f %% of the time%n",
        100 * outcome.generatorShare());
    out.flush();
  }
}
