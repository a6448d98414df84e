package dev.evergreen.dashboard;

import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.reports.Durations;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.reports.NodeReport.HotSummary;
import dev.evergreen.reports.NodeReport.Queues;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What the page shows: the reports of all nodes, with rates made from each node's last two. A node
 * that has stopped reporting is shown with what it said last, as silent, until another life of it
 * reports from the same address, or it has been silent for long.
 */
final class Overview {

  /** A report may miss one turn. */
  static final Duration SILENT_AFTER = Duration.ofSeconds(3);

  static final Duration FORGOTTEN_AFTER = Duration.ofMinutes(10);

  /** Rates over longer than this are not of now: nobody has looked meanwhile. */
  private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(10);

  /** What browsers get each second. */
  record Look(Instant at, List<NodeLook> nodes) {}

  /**
   * One node.
   *
   * @param incarnation as text, since JavaScript's numbers are too short for it
   * @param silentSeconds for how long it has not reported; zero while it does
   * @param rates of the last interval; empty if there is none
   */
  record NodeLook(
      String address,
      String incarnation,
      Instant upSince,
      long silentSeconds,
      NodeCounts counts,
      Queues queues,
      Map<String, Integer> activations,
      List<HotLook> hottest,
      Totals totals,
      Optional<Rates> rates) {}

  /** A summary, and how often it ran in the last interval. */
  record HotLook(HotSummary summary, Optional<Double> runsPerSecond) {}

  /** Since the node's start. */
  record Totals(
      long calls,
      long failed,
      long timedOut,
      long refused,
      long retried,
      long cycles,
      long discarded,
      long conflicts,
      long storageFailures,
      long resent) {}

  /** Of the last interval; latencies in microseconds. */
  record Rates(
      double calls,
      double troubles,
      double served,
      double pushes,
      double runs,
      double reads,
      double saves,
      double renewals,
      double p50,
      double p99,
      double longest) {}

  /** A node as it was seen last. */
  private record Seen(NodeReport report, Optional<NodeReport> before, long atNanos) {}

  private final Supplier<List<NodeReport>> nodes;
  private final LongSupplier nanoTime;
  private final Map<NodeId, Seen> seen = new TreeMap<>(); // guarded by this

  Overview(Supplier<List<NodeReport>> nodes, LongSupplier nanoTime) {
    this.nodes = nodes;
    this.nanoTime = nanoTime;
  }

  /** Asks all nodes; blocks as long as that takes. */
  Look look() {
    var reports = nodes.get();
    synchronized (this) {
      long now = nanoTime.getAsLong();
      for (var report : reports) {
        take(report, now);
      }
      seen.values().removeIf(last -> now - last.atNanos > FORGOTTEN_AFTER.toNanos());
      var looks = new ArrayList<NodeLook>();
      seen.values().forEach(last -> looks.add(look(last, now)));
      return new Look(Instant.now(), looks);
    }
  }

  private void take(NodeReport report, long now) {
    var last = seen.get(report.node());
    if (last != null && report.at().equals(last.report.at())) {
      // The same again: whoever collects the reports has heard nothing newer.
      return;
    }
    seen.keySet()
        .removeIf(
            other ->
                other.address().equals(report.node().address()) && !other.equals(report.node()));
    seen.put(report.node(), new Seen(report, Optional.ofNullable(last).map(Seen::report), now));
  }

  private static NodeLook look(Seen last, long now) {
    var report = last.report;
    var silent = Duration.ofNanos(now - last.atNanos);
    boolean isSilent = silent.compareTo(SILENT_AFTER) >= 0;
    var before = last.before.filter(earlier -> !isSilent && isRecent(earlier, report));
    return new NodeLook(
        report.node().address(),
        Long.toString(report.node().incarnation()),
        report.upSince(),
        isSilent ? silent.toSeconds() : 0,
        report.counts(),
        report.queues(),
        report.activations(),
        hottest(report, before),
        totals(report),
        before.map(earlier -> rates(earlier, report)));
  }

  private static boolean isRecent(NodeReport earlier, NodeReport report) {
    double seconds = seconds(earlier, report);
    // A clock may have been set back between the two.
    return seconds > 0 && seconds <= LONGEST_INTERVAL.toSeconds();
  }

  private static double seconds(NodeReport earlier, NodeReport report) {
    return Duration.between(earlier.at(), report.at()).toNanos() / 1e9;
  }

  private static List<HotLook> hottest(NodeReport report, Optional<NodeReport> before) {
    var runs = new HashMap<List<String>, Long>();
    before.ifPresent(earlier -> earlier.hottest().forEach(hot -> runs.put(name(hot), hot.runs())));
    return report.hottest().stream()
        .map(
            hot ->
                new HotLook(
                    hot,
                    before
                        .map(earlier -> seconds(earlier, report))
                        .filter(seconds -> runs.containsKey(name(hot)))
                        .map(
                            seconds ->
                                rate(
                                    Objects.requireNonNull(runs.get(name(hot))),
                                    hot.runs(),
                                    seconds))))
        .toList();
  }

  private static List<String> name(HotSummary hot) {
    return List.of(hot.type(), hot.key(), hot.operation(), hot.arguments());
  }

  private static Totals totals(NodeReport report) {
    var calls = report.calls();
    return new Totals(
        calls.ended(),
        calls.failed(),
        calls.timedOut(),
        calls.refused(),
        calls.retried(),
        report.computing().cycles(),
        report.computing().discarded(),
        report.saving().conflicts(),
        report.saving().failures(),
        report.pushes().resent());
  }

  private static Rates rates(NodeReport earlier, NodeReport report) {
    double seconds = seconds(earlier, report);
    var time = report.calls().time().since(earlier.calls().time());
    return new Rates(
        time.count() / seconds,
        rate(troubles(earlier.calls()), troubles(report.calls()), seconds),
        rate(earlier.calls().served(), report.calls().served(), seconds),
        rate(pushes(earlier), pushes(report), seconds),
        rate(earlier.computing().runs(), report.computing().runs(), seconds),
        rate(reads(earlier), reads(report), seconds),
        rate(earlier.saving().saves(), report.saving().saves(), seconds),
        rate(earlier.subscribing().renewed(), report.subscribing().renewed(), seconds),
        micros(time, 0.5),
        micros(time, 0.99),
        micros(time, 1));
  }

  private static long troubles(NodeReport.Calls calls) {
    return calls.failed() + calls.timedOut() + calls.refused();
  }

  private static long pushes(NodeReport report) {
    return report.pushes().here() + report.pushes().sent();
  }

  private static long reads(NodeReport report) {
    return report.computing().hits() + report.computing().misses();
  }

  private static double rate(long before, long after, double seconds) {
    return Math.max(0, after - before) / seconds;
  }

  private static double micros(Durations time, double quantile) {
    return time.quantile(quantile).toNanos() / 1e3;
  }
}
