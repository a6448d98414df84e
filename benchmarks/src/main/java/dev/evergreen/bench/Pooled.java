package dev.evergreen.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import org.HdrHistogram.AbstractHistogram;

/**
 * Percentiles of all latencies that the rounds measured together, with and without something, and
 * their ratio.
 *
 * <p>The high percentile of one short round is decided by the few moments at which the machine did
 * something else. That of all rounds together is decided by more of them, and so its ratio is
 * nearer to the truth than the median of the rounds' ratios. How near, is found by drawing as many
 * rounds from them as there are, again and again, each with both of its sides: latencies of one
 * moment are alike, so that they are no separate draws (a bootstrap of whole rounds).
 */
final class Pooled {

  private static final int DRAWS = 1_000;

  private final Side with = new Side();
  private final Side without = new Side();
  private int rounds;

  /** A round's latencies, in nanoseconds. */
  void add(AbstractHistogram with, AbstractHistogram without) {
    this.with.rounds.add(with);
    this.without.rounds.add(without);
    rounds++;
  }

  /** Compares a percentile, in microseconds. */
  Line line(String name, double percentile) {
    var random = new Random(1);
    var present = new double[1 + DRAWS];
    var absent = new double[1 + DRAWS];
    var ratios = new double[1 + DRAWS];
    with.sort();
    without.sort();
    for (int i = 0; i <= DRAWS; i++) {
      var times = new int[rounds];
      for (int j = 0; j < rounds; j++) {
        // The first is that of all rounds as they are.
        times[i == 0 ? j : random.nextInt(rounds)]++;
      }
      present[i] = with.percentile(percentile, times) / 1e3;
      absent[i] = without.percentile(percentile, times) / 1e3;
      ratios[i] = present[i] / absent[i];
    }
    var unit = percentile == 50 ? "median, µs" : "p" + Math.round(percentile) + ", µs";
    return new Line(name, unit, spread(present), "without", spread(absent), spread(ratios), null);
  }

  private Spread spread(double[] draws) {
    return Spread.ofDraws(draws, rounds);
  }

  /** All latencies with, or all without. */
  private static final class Side {
    final List<AbstractHistogram> rounds = new ArrayList<>();

    /** By latency, how often each round had it. */
    private final SortedMap<Long, long[]> counts = new TreeMap<>();

    void sort() {
      counts.clear();
      for (int i = 0; i < rounds.size(); i++) {
        for (var value : rounds.get(i).recordedValues()) {
          counts.computeIfAbsent(value.getValueIteratedTo(), _ -> new long[rounds.size()])[i] +=
              value.getCountAtValueIteratedTo();
        }
      }
    }

    /** Of all rounds together, each so many times. */
    long percentile(double percentile, int[] times) {
      double rank = 0;
      for (int i = 0; i < times.length; i++) {
        rank += times[i] * rounds.get(i).getTotalCount() * percentile / 100;
      }
      long passed = 0;
      for (var value : counts.entrySet()) {
        var ofRounds = value.getValue();
        for (int i = 0; i < times.length; i++) {
          passed += times[i] * ofRounds[i];
        }
        if (passed >= rank) {
          return value.getKey();
        }
      }
      return counts.lastKey();
    }
  }
}
