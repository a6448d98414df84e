package dev.evergreen.bench;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One statement of the report.
 *
 * @param name what was measured
 * @param unit of the values
 * @param value the values of the rounds
 * @param against what it is compared with; null if with nothing
 * @param baseline its values
 * @param ratio value to baseline, round by round
 * @param budget what design §8 demands; null if it says nothing
 */
record Line(
    String name,
    String unit,
    Spread value,
    @Nullable String against,
    @Nullable Spread baseline,
    @Nullable Spread ratio,
    @Nullable Budget budget) {

  /** A limit, and whether the medians keep it. */
  record Budget(String text, boolean met) {

    static Budget atMost(String text, double median, double limit) {
      return new Budget(text, median <= limit);
    }

    static Budget atLeast(String text, double median, double limit) {
      return new Budget(text, median >= limit);
    }
  }

  /** A value that is compared with nothing. */
  static Line alone(String name, String unit, List<Double> values) {
    return new Line(name, unit, Spread.of(values), null, null, null, null);
  }

  /** A value beside that of a variant which ran in the same rounds. */
  static Line compared(
      String name, String unit, List<Double> values, String against, List<Double> baseline) {
    return new Line(
        name,
        unit,
        Spread.of(values),
        against,
        Spread.of(baseline),
        Spread.ofRatios(values, baseline),
        null);
  }

  /** This line with a limit for the median value. */
  Line atMost(double limit) {
    return with(Budget.atMost("≤ " + Spread.digits(limit) + " " + unit, value.median(), limit));
  }

  /** This line with a lower limit for the median value. */
  Line atLeast(double limit) {
    return with(Budget.atLeast("≥ " + Spread.digits(limit) + " " + unit, value.median(), limit));
  }

  /** This line with a limit for the median ratio. */
  Line ratioAtMost(double limit) {
    if (ratio == null) {
      throw new IllegalStateException(name + " is compared with nothing");
    }
    return with(Budget.atMost("≤ " + Spread.digits(limit) + " ×", ratio.median(), limit));
  }

  /** This line with a lower limit for the median ratio. */
  Line ratioAtLeast(double limit) {
    if (ratio == null) {
      throw new IllegalStateException(name + " is compared with nothing");
    }
    return with(Budget.atLeast("≥ " + Spread.digits(limit) + " ×", ratio.median(), limit));
  }

  private Line with(Budget limit) {
    return new Line(name, unit, value, against, baseline, ratio, limit);
  }
}
