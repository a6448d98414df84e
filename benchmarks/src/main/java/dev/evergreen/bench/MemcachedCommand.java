package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Evaluates the memcached servers: the thesis's figures, and what must be reached. */
@Command(
    name = "memcached",
    description = {
      "Measures our memcached server beside Debian's, in turns: what must be reached, and the figures of the paper.",
      "The whole takes hours. Each finished run is kept: end it at any time, and start it again to go on.",
      "A missed budget does not fail the run; a wrong reply does."
    },
    mixinStandardHelpOptions = true)
final class MemcachedCommand implements Callable<Integer> {

  /** Less than ten minutes by what the last run and the figures take. */
  private static final Duration QUICK_LIMIT = Duration.ofSeconds(570);

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--quick",
      description =
          "Takes at most ten minutes: short runs, three rounds or less; started again, it goes on")
  private boolean quick;

  @Option(
      names = "--table",
      description =
          "Makes only what the table needs, all rounds of it, in short runs: about five minutes a server")
  private boolean table;

  @Option(
      names = "--servers",
      paramLabel = "NAME",
      split = ",",
      description = "Measures only these and memcached; all by default")
  private @Nullable List<String> only;

  @Option(
      names = "--server",
      paramLabel = "NAME=COMMAND",
      description =
          "Measures another one, too; {port} in the command is the port at 127.0.0.1 where it must listen")
  private List<String> more = new ArrayList<>();

  @Option(
      names = "--results",
      paramLabel = "FILE",
      description =
          "The finished runs; by default target/memcached-runs.tsv, with --quick memcached-quick-runs.tsv, with --table memcached-table-runs.tsv. Remove it to begin anew")
  private @Nullable Path file;

  @Option(
      names = "--figures",
      paramLabel = "DIR",
      defaultValue = "target/figures",
      description = "Where the figures go, as SVG; target/figures by default")
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private Path figures;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  @Option(
      names = "--generators",
      paramLabel = "N",
      defaultValue = "1",
      description = "Processes that make the load; 1 by default")
  private int generators;

  @Option(
      names = "--core",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "The core of the servers; the generators take those before it, counted round; 0 by default")
  private int core;

  @Option(
      names = "--report-only",
      description = "Runs nothing, and reports the runs that are finished")
  private boolean reportOnly;

  @Override
  public Integer call() throws Exception {
    if (quick && table) {
      throw refuse("--quick and --table are two extents; name one");
    }
    var extent =
        quick
            ? MemcachedRuns.Extent.QUICK
            : table ? MemcachedRuns.Extent.TABLE : MemcachedRuns.Extent.FULL;
    var contestants = contestants();
    var names = contestants.stream().map(Contestant::name).toList();
    var section = report.section("memcached");
    var results = LoadResults.open(results());
    var pending = results.pending(extent.runs(names));
    say("%d runs are finished, %d are to be done".formatted(results.size(), pending.size()));
    if (!reportOnly && !pending.isEmpty()) {
      run(contestants, results, extent, pending);
    }
    report(new MemcachedReport(results, names, extent), extent, section);
    return 0;
  }

  private List<Contestant> contestants() {
    var all = new ArrayList<>(Contestant.all());
    for (var each : more) {
      int equals = each.indexOf('=');
      if (equals < 1) {
        throw refuse("--server needs NAME=COMMAND, not '" + each + "'");
      }
      all.add(
          new Contestant(
              each.substring(0, equals), List.of(each.substring(equals + 1).trim().split(" +"))));
    }
    var chosen = only;
    if (chosen != null) {
      var names = all.stream().map(Contestant::name).toList();
      for (var name : chosen) {
        if (!names.contains(name)) {
          throw refuse(
              "knows no server '%s'; there are %s".formatted(name, String.join(", ", names)));
        }
      }
      all.removeIf(
          each -> !chosen.contains(each.name()) && !each.name().equals(Contestant.MEMCACHED));
    }
    if (!reportOnly) {
      all.removeIf(this::cannotStart);
      if (all.isEmpty() || !all.getFirst().name().equals(Contestant.MEMCACHED)) {
        throw refuse("needs memcached, which all others are compared with");
      }
    }
    return all;
  }

  private boolean cannotStart(Contestant contestant) {
    var obstacle = contestant.obstacle();
    if (obstacle != null) {
      say(contestant.name() + " is left out: " + obstacle);
    }
    return obstacle != null;
  }

  private Path results() {
    if (file != null) {
      return file;
    }
    var extent = quick ? "-quick" : table ? "-table" : "";
    return Path.of("target", "memcached" + extent + "-runs.tsv");
  }

  private void run(
      List<Contestant> contestants,
      LoadResults results,
      MemcachedRuns.Extent extent,
      List<LoadRun> all)
      throws Exception {
    long start = System.nanoTime();
    if (Cores.count() < 2) {
      say("with one core the server and the generator share it, so that the rates mean little");
    }
    try (var runs = new MemcachedRuns(results, extent, generators, core)) {
      var pending = pendingOfStarted(runs, contestants, all);
      for (int i = 0; i < pending.size(); i++) {
        if (quick && System.nanoTime() - start > QUICK_LIMIT.toNanos()) {
          say("the time is up; %d runs are left for another start".formatted(pending.size() - i));
          return;
        }
        var result = runs.run(pending.get(i));
        say(
            String.format(
                Locale.ROOT,
                "%d of %d: %s: %,.0f/s, %.2f µs, p99 %,.0f µs%s",
                i + 1,
                pending.size(),
                pending.get(i),
                result.rate(),
                result.serverMicros(),
                result.p99(),
                result.generatorBound() ? ", bound by the generator" : ""));
      }
    }
  }

  /** Starts the servers, and leaves the runs of those out that cannot be. */
  private List<LoadRun> pendingOfStarted(
      MemcachedRuns runs, List<Contestant> contestants, List<LoadRun> all)
      throws InterruptedException {
    var pending = new ArrayList<>(all);
    for (var contestant : contestants) {
      if (pending.stream().anyMatch(run -> run.server().equals(contestant.name()))) {
        try {
          say("starting " + contestant.name() + "…");
          runs.start(contestant);
        } catch (IOException e) {
          say(contestant.name() + " is left out: " + e.getMessage());
          pending.removeIf(run -> run.server().equals(contestant.name()));
        }
      }
    }
    return pending;
  }

  private void report(
      MemcachedReport measured, MemcachedRuns.Extent extent, @Nullable Section section)
      throws Exception {
    var table = new Report(measured.lines(), extent.rounds());
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    long failures = measured.results().failures();
    if (failures > 0) {
      say(failures + " requests were not answered as they should have been (misses and errors)");
    }
    var folder = report.figures(figures);
    var written = measured.writeFigures(folder);
    say("figures in %s: %s".formatted(folder, String.join(", ", written)));
    if (section != null) {
      var text = new StringBuilder(table.markdown());
      for (var name : written) {
        text.append("\n![").append(name).append("](figures/").append(name).append(")\n");
      }
      section.replace(text.toString());
    }
  }

  private ParameterException refuse(String text) {
    return new ParameterException(spec.commandLine(), text);
  }

  private void say(String text) {
    var terminal = spec.commandLine().getErr();
    terminal.println(text);
    terminal.flush();
  }
}
