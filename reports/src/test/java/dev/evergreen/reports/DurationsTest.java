package dev.evergreen.reports;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class DurationsTest {

  private final Stopwatch watch = new Stopwatch();

  @Test
  void everyDurationIsInTheBucketWhoseBoundsItLiesBetween() {
    for (int i = 0; i < Durations.BUCKETS - 1; i++) {
      assertEquals(i, Durations.bucket(Durations.lowerNanos(i)));
      assertEquals(i, Durations.bucket(Durations.lowerNanos(i + 1) - 1));
    }
    assertEquals(Durations.BUCKETS - 1, Durations.bucket(Long.MAX_VALUE));
    assertEquals(0, Durations.bucket(-1));
  }

  @Test
  void quantilesAreWithinAQuarterOfTheTruth() {
    var random = new Random(7);
    var nanos = new long[20_000];
    for (int i = 0; i < nanos.length; i++) {
      nanos[i] = 2_000 + (long) Math.exp(random.nextDouble() * 20);
      watch.add(nanos[i]);
    }
    Arrays.sort(nanos);
    var durations = watch.durations();
    for (double quantile : new double[] {0.05, 0.5, 0.9, 0.99, 0.999}) {
      double truth = nanos[(int) (quantile * nanos.length)];
      double told = durations.quantile(quantile).toNanos();
      assertTrue(Math.abs(told - truth) <= truth / 4, quantile + ": " + told + ", not " + truth);
    }
    assertEquals(nanos[nanos.length - 1], durations.longest().toNanos());
    assertEquals(durations.longest(), durations.quantile(1));
    assertEquals(Arrays.stream(nanos).sum(), durations.total().toNanos());
    assertEquals(nanos.length, durations.count());
  }

  @Test
  void theDifferenceToAnEarlierValueIsWhatWasAddedSince() {
    watch.add(5_000_000_000L);
    var earlier = watch.durations();
    watch.add(1_000_000);
    watch.add(1_000_000);
    var added = watch.durations().since(earlier);
    assertEquals(2, added.count());
    assertEquals(Duration.ofMillis(2), added.total());
    assertTrue(added.longest().toNanos() >= 1_000_000, added.toString());
    assertTrue(added.longest().toNanos() <= 1_300_000, added.toString());
    assertEquals(Durations.NONE.buckets(), watch.durations().since(watch.durations()).buckets());
    assertEquals(watch.durations().count(), watch.durations().since(Durations.NONE).count());
  }

  @Test
  void ofNothingEveryQuantileIsZeroAndNoneIsBeyondItsRange() {
    assertEquals(Durations.NONE, watch.durations());
    assertEquals(Duration.ZERO, Durations.NONE.quantile(0.99));
    for (double wrong : new double[] {-0.1, 1.1, Double.NaN}) {
      assertThrows(IllegalArgumentException.class, () -> Durations.NONE.quantile(wrong));
    }
  }
}
