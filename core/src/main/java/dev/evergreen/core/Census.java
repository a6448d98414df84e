package dev.evergreen.core;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;

/** Counts what the activations of a node hold, and keeps the summaries that ran most often. */
final class Census {

  private record Ranked(GrainSummary summary, long runs, int subscribers) {
    static final Comparator<Ranked> LEAST_FIRST =
        Comparator.comparingLong(Ranked::runs).thenComparingInt(Ranked::subscribers);
  }

  private static final int LONGEST_TEXT = 120;

  private final NodeRuntime node;
  private final Map<String, Integer> activations = new TreeMap<>();
  private final PriorityQueue<Ranked> hottest = new PriorityQueue<>(Ranked.LEAST_FIRST);
  private int summaries;
  private int subscriptions;
  private int waitingCalls;

  private Census(NodeRuntime node) {
    this.node = node;
  }

  static Census of(NodeRuntime node) {
    var census = new Census(node);
    for (var activation : node.activations().all()) {
      census.activations.merge(activation.id().type(), 1, Integer::sum);
      activation.count(census);
    }
    return census;
  }

  /** An activation has these turns waiting; called with its monitor held. */
  void addWaiting(int turns) {
    waitingCalls += turns;
  }

  /** An activation has this summary; called with its monitor held. */
  void add(GrainSummary summary) {
    summaries++;
    subscriptions += summary.results().subscribers();
    hottest.add(new Ranked(summary, summary.runs, summary.results().subscribers()));
    if (hottest.size() > NodeReport.HOTTEST) {
      hottest.remove();
    }
  }

  int summaries() {
    return summaries;
  }

  int subscriptions() {
    return subscriptions;
  }

  int waitingCalls() {
    return waitingCalls;
  }

  Map<String, Integer> activations() {
    return activations;
  }

  List<NodeReport.HotSummary> hottest() {
    return hottest.stream()
        .sorted(Ranked.LEAST_FIRST.reversed())
        .map(ranked -> describe(ranked.summary.key(), ranked))
        .toList();
  }

  private NodeReport.HotSummary describe(CallKey key, Ranked ranked) {
    var cache = node.caches().get(key);
    return new NodeReport.HotSummary(
        key.grain().type(),
        shortened(key.grain().key()),
        key.operation().name(),
        shortened(key.argumentsText()),
        ranked.runs,
        ranked.subscribers,
        cache == null ? 0 : cache.readers());
  }

  private static String shortened(String text) {
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 1) + "…";
  }
}
