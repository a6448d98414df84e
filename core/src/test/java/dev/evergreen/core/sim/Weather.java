package dev.evergreen.core.sim;

/**
 * What happens to messages. Probabilities are per message.
 *
 * @param loss of never arriving
 * @param duplication of arriving a second time
 * @param reordering of overtaking, or being overtaken; the rest of a pair's messages stay in order
 * @param minNanos the shortest way
 * @param maxNanos the longest way, but for slow ones
 * @param slowness of being slow
 * @param slowNanos the longest way of a slow one
 */
record Weather(
    double loss,
    double duplication,
    double reordering,
    long minNanos,
    long maxNanos,
    double slowness,
    long slowNanos) {

  static final Weather FINE = new Weather(0, 0, 0, 50_000, 2_000_000, 0, 0);
  static final Weather SLOW = new Weather(0, 0, 0, 50_000, 80_000_000, 0.02, 3_000_000_000L);
  static final Weather JUMBLED = new Weather(0, 0.1, 0.3, 50_000, 20_000_000, 0.05, 2_000_000_000L);
  static final Weather ROUGH = new Weather(0.02, 0.05, 0.1, 50_000, 10_000_000, 0.01, 500_000_000);
  static final Weather STORM =
      new Weather(0.25, 0.2, 0.4, 50_000, 100_000_000, 0.1, 5_000_000_000L);
}
