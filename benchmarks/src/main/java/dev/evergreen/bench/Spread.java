package dev.evergreen.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Values of several rounds: their range, their median, and where the median would be if there were
 * rounds without end.
 *
 * <p>The interval from {@code low} to {@code high} holds that median in at least 95 of 100 such
 * measurements. It is made of two of the values themselves, as many from the least as from the
 * greatest (the sign test turned round), and so assumes nothing of how the values are distributed:
 * a round that the machine spoiled counts as one round, however bad it was. More rounds make it
 * narrower. Fewer than six allow no such interval; theirs is the whole range.
 */
record Spread(double median, double low, double high, double least, double greatest) {

  private static final double CONFIDENCE = 0.95;

  static Spread of(List<Double> values) {
    if (values.isEmpty()) {
      throw new IllegalArgumentException("there is no spread of no values");
    }
    var sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    int last = sorted.length - 1;
    int outside = outside(sorted.length);
    double median = (sorted[last / 2] + sorted[(last + 1) / 2]) / 2;
    return new Spread(median, sorted[outside], sorted[last - outside], sorted[0], sorted[last]);
  }

  /**
   * An estimate of so many rounds, and what it was of rounds drawn from them instead (a bootstrap).
   * The interval holds nineteen in twenty of those; of few rounds it is widened as Student's
   * distribution says (Hesterberg, "What Teachers Should Know About the Bootstrap", The American
   * Statistician 69, 2015), and of fewer than six it is all of the range.
   *
   * @param draws the estimate, and then those of the draws
   */
  static Spread ofDraws(double[] draws, int rounds) {
    var sorted = Arrays.copyOfRange(draws, 1, draws.length);
    Arrays.sort(sorted);
    int last = sorted.length - 1;
    int outside = rounds < 6 ? 0 : (int) (tail(rounds) * sorted.length);
    return new Spread(draws[0], sorted[outside], sorted[last - outside], sorted[0], sorted[last]);
  }

  /** The share that is left out on either side: a 40th, or less. */
  private static double tail(int rounds) {
    double z = 1.96;
    double student = z + (z * z * z + z) / (4.0 * (rounds - 1));
    double x = student * Math.sqrt(rounds / (rounds - 1.0));
    // The normal distribution, by a logistic approximation.
    return 1 / (1 + Math.exp(1.5976 * x + 0.07056 * x * x * x));
  }

  /** How many of so many values are below the interval; as many are above it. */
  private static int outside(int count) {
    // That exactly i of the values are below the median has the probability of i heads in so many
    // throws.
    double exactly = Math.pow(0.5, count);
    double atMost = exactly;
    int outside = 0;
    while (true) {
      exactly *= (double) (count - outside) / (outside + 1);
      atMost += exactly;
      if (atMost > (1 - CONFIDENCE) / 2) {
        return outside;
      }
      outside++;
    }
  }

  /** The ratios of two variants, round by round; that of nothing to nothing is 0. */
  static Spread ofRatios(List<Double> above, List<Double> below) {
    return of(
        IntStream.range(0, above.size())
            .mapToObj(i -> above.get(i) == 0 ? 0 : above.get(i) / below.get(i))
            .toList());
  }

  /** The differences of two variants, round by round. */
  static Spread ofDifferences(List<Double> of, List<Double> less) {
    return of(IntStream.range(0, of.size()).mapToObj(i -> of.get(i) - less.get(i)).toList());
  }

  /** The median and its interval, with three significant digits. */
  @Override
  public String toString() {
    return digits(median) + " (" + digits(low) + "–" + digits(high) + ")";
  }

  static String digits(double value) {
    double size = Math.abs(value);
    int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }
}
