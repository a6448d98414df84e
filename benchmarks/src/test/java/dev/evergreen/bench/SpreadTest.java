package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpreadTest {

  private static List<Double> upTo(int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> (double) i).toList();
  }

  /** The ranks that tables of the sign test give for 95 %. */
  @ParameterizedTest
  @CsvSource({"1,1,1", "5,1,5", "6,1,6", "8,1,8", "9,2,8", "15,4,12", "21,6,16", "40,14,27"})
  void theIntervalOfTheMedianIsOfTheRanksThatTheSignTestGives(int count, int low, int high) {
    var spread = Spread.of(upTo(count));
    assertEquals(low, spread.low());
    assertEquals(high, spread.high());
    assertEquals((count + 1) / 2.0, spread.median());
    assertEquals(1, spread.least());
    assertEquals(count, spread.greatest());
  }

  @Test
  void itHoldsTheTrueMedianNineteenTimesInTwentyWhateverTheDistribution() {
    var random = new Random(7);
    int held = 0;
    for (int i = 0; i < 2_000; i++) {
      // The median of exp(g) is 1; its mean is far away.
      var values = DoubleStream.generate(() -> Math.exp(3 * random.nextGaussian())).limit(21);
      var spread = Spread.of(values.boxed().toList());
      if (spread.low() <= 1 && 1 <= spread.high()) {
        held++;
      }
    }
    assertTrue(held >= 1_900, held + " of 2,000");
  }

  @Test
  void isWrittenAsTheMedianWithItsInterval() {
    assertEquals("0.050 (1.50–1234)", new Spread(0.05, 1.5, 1234, 0, 2000).toString());
  }

  @Test
  void ratiosAreTakenRoundByRound() {
    assertEquals(
        Spread.of(List.of(2.0, 2.0)), Spread.ofRatios(List.of(2.0, 20.0), List.of(1.0, 10.0)));
  }

  @Test
  void noValuesHaveNoSpread() {
    assertThrows(IllegalArgumentException.class, () -> Spread.of(List.of()));
  }
}
