package dev.evergreen.bench;

import dev.evergreen.bench.load.Generators;
import dev.evergreen.bench.load.LoadPlan;
import dev.evergreen.bench.load.Pool;
import dev.evergreen.bench.load.ServerProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Carries the evaluation's runs out, one by one. Servers stay until the end: so they are warm, and
 * sleep while others have their turn.
 */
final class MemcachedRuns implements AutoCloseable {

  /**
   * How much is measured.
   *
   * @param rounds how often the servers take turns
   * @param otherRounds how often at the update shares other than the first
   * @param targets the rates of the open loop, as shares of memcached's peak
   * @param serverWarmUp how long a server is under load after its start
   * @param warmUp how long each run is before it is measured
   * @param time how long it is measured
   */
  record Extent(
      int rounds,
      int otherRounds,
      List<Double> targets,
      Duration serverWarmUp,
      Duration warmUp,
      Duration time) {

    static final Extent FULL =
        new Extent(
            15,
            15,
            List.of(0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.3, 1.6),
            Duration.ofSeconds(10),
            Duration.ofSeconds(1),
            Duration.ofSeconds(3));

    static final Extent QUICK =
        new Extent(
            3,
            1,
            List.of(0.25, 0.5, 0.75, 0.9, 1.2),
            Duration.ofSeconds(4),
            Duration.ofMillis(300),
            Duration.ofMillis(800));

    /** What the table needs, with spreads that decide: short runs, as many rounds as the whole. */
    static final Extent TABLE =
        new Extent(
            15,
            0,
            MemcachedReport.LIMITED,
            Duration.ofSeconds(10),
            Duration.ofMillis(300),
            Duration.ofSeconds(1));

    /** All runs in their order: what is looked at first comes first, servers follow each other. */
    List<LoadRun> runs(List<String> servers) {
      var runs = new ArrayList<LoadRun>();
      for (int round = 0; round < PEAK_ROUNDS; round++) {
        runs.add(new LoadRun(Contestant.MEMCACHED, PEAK, round));
      }
      for (int round = 0; round <= rounds; round++) {
        if (round < rounds) {
          for (var load : LoadRun.CLOSED) {
            inTurns(runs, servers, load, round);
          }
          openLoops(runs, servers, SHARES.getFirst(), round);
        }
        for (int updates : SHARES.subList(1, SHARES.size())) {
          if (round > 0 && round <= otherRounds) {
            openLoops(runs, servers, updates, round - 1);
          }
        }
      }
      return runs;
    }

    private void openLoops(List<LoadRun> runs, List<String> servers, int updates, int round) {
      for (double target : targets) {
        inTurns(runs, servers, LoadRun.Setting.open(updates, target), round);
      }
    }

    private static void inTurns(
        List<LoadRun> runs, List<String> servers, LoadRun.Setting load, int round) {
      for (var server : servers) {
        runs.add(new LoadRun(server, load, round));
      }
    }
  }

  /** Percent of requests that update (001). */
  static final List<Integer> SHARES = List.of(3, 5, 10, 50);

  private static final int PEAK_ROUNDS = 3;

  /** A closed loop of its own; no figure has it. */
  private static final LoadRun.Setting PEAK = new LoadRun.Setting(LoadRun.MOST, 1, 3, false, -1);

  private static final int KEYS = 100_000;

  private final Map<String, ServerProcess> servers = new HashMap<>();
  private final LoadResults results;
  private final Extent extent;
  private final int serverCore;
  private final Generators generators;

  /**
   * Starts the generators.
   *
   * @param processes how many generators
   * @param serverCore where the servers run, all on the same; the generators run on those before it
   */
  MemcachedRuns(LoadResults results, Extent extent, int processes, int serverCore)
      throws IOException {
    this.results = results;
    this.extent = extent;
    this.serverCore = serverCore;
    generators = Generators.start(processes, serverCore - 1);
  }

  /** Carries a run of a server that was started out, and notes its result. */
  LoadResults.Result run(LoadRun run) throws IOException, InterruptedException {
    var server = server(run.server());
    var load = run.load();
    double target = load.target() > 0 ? Math.rint(load.target() * peak() / 100) * 100 : 0;
    var plan =
        plan(server, load)
            .withRate(target)
            .withTimes(extent.warmUp(), extent.time())
            .withSeed(run.round() + 1);
    var outcome = generators.run(plan, server.process());
    var result =
        new LoadResults.Result(
            target,
            outcome.load().rate(),
            outcome.serverMicros(),
            outcome.generatorShare(),
            outcome.load().latency(50),
            outcome.load().latency(99),
            outcome.load().misses(),
            outcome.load().errors());
    results.add(run, result);
    return result;
  }

  /** The greatest rate of memcached's, as other programs on the machine can only lower it. */
  private double peak() {
    return results.of(Contestant.MEMCACHED, PEAK).values().stream()
        .mapToDouble(LoadResults.Result::rate)
        .max()
        .orElseThrow(() -> new IllegalStateException("memcached's peak comes first"));
  }

  private static LoadPlan plan(ServerProcess server, LoadRun.Setting load) {
    return LoadPlan.of(server.address())
        .withConnections(load.connections())
        .withDepth(load.depth())
        .withUpdates(load.updates() / 100.0)
        .withKeys(KEYS, Pool.ETC)
        .withHotKey(load.hot());
  }

  private ServerProcess server(String name) {
    var server = servers.get(name);
    if (server == null) {
      throw new IllegalStateException(name + " was not started");
    }
    return server;
  }

  /**
   * Starts a server, sets all keys, and warms it up.
   *
   * @throws IOException if it does not start
   */
  void start(Contestant contestant) throws IOException, InterruptedException {
    var server = ServerProcess.memcached(contestant.command(), serverCore);
    servers.put(contestant.name(), server);
    generators.fill(plan(server, LoadRun.CLOSED.getFirst()));
    var half = extent.serverWarmUp().dividedBy(2);
    for (var load : List.of(LoadRun.Setting.closed(512, 1), LoadRun.Setting.closed(64, 4))) {
      generators.run(plan(server, load).withTimes(half, Duration.ofMillis(10)), server.process());
    }
  }

  @Override
  public void close() throws IOException {
    generators.close();
    for (var server : servers.values()) {
      server.close();
    }
  }
}
