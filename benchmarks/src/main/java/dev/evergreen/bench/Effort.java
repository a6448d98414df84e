package dev.evergreen.bench;

import java.time.Duration;

/**
 * How much is measured.
 *
 * @param rounds how often the variants take turns
 * @param warmUp how long each variant runs, twice, before the first round
 * @param slice how long each variant runs in each round
 * @param samples how many propagations each variant has in each round
 * @param subscriptions how many idle subscriptions are weighed
 */
record Effort(int rounds, Duration warmUp, Duration slice, int samples, int subscriptions) {

  static final Effort FULL =
      new Effort(7, Duration.ofSeconds(3), Duration.ofSeconds(1), 4_000, 20_000);

  static final Effort QUICK =
      new Effort(5, Duration.ofMillis(10), Duration.ofMillis(10), 25, 1_000);

  /** Over several processes. */
  static final Effort NODES =
      new Effort(7, Duration.ofSeconds(2), Duration.ofSeconds(1), 1_000, 100_000);

  static final Effort NODES_QUICK =
      new Effort(3, Duration.ofMillis(500), Duration.ofMillis(500), 200, 10_000);
}
