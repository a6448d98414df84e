package dev.evergreen.bench;

import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** Values of several rounds: the median with the least and the greatest. */
record Spread(double median, double least, double greatest) {

  static Spread of(List<Double> values) {
    if (values.isEmpty()) {
      throw new IllegalArgumentException("there is no spread of no values");
    }
    var sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    int middle = sorted.length / 2;
    double median =
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Spread(median, sorted[0], sorted[sorted.length - 1]);
  }

  /** The ratios of two variants, round by round. */
  static Spread ofRatios(List<Double> above, List<Double> below) {
    return of(IntStream.range(0, above.size()).mapToObj(i -> above.get(i) / below.get(i)).toList());
  }

  /** The differences of two variants, round by round. */
  static Spread ofDifferences(List<Double> of, List<Double> less) {
    return of(IntStream.range(0, of.size()).mapToObj(i -> of.get(i) - less.get(i)).toList());
  }

  /** Three significant digits each. */
  @Override
  public String toString() {
    return digits(median) + " (" + digits(least) + "–" + digits(greatest) + ")";
  }

  static String digits(double value) {
    double size = Math.abs(value);
    int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }
}
