package dev.evergreen.store.hits;

import java.util.Arrays;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Generated requests, the same ones for every policy. A key's size follows from its number.
 *
 * @param name what the report calls it
 * @param keys the numbers are less than this
 * @param requests one after the other, without end
 */
record Trace(String name, int keys, Supplier<Supplier<Request>> requests) {
  static final int PER_SECOND = 20_000;

  static Trace[] all() {
    return new Trace[] {zipfWithScans(), latest(), etcWithDrift(), lifetimes(), loop()};
  }

  /**
   * Zipf with exponent 0.9 over a million keys, and scans over 20,000 keys that are asked for once.
   */
  private static Trace zipfWithScans() {
    int keys = 1_000_000;
    return new Trace(
        "Zipf with scans",
        keys + 4_000_000,
        () -> {
          var random = new Random(1);
          var zipf = new Zipf(keys, 0.9, random);
          int[] scan = {keys, 0};
          return () -> {
            if (scan[1] == 0 && random.nextInt(100_000) == 0) {
              scan[1] = 20_000;
            }
            if (scan[1] > 0 && random.nextInt(2) == 0) {
              scan[1]--;
              return sized(scan[0]++);
            }
            return sized(zipf.next());
          };
        });
  }

  /**
   * YCSB's workload D: 5 % of the requests make a new key, the others prefer the latest by Zipf's
   * law.
   */
  private static Trace latest() {
    int first = 400_000;
    return new Trace(
        "latest (YCSB D)",
        first + 1_000_000,
        () -> {
          var random = new Random(2);
          var zipf = new Zipf(first, 0.99, random);
          int[] newest = {first};
          return () -> sized(random.nextInt(20) == 0 ? newest[0]++ : newest[0] - 1 - zipf.next());
        });
  }

  /**
   * Facebook's ETC pool by its published distributions of sizes. Popularity drifts, and a third of
   * the requests are for keys that nobody asks for again, as Meta and Twitter report of their
   * caches.
   */
  private static Trace etcWithDrift() {
    int keys = 1_000_000;
    return new Trace(
        "ETC sizes, drift, one-timers",
        keys + 4_000_000,
        () -> {
          var random = new Random(3);
          var zipf = new Zipf(keys, 1.0, random);
          int[] state = {keys, 0};
          return () -> {
            state[1]++;
            int key = random.nextInt(3) == 0 ? state[0]++ : (zipf.next() + state[1] / 50) % keys;
            return etcSized(key);
          };
        });
  }

  /**
   * Twitter's mixture: several uses in one cache, each with a lifetime, sizes and a skew of its
   * own.
   */
  private static Trace lifetimes() {
    int[] seconds = {10, 60, 300, 0};
    int[] mean = {60, 200, 1000, 230};
    double[] skew = {0.8, 1.2, 1.0, 0.9};
    int keys = 400_000;
    return new Trace(
        "lifetimes (Twitter)",
        keys * seconds.length,
        () -> {
          var random = new Random(4);
          var zipfs = new Zipf[seconds.length];
          Arrays.setAll(zipfs, i -> new Zipf(keys, skew[i], random));
          return () -> {
            int use = random.nextInt(seconds.length);
            int key = use * keys + zipfs[use].next();
            var sizes = new SplittableRandom(key);
            return new Request(
                key,
                20 + sizes.nextInt(30),
                (int) (-mean[use] * Math.log(1 - sizes.nextDouble())),
                seconds[use]);
          };
        });
  }

  /** Half of the requests go round a loop of 300,000 keys, half are Zipf over other keys. */
  private static Trace loop() {
    int looped = 300_000;
    int keys = 500_000;
    return new Trace(
        "loop and Zipf",
        looped + keys,
        () -> {
          var random = new Random(5);
          var zipf = new Zipf(keys, 1.0, random);
          int[] next = {0};
          return () -> sized(random.nextBoolean() ? next[0]++ % looped : looped + zipf.next());
        });
  }

  private static Request sized(int key) {
    var sizes = new SplittableRandom(key);
    return new Request(key, 16 + sizes.nextInt(30), 50 + sizes.nextInt(400), 0);
  }

  private static Request etcSized(int key) {
    var sizes = new SplittableRandom(key);
    double keyLength =
        30.7984 + 8.20449 / 0.078688 * (Math.pow(-Math.log(sizes.nextDouble()), -0.078688) - 1);
    double valueLength =
        15 + 214.476 / 0.348238 * (Math.pow(1 - sizes.nextDouble(), -0.348238) - 1);
    return new Request(
        key, (int) Math.clamp(keyLength, 1, 250), (int) Math.min(valueLength, 500_000), 0);
  }

  Stream<Request> stream(long count) {
    return Stream.generate(requests.get()).limit(count);
  }

  /** Numbers by Zipf's law, the popular ones spread over the range. */
  private static final class Zipf {
    private final double[] sums;
    private final Random random;

    Zipf(int count, double skew, Random random) {
      this.random = random;
      sums = new double[count];
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += Math.pow(i + 1, -skew);
        sums[i] = sum;
      }
    }

    int next() {
      int found = Arrays.binarySearch(sums, random.nextDouble() * sums[sums.length - 1]);
      return Math.min(found < 0 ? -found - 1 : found, sums.length - 1);
    }
  }
}
