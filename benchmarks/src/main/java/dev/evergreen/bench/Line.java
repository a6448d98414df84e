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

  /** Whether a limit is kept; where it lies in the interval of the median that is open. */
  enum Verdict {
    MET("yes"),
    MISSED("NO"),
    UNDECIDED("undecided");

    private final String text;

    Verdict(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** A limit, and whether it is kept. */
  record Budget(String text, Verdict verdict) {

    static Budget atMost(String text, Spread spread, double limit) {
      return new Budget(text, verdict(spread.high() <= limit, spread.low() > limit));
    }

    static Budget atLeast(String text, Spread spread, double limit) {
      return new Budget(text, verdict(spread.low() >= limit, spread.high() < limit));
    }

    private static Verdict verdict(boolean kept, boolean broken) {
      return kept ? Verdict.MET : broken ? Verdict.MISSED : Verdict.UNDECIDED;
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

  /** This line with a limit for the value. */
  Line atMost(double limit) {
    return with(Budget.atMost("≤ " + Spread.digits(limit) + " " + unit, value, limit));
  }

  /** This line with a lower limit for the value. */
  Line atLeast(double limit) {
    return with(Budget.atLeast("≥ " + Spread.digits(limit) + " " + unit, value, limit));
  }

  /** This line with a limit for the ratio. */
  Line ratioAtMost(double limit) {
    if (ratio == null) {
      throw new IllegalStateException(name + " is compared with nothing");
    }
    return with(Budget.atMost("≤ " + Spread.digits(limit) + " ×", ratio, limit));
  }

  /** This line with a lower limit for the ratio. */
  Line ratioAtLeast(double limit) {
    if (ratio == null) {
      throw new IllegalStateException(name + " is compared with nothing");
    }
    return with(Budget.atLeast("≥ " + Spread.digits(limit) + " ×", ratio, limit));
  }

  private Line with(Budget limit) {
    return new Line(name, unit, value, against, baseline, ratio, limit);
  }
}
