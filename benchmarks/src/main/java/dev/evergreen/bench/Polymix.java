package dev.evergreen.bench;

import dev.evergreen.bench.Figure.Panel;
import dev.evergreen.bench.Figure.Point;
import dev.evergreen.bench.Figure.Series;
import dev.evergreen.bench.load.ServerProcess;
import dev.evergreen.bench.polymix.Result;
import dev.evergreen.bench.polymix.Workload;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Two proxies with disks under the load of Polymix-3: first their caches are filled twice, then
 * each rate is offered to both in turns. The origin thinks for a tenth of the time that Polymix-3
 * says, as the rates are kept for a much shorter time, too; at the highest rate once for all of it.
 */
final class Polymix {
  /** How much each proxy may keep on its disk. */
  static final long CACHE = 256L << 20;

  private static final double PACE = 0.1;

  private final ServerProcess ours;
  private final ServerProcess theirs;
  private final Workload workload;
  private final List<Result> found = new ArrayList<>();

  Polymix(Workload workload, ServerProcess ours, ServerProcess theirs) {
    this.workload = workload;
    this.ours = ours;
    this.theirs = theirs;
  }

  /** Offers all rates, several times; the last one also at the pace of Polymix-3. */
  void run(List<Integer> rates, int rounds) throws IOException, InterruptedException {
    for (var server : List.of(ours, theirs)) {
      workload.fill(server.port(), 2 * CACHE);
      // So that the JVMs, the generator's too, have compiled what they need.
      var _ = workload.run(server.name(), server.port(), rates.getLast(), PACE);
    }
    for (int rate : rates) {
      for (int round = 0; round < rounds; round++) {
        offer(rate, PACE, round % 2 == 0);
      }
    }
    offer(rates.getLast(), 1, true);
  }

  private void offer(int rate, double pace, boolean oursFirst)
      throws IOException, InterruptedException {
    for (var server : oursFirst ? List.of(ours, theirs) : List.of(theirs, ours)) {
      found.add(workload.run(server.name(), server.port(), rate, pace));
    }
  }

  /** A line for each rate and value, ours beside that of the other. */
  List<Line> lines() {
    var lines = new ArrayList<Line>();
    found.stream()
        .map(each -> new Load(each.rate(), each.pace()))
        .distinct()
        .forEach(
            load -> {
              lines.add(line(load, "hits (55 offered)", "%", Result::hits));
              lines.add(line(load, "response time", "ms", Result::all));
              lines.add(line(load, "of a hit", "ms", Result::ofHits));
              lines.add(line(load, "of a miss", "ms", Result::ofMisses));
              lines.add(line(load, "lost", "requests", Result::lost));
            });
    return lines;
  }

  private record Load(int rate, double pace) {
    String text() {
      return pace == PACE ? rate + "/s" : rate + "/s, the origin thinks for 2.5 s";
    }
  }

  private Line line(Load load, String what, String unit, ToDoubleFunction<Result> value) {
    return Line.compared(
        "workload at " + load.text() + ": " + what,
        unit,
        values(ours, load, value),
        theirs.name(),
        values(theirs, load, value));
  }

  private List<Double> values(ServerProcess server, Load load, ToDoubleFunction<Result> value) {
    return found.stream()
        .filter(each -> each.server().equals(server.name()))
        .filter(each -> load.equals(new Load(each.rate(), each.pace())))
        .map(value::applyAsDouble)
        .toList();
  }

  /** Response times and hit ratios against the offered rate. */
  Figure figure() {
    return new Figure(
        2,
        false,
        List.of(
            panel("Response time", "ms", Result::all),
            panel("Hit ratio (55 % offered)", "%", Result::hits),
            panel("Time of a hit", "ms", Result::ofHits),
            panel("Time of a miss", "ms", Result::ofMisses)));
  }

  private Panel panel(String title, String unit, ToDoubleFunction<Result> value) {
    var series = List.of(series(ours, value), series(theirs, value));
    return new Panel(title, "requests a second", unit, false, false, series);
  }

  private Series series(ServerProcess server, ToDoubleFunction<Result> value) {
    return new Series(
        server.name(),
        found.stream()
            .filter(each -> each.server().equals(server.name()) && each.pace() == PACE)
            .map(each -> new Point(each.rate(), value.applyAsDouble(each)))
            .toList());
  }
}
