package dev.evergreen.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Calls of grains in another process beside Pekko's sharded ask, and bare sockets; and what each
 * layer of ours adds.
 */
final class RemoteCall implements NodeExperiment {

  private static final int[] CALLERS = {1, 16, 64, 256, 1024};
  private static final int[] LAYERED = {1, 64, 256};

  private record Run(CallPath path, int callers) {}

  @Override
  public String name() {
    return "call";
  }

  @Override
  public BenchCluster.Role role() {
    return BenchCluster.Role.CALLER_WITH_PEKKO;
  }

  @Override
  public List<Line> measure(BenchCluster cluster, Effort effort) throws Exception {
    var grain = new GrainCalls(cluster.node().grains());
    var traced = new TracedCalls(grain);
    var pekko = cluster.pekko();
    try (var floor = new Floor(cluster.hosts());
        var client = new LinkCalls.Client(cluster.hosts())) {
      var layers = new ArrayList<CallPath>();
      for (var layer : LinkCalls.Layer.values()) {
        layers.add(new LinkCalls(client, layer));
      }
      var runs = new ArrayList<Run>();
      for (int callers : CALLERS) {
        for (var path : List.of(grain, pekko, floor)) {
          runs.add(new Run(path, callers));
        }
      }
      for (int callers : LAYERED) {
        layers.forEach(layer -> runs.add(new Run(layer, callers)));
        runs.add(new Run(traced, callers));
      }
      var loads = inTurns(cluster, runs, effort);
      var lines = new ArrayList<Line>();
      for (int callers : CALLERS) {
        compare(lines, loads, callers, grain, pekko, true);
        compare(lines, loads, callers, grain, floor, false);
      }
      layers.add(0, floor);
      layers.add(grain);
      layers.add(traced);
      for (int callers : LAYERED) {
        layers(lines, loads, callers, layers);
      }
      return lines;
    }
  }

  /** Each round measures all runs; the paths of one number of callers follow each other. */
  private static Map<Run, List<Load>> inTurns(BenchCluster cluster, List<Run> runs, Effort effort)
      throws Exception {
    var ordered = new ArrayList<>(runs);
    ordered.sort(java.util.Comparator.comparingInt(Run::callers));
    for (var run : ordered) {
      Load.of(cluster, run.path(), run.callers(), effort.warmUp());
    }
    var loads = new LinkedHashMap<Run, List<Load>>();
    for (int round = 0; round < effort.rounds(); round++) {
      for (var run : ordered) {
        loads
            .computeIfAbsent(run, r -> new ArrayList<>())
            .add(Load.of(cluster, run.path(), run.callers(), effort.slice()));
      }
    }
    return loads;
  }

  private static List<Load> of(Map<Run, List<Load>> loads, CallPath path, int callers) {
    var found = loads.get(new Run(path, callers));
    if (found == null) {
      throw new IllegalArgumentException(path.name() + " was not measured");
    }
    return found;
  }

  private static Line line(
      String subject,
      String unit,
      List<Load> ours,
      CallPath theirs,
      List<Load> theirLoads,
      ToDoubleFunction<Load> what) {
    return Line.compared(
        subject, unit, Load.each(ours, what), theirs.name(), Load.each(theirLoads, what));
  }

  private static void compare(
      List<Line> lines,
      Map<Run, List<Load>> loads,
      int callers,
      CallPath ours,
      CallPath theirs,
      boolean pekko) {
    var a = of(loads, ours, callers);
    var b = of(loads, theirs, callers);
    var subject = "remote call, " + callers + (callers == 1 ? " caller" : " callers");
    boolean budget = callers == 64 || callers == 256;
    var rate = line(subject, "k/s", a, theirs, b, load -> load.perSecond() / 1e3);
    if (budget) {
      rate = pekko ? rate.ratioAtLeast(3) : rate.atLeast(callers == 64 ? 150 : 300);
    }
    lines.add(rate);
    var p50 = line(subject + ", p50", "µs", a, theirs, b, Load::p50);
    lines.add(callers == 1 && !pekko ? p50.ratioAtMost(1.3) : p50);
    lines.add(line(subject + ", p99", "µs", a, theirs, b, Load::p99));
    var time = subject + ", processor time, ";
    lines.add(line(time + "caller", "µs", a, theirs, b, Load::callerMicros));
    lines.add(line(time + "host", "µs", a, theirs, b, Load::hostMicros));
    if (!pekko) {
      var floor = Load.each(b, l -> (double) RemoteEcho.REQUEST + RemoteEcho.ANSWER);
      lines.add(
          Line.compared(
              subject + ", bytes both ways", "B", Load.each(a, Load::bytes), "the values", floor));
    }
  }

  /** Processor time of all processes for one call, each layer beside the one before. */
  private static void layers(
      List<Line> lines, Map<Run, List<Load>> loads, int callers, List<CallPath> layers) {
    for (int i = 1; i < layers.size(); i++) {
      lines.add(
          Line.compared(
              "a call's processor time, %d callers: %s".formatted(callers, layers.get(i).name()),
              "µs",
              Load.each(of(loads, layers.get(i), callers), RemoteCall::total),
              layers.get(i - 1).name(),
              Load.each(of(loads, layers.get(i - 1), callers), RemoteCall::total)));
    }
  }

  private static double total(Load load) {
    return load.callerMicros() + load.hostMicros();
  }
}
