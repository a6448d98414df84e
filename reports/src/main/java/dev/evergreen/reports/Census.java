package dev.evergreen.reports;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeView;
import dev.evergreen.core.spi.NodeView.SummaryView;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;

/** Counts what a node shows on a walk, and keeps the summaries that ran most often. */
final class Census implements NodeView.Visitor {

  private record Ranked(SummaryView summary, long runs, int subscribers) {
    static final Comparator<Ranked> LEAST_FIRST =
        Comparator.comparingLong(Ranked::runs).thenComparingInt(Ranked::subscribers);
  }

  private static final int LONGEST_TEXT = 120;

  private final Map<String, Integer> activations = new TreeMap<>();
  private final PriorityQueue<Ranked> hottest = new PriorityQueue<>(Ranked.LEAST_FIRST);
  private int waitingCalls;

  @Override
  public void activation(GrainId grain, int waiting) {
    activations.merge(grain.type(), 1, Integer::sum);
    waitingCalls += waiting;
  }

  @Override
  public void summary(SummaryView summary, long runs, int subscribers) {
    hottest.add(new Ranked(summary, runs, subscribers));
    if (hottest.size() > NodeReport.HOTTEST) {
      hottest.remove();
    }
  }

  Map<String, Integer> activations() {
    return activations;
  }

  int waitingCalls() {
    return waitingCalls;
  }

  List<NodeReport.HotSummary> hottest() {
    return hottest.stream()
        .sorted(Ranked.LEAST_FIRST.reversed())
        .map(ranked -> describe(ranked.summary, ranked))
        .toList();
  }

  private static NodeReport.HotSummary describe(SummaryView summary, Ranked ranked) {
    return new NodeReport.HotSummary(
        summary.grain().type(),
        shortened(summary.grain().key()),
        summary.operation(),
        shortened(summary.arguments()),
        ranked.runs,
        ranked.subscribers,
        summary.readers());
  }

  private static String shortened(String text) {
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 1) + "…";
  }
}
