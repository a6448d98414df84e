package dev.evergreen.bench;

import dev.evergreen.bench.Figure.Panel;
import dev.evergreen.bench.Figure.Point;
import dev.evergreen.bench.Figure.Series;
import dev.evergreen.bench.LoadResults.Result;
import dev.evergreen.bench.LoadRun.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;

/**
 * What the finished runs say: the table of what must be reached, and the thesis's figures (001).
 */
record MemcachedReport(LoadResults results, List<String> servers, MemcachedRuns.Extent extent) {

  /** Shares of memcached's peak at which latency has a limit. */
  static final List<Double> LIMITED = List.of(0.25, 0.5, 0.75, 0.9);

  /** What is demanded of a load's processor time at most and of its rate at least. */
  private record Demand(Setting load, double time, double rate) {}

  private static final List<Demand> DEMANDS =
      List.of(
          new Demand(Setting.closed(16, 1), 1.1, 1.0),
          new Demand(Setting.closed(512, 1), 1.1, 1.0),
          new Demand(Setting.closed(LoadRun.MOST, 1), 1.1, 1.0),
          new Demand(Setting.closed(64, 4), 0.55, 1.6),
          new Demand(Setting.closed(16, 16), 0.25, 3.5));

  /** The table's lines, as far as there are runs for them. */
  List<Line> lines() {
    var lines = new ArrayList<Line>();
    for (var server : servers) {
      if (!server.equals(Contestant.MEMCACHED)) {
        against(lines, server, Contestant.MEMCACHED);
      }
    }
    if (servers.contains(Contestant.EVERGREEN)) {
      servers.stream()
          .filter(server -> !List.of(Contestant.MEMCACHED, Contestant.EVERGREEN).contains(server))
          .forEach(server -> against(lines, Contestant.EVERGREEN, server));
    }
    for (var server : servers) {
      updates(lines, server);
    }
    if (servers.equals(List.of(Contestant.MEMCACHED))) {
      alone(lines);
    }
    return lines;
  }

  private void against(List<Line> lines, String server, String other) {
    // Only the server as it is shipped must reach something, and only against memcached.
    boolean must = server.equals(Contestant.EVERGREEN) && other.equals(Contestant.MEMCACHED);
    for (var demand : DEMANDS) {
      var name = server + ", " + name(demand.load());
      compare(
          lines,
          name + ": processor time",
          "µs",
          server,
          demand.load(),
          other,
          demand.load(),
          Result::serverMicros,
          line -> must ? line.ratioAtMost(demand.time()) : line);
      compare(
          lines,
          name + ": rate",
          "k/s",
          server,
          demand.load(),
          other,
          demand.load(),
          result -> result.rate() / 1e3,
          line -> must ? line.ratioAtLeast(demand.rate()) : line);
    }
    for (double target : LIMITED) {
      var load = Setting.open(3, target);
      var name =
          "%s, %s: p99 at %.0f %% of memcached's peak".formatted(server, name(load), 100 * target);
      compare(
          lines,
          name,
          "µs",
          server,
          load,
          other,
          load,
          Result::p99,
          line -> must ? line.ratioAtMost(1) : line);
    }
  }

  /** 50 % updates against 3 %. */
  private void updates(List<Line> lines, String server) {
    for (boolean hot : new boolean[] {false, true}) {
      var few = Setting.closed(512, 1).withUpdates(3, hot);
      var many = few.withUpdates(50, hot);
      compare(
          lines,
          server + ", " + name(few) + (hot ? ", one hot key" : "") + ": rate at 50 % updates",
          "k/s",
          server,
          many,
          server,
          few,
          result -> result.rate() / 1e3,
          line -> server.equals(Contestant.EVERGREEN) ? line.ratioAtLeast(0.9) : line);
    }
  }

  private void compare(
      List<Line> lines,
      String name,
      String unit,
      String server,
      Setting load,
      String other,
      Setting otherLoad,
      ToDoubleFunction<Result> value,
      UnaryOperator<Line> demand) {
    results
        .pair(server, load, other, otherLoad, value)
        .ifPresent(
            pair ->
                lines.add(
                    demand.apply(
                        Line.compared(
                            name + bound(pair.bound(), pair.ours().size()),
                            unit,
                            pair.ours(),
                            server.equals(other) ? "at 3 %" : other,
                            pair.theirs()))));
  }

  private static String bound(int bound, int of) {
    return bound == 0 ? "" : " (bound by the generator in %d of %d)".formatted(bound, of);
  }

  /** Where there is nobody to compare with. */
  private void alone(List<Line> lines) {
    for (var demand : DEMANDS) {
      var runs = List.copyOf(results.of(Contestant.MEMCACHED, demand.load()).values());
      if (!runs.isEmpty()) {
        var name = Contestant.MEMCACHED + ", " + name(demand.load());
        int bound = (int) runs.stream().filter(Result::generatorBound).count();
        lines.add(
            Line.alone(
                name + ": processor time", "µs", runs.stream().map(Result::serverMicros).toList()));
        lines.add(
            Line.alone(
                name + ": rate" + bound(bound, runs.size()),
                "k/s",
                runs.stream().map(result -> result.rate() / 1e3).toList()));
      }
    }
    for (double target : LIMITED) {
      var load = Setting.open(3, target);
      var runs = results.of(Contestant.MEMCACHED, load).values().stream().map(Result::p99).toList();
      if (!runs.isEmpty()) {
        lines.add(
            Line.alone(
                "memcached, %s: p99 at %.0f %% of its peak".formatted(name(load), 100 * target),
                "µs",
                runs));
      }
    }
  }

  private static String name(Setting load) {
    return "%,d connections".formatted(load.connections())
        + (load.depth() == 1 ? "" : ", depth " + load.depth());
  }

  /** Writes the figures that there are runs for into a folder; returns their names. */
  List<String> writeFigures(Path folder) throws IOException {
    Files.createDirectories(folder);
    var written = new ArrayList<String>();
    ToDoubleFunction<Result> rate = result -> result.rate() / 1e3;
    write(
        folder,
        written,
        "memcached-rate",
        new Figure(
            1, true, panels(List.of(byServer("3 % updates", "answered, k/s", false, rate)))));
    write(
        folder,
        written,
        "memcached-latency",
        new Figure(
            1,
            true,
            panels(List.of(byServer("3 % updates", "99th percentile, µs", true, Result::p99)))));
    write(
        folder,
        written,
        "memcached-updates-rate",
        new Figure(2, true, panels(byShare("answered, k/s", false, rate))));
    write(
        folder,
        written,
        "memcached-updates-latency",
        new Figure(2, true, panels(byShare("99th percentile, µs", true, Result::p99))));
    return written;
  }

  private static List<Panel> panels(List<Panel> all) {
    return all.stream().filter(panel -> !panel.series().isEmpty()).toList();
  }

  private static void write(Path folder, List<String> written, String name, Figure figure)
      throws IOException {
    if (!figure.panels().isEmpty()) {
      figure.write(folder.resolve(name + ".svg"));
      written.add(name + ".svg");
    }
  }

  private Panel byServer(
      String title, String y, boolean logarithmic, ToDoubleFunction<Result> value) {
    var series =
        servers.stream()
            .map(server -> series(server, server, MemcachedRuns.SHARES.getFirst(), value));
    return panel(title, y, logarithmic, series.toList());
  }

  private List<Panel> byShare(String y, boolean logarithmic, ToDoubleFunction<Result> value) {
    return servers.stream()
        .map(
            server ->
                panel(
                    server + " by share of updates",
                    y,
                    logarithmic,
                    MemcachedRuns.SHARES.stream()
                        .map(share -> series(share + " %", server, share, value))
                        .toList()))
        .toList();
  }

  private static Panel panel(String title, String y, boolean logarithmic, List<Series> series) {
    return new Panel(title + ", 15,360 connections", "target, k/s", y, false, logarithmic, series);
  }

  private Series series(String name, String server, int share, ToDoubleFunction<Result> value) {
    var points = new ArrayList<Point>();
    for (double target : extent.targets()) {
      for (var result : results.of(server, Setting.open(share, target)).values()) {
        points.add(new Point(result.target() / 1e3, value.applyAsDouble(result)));
      }
    }
    return new Series(name, points);
  }
}
