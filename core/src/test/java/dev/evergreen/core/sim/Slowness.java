package dev.evergreen.core.sim;

import dev.evergreen.core.NodeSettings;
import java.time.Duration;
import java.util.SplittableRandom;

/**
 * How long the application's comparers take, in virtual time: some of them longer than it is until
 * the next renewal, or until an unanswered question is asked again.
 *
 * @param leastNanos no comparison takes less
 * @param mostNanos nor more
 * @param renewEvery how often subscriptions are renewed, if they are
 * @param pushRetryAfter after what time what is not answered is sent again
 */
record Slowness(long leastNanos, long mostNanos, Duration renewEvery, Duration pushRetryAfter) {

  private static final long MILLI = 1_000_000;

  /** So many comparisons may have to follow each other until all is right. */
  private static final int MOST_IN_A_ROW = 100;

  static Slowness of(Scenario scenario) {
    var random = new SplittableRandom(scenario.seed() * 0x9e3779b97f4a7c15L + 4);
    long renewEvery = random.nextLong(500, 3_000) * MILLI;
    long least = random.nextInt(3) == 0 ? renewEvery * 5 / 4 : 0;
    long spread = MILLI << random.nextInt(0, 12);
    return new Slowness(
        least,
        least + spread,
        Duration.ofNanos(renewEvery),
        Duration.ofMillis(random.nextBoolean() ? 2_000 : random.nextInt(100, 2_000)));
  }

  /** The settings of a world that are to be seen beside that. */
  NodeSettings settings(Scenario scenario) {
    var settings = scenario.settings().withPushRetryAfter(pushRetryAfter);
    return scenario.profile().renews()
        ? settings.withRenewEvery(renewEvery).withLeaseFor(renewEvery.multipliedBy(3))
        : settings;
  }

  /** The same, but no comparison takes longer. */
  Slowness atMost(long nanos) {
    return new Slowness(
        Math.min(leastNanos, nanos), Math.min(mostNanos, nanos), renewEvery, pushRetryAfter);
  }

  /** From now on comparers of this world take so long. */
  void slowDown(Scheduler scheduler, SplittableRandom random) {
    scheduler.whenComparing(() -> scheduler.sleep(random.nextLong(leastNanos, mostNanos + 1)));
  }

  /** How long the checks wait. */
  Checks.Patience patience(Checks.Patience usual) {
    long more = MOST_IN_A_ROW * mostNanos;
    return new Checks.Patience(
        usual.settling() + more,
        usual.calls() + more,
        usual.collecting(),
        usual.quiet(),
        usual.reclaiming() + more);
  }
}
