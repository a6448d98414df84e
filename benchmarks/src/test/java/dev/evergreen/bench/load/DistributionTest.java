package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.bench.load.Distribution.Exponential;
import dev.evergreen.bench.load.Distribution.Fixed;
import dev.evergreen.bench.load.Distribution.GeneralizedExtremeValue;
import dev.evergreen.bench.load.Distribution.GeneralizedPareto;
import dev.evergreen.bench.load.Distribution.Uniform;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** Against the distribution functions, which the textbooks give, and the quantiles invert. */
class DistributionTest {

  private static final int DRAWN = 200_000;

  /** Beyond it a true hypothesis lies once in a million cases (Kolmogorov and Smirnov). */
  private static final double FARTHEST = 2.7 / Math.sqrt(DRAWN);

  /** The share of drawn numbers below each must be what the distribution function says. */
  private static void drawnNumbersFollow(Distribution distribution, DoubleUnaryOperator function) {
    var random = new SplittableRandom(7);
    var drawn =
        DoubleStream.generate(() -> distribution.draw(random)).limit(DRAWN).sorted().toArray();
    for (int i = 0; i < DRAWN; i++) {
      assertEquals(
          function.applyAsDouble(drawn[i]), (i + 0.5) / DRAWN, FARTHEST, "below " + drawn[i]);
    }
  }

  @Test
  void numbersFollowTheirDistributionFunctions() {
    drawnNumbersFollow(new Uniform(3, 7), x -> (x - 3) / 4);
    drawnNumbersFollow(new Exponential(5), x -> 1 - Math.exp(-x / 5));
    drawnNumbersFollow(
        new GeneralizedPareto(15, 214.476, 0.348238),
        x -> 1 - Math.pow(1 + 0.348238 * (x - 15) / 214.476, -1 / 0.348238));
    drawnNumbersFollow(
        new GeneralizedExtremeValue(30.7984, 8.20449, 0.078688),
        x -> Math.exp(-Math.pow(1 + 0.078688 * (x - 30.7984) / 8.20449, -1 / 0.078688)));
  }

  @Test
  void aFixedNumberIsAlwaysTheSame() {
    assertEquals(30, new Fixed(30).quantile(0.99));
  }

  @Test
  void smallValuesOfTheEtcPoolComeFromItsTable() {
    var values = Pool.ETC.valueLength();
    assertEquals(0, values.quantile(0.005));
    assertEquals(2, values.quantile(0.006));
    assertEquals(3, values.quantile(0.27));
    assertEquals(14, values.quantile(0.4415));
    assertEquals(15, values.quantile(0.441551), 0.01);
    double median = 15 + 214.476 / 0.348238 * (Math.pow(0.5, -0.348238) - 1);
    assertEquals(median, values.quantile(0.44155 + 0.55845 / 2), 0.01);
  }

  @Test
  void gapsHaveTheMeanOfTheRate() {
    for (var pool : Pool.values()) {
      var random = new SplittableRandom(3);
      var gaps = pool.gaps(50_000);
      double mean = DoubleStream.generate(() -> gaps.draw(random)).limit(DRAWN).average().orElse(0);
      assertEquals(20_000, mean, 400, pool::name);
    }
  }

  @Test
  void atItsOwnRateTheEtcPoolHasTheGapsOfItsPublication() {
    double rate = 1e6 * (1 - 0.154971) / 16.0292;
    var published = new GeneralizedPareto(0, 16_029.2, 0.154971);
    for (double u : List.of(0.0, 0.5, 0.99)) {
      assertEquals(published.quantile(u), Pool.ETC.gaps(rate).quantile(u), 1e-6);
    }
  }
}
