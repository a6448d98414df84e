package dev.evergreen.bench.polymix;

import java.util.SplittableRandom;

/** Numbers of which each is the rarer the larger it is: as one to it. */
final class Zipf {
  private Zipf() {}

  /** One of 1 to {@code most}. */
  static int draw(int most, SplittableRandom random) {
    double all = 0;
    for (int i = 1; i <= most; i++) {
      all += 1.0 / i;
    }
    double drawn = random.nextDouble() * all;
    int found = 1;
    while (found < most && (drawn -= 1.0 / found) >= 0) {
      found++;
    }
    return found;
  }
}
