package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Objects;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PooledTest {

  private static Histogram of(long... micros) {
    var histogram = new Histogram(3);
    for (long value : micros) {
      histogram.recordValue(1_000 * value);
    }
    return histogram;
  }

  @Test
  void aPercentileIsThatOfAllRoundsTogether() {
    var pooled = new Pooled();
    for (int i = 0; i < 10; i++) {
      pooled.add(of(20, 20, 20, 200), of(10, 10, 10, i == 0 ? 1_000 : 10));
    }
    var median = pooled.line("it", 50);
    assertEquals(20, median.value().median(), 0.1);
    assertEquals(2, Objects.requireNonNull(median.ratio()).median(), 0.01);
    assertEquals(200, pooled.line("it", 99).value().median(), 1);
    assertEquals("p99, µs", pooled.line("it", 99).unit());
    // Nine of ten rounds had none so large, so that some draws have none.
    var without = Objects.requireNonNull(pooled.line("it", 99).baseline());
    assertEquals(1_000, without.median(), 1);
    assertEquals(10, without.low(), 0.1);
  }

  /** Most latencies are alike; now and then the machine stops for a while, in either side. */
  private static Histogram measured(Random random) {
    var histogram = new Histogram(3);
    long stalled = 0;
    for (int i = 0; i < 300; i++) {
      if (random.nextInt(200) == 0) {
        stalled = 5L + random.nextInt(10);
      }
      double more = stalled-- > 0 ? 1_000 * stalled : 0;
      histogram.recordValue((long) (1e5 * Math.exp(random.nextGaussian() / 3) + 1_000 * more));
    }
    return histogram;
  }

  @ParameterizedTest
  @ValueSource(ints = {7, 21})
  void theIntervalOfTheRatioHoldsTheTruthAsOftenAsItSays(int rounds) {
    var random = new Random(3);
    int held = 0;
    int measurements = 100;
    for (int i = 0; i < measurements; i++) {
      var pooled = new Pooled();
      for (int j = 0; j < rounds; j++) {
        pooled.add(measured(random), measured(random));
      }
      var ratio = Objects.requireNonNull(pooled.line("same", 99).ratio());
      held += ratio.low() <= 1 && 1 <= ratio.high() ? 1 : 0;
    }
    assertTrue(held >= 0.93 * measurements, held + " of " + measurements);
  }
}
