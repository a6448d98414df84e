package dev.evergreen.core.sim;

import dev.evergreen.core.NodeSettings;
import java.time.Duration;
import java.util.SplittableRandom;

/**
 * Everything about a run that is fixed at its start; follows from the seed alone.
 *
 * @param cells how many {@link Cell} grains there are
 * @param formulas how many {@link Formula} grains there are
 * @param couriers how many {@link Courier} grains there are
 * @param meters how many {@link Meter} grains there are
 * @param rings how many {@link Ring} grains there are
 * @param stalls how many grains of the program in two versions there are
 * @param mixed whether some nodes are of the older version
 * @param cyclic whether formulas may read each other in cycles
 * @param failing whether cells and formulas may throw
 * @param hurries whether formulas and computations may be slow, and have readers of little patience
 * @param clients how many threads of each node call grains
 * @param actions how many calls each of them makes
 * @param thinkNanos the most time between two of them
 * @param watchers how many computations are tracked from each node
 * @param storageNanos the most time that the storage takes
 * @param storageFailures the part of the storage's operations that fail while it is bad
 * @param troubles how often there is trouble
 * @param troubleNanos the most time between two troubles
 * @param fenced whether the storage shuts out nodes that were given up; else the nodes confirm that
 *     they belong to each other
 */
record Scenario(
    long seed,
    Profile profile,
    RandomPolicy.Pace pace,
    NodeSettings settings,
    int nodes,
    int partitions,
    boolean skewedClocks,
    int cells,
    int formulas,
    int couriers,
    int meters,
    int rings,
    int stalls,
    boolean mixed,
    boolean cyclic,
    boolean failing,
    boolean hurries,
    int clients,
    int actions,
    long thinkNanos,
    int watchers,
    long storageNanos,
    double storageFailures,
    int troubles,
    long troubleNanos,
    boolean fenced) {

  private static final Duration NEVER = Duration.ofDays(365);
  private static final long MAX_STEPS = 3_000_000;
  private static final long MILLI = 1_000_000;
  private static final long CALLS_NANOS = 30_000 * MILLI;
  private static final long QUIET_NANOS = 300_000 * MILLI;

  static Scenario of(long seed) {
    var random = new SplittableRandom(seed);
    var profile = Profile.of(random.nextInt(100));
    int nodes = nodes(profile, random);
    return new Scenario(
        seed,
        profile,
        pace(random),
        settings(profile, random),
        nodes,
        random.nextInt(2, 13),
        random.nextBoolean(),
        random.nextInt(1, 7),
        random.nextInt(1, 8),
        random.nextInt(0, 3),
        random.nextInt(0, 3),
        random.nextInt(0, 3),
        Math.max(0, random.nextInt(-1, 3)),
        random.nextInt(3) > 0,
        random.nextInt(12) == 0,
        random.nextInt(3) == 0,
        random.nextInt(4) == 0,
        random.nextInt(1, 4),
        random.nextInt(5, 25),
        MILLI * (random.nextBoolean() ? random.nextInt(1, 20) : random.nextInt(20, 2_000)),
        random.nextInt(1, 5),
        random.nextBoolean() ? random.nextLong(100_000) : random.nextLong(30 * MILLI),
        random.nextBoolean() ? 0.3 : 0.05,
        random.nextInt(1, 15),
        MILLI * random.nextInt(100, 6_000),
        random.nextBoolean());
  }

  /** What the world of a scope is like: small, and without any trouble but its schedule's. */
  static Scenario of(Scope scope, int partitions) {
    return new Scenario(
        0,
        scope.loses ? Profile.ROUGH : Profile.CALM,
        new RandomPolicy.Pace(0, 0, 0, 0, false, 0, MAX_STEPS),
        scope.settings,
        scope.nodes,
        partitions,
        false,
        scope.cells,
        scope.formulas.size(),
        scope.couriers,
        0,
        scope.rings,
        scope.stalls,
        scope.stalls > 0,
        false,
        false,
        false,
        0,
        0,
        0,
        0,
        1_000,
        0,
        0,
        0,
        scope.fenced);
  }

  /** The same with other settings. */
  Scenario with(NodeSettings other) {
    return new Scenario(
        seed,
        profile,
        pace,
        other,
        nodes,
        partitions,
        skewedClocks,
        cells,
        formulas,
        couriers,
        meters,
        rings,
        stalls,
        mixed,
        cyclic,
        failing,
        hurries,
        clients,
        actions,
        thinkNanos,
        watchers,
        storageNanos,
        storageFailures,
        troubles,
        troubleNanos,
        fenced);
  }

  /** The same world for another application, whose reads may go in circles. */
  Scenario withoutApplication() {
    return new Scenario(
        seed,
        profile,
        pace,
        settings,
        nodes,
        partitions,
        skewedClocks,
        0,
        0,
        0,
        0,
        0,
        0,
        false,
        true,
        false,
        false,
        0,
        0,
        thinkNanos,
        0,
        storageNanos,
        storageFailures,
        troubles,
        troubleNanos,
        fenced);
  }

  private static int nodes(Profile profile, SplittableRandom random) {
    return profile == Profile.CALM ? random.nextInt(1, 5) : random.nextInt(2, 5);
  }

  private static RandomPolicy.Pace pace(SplittableRandom random) {
    return new RandomPolicy.Pace(
        random.nextInt(4) == 0 ? 0 : random.nextLong(1, 50_000),
        random.nextBoolean() ? 0 : random.nextInt(20, 500),
        random.nextLong(100 * MILLI),
        random.nextBoolean() ? 0 : random.nextInt(2, 50),
        random.nextInt(3) == 0,
        random.nextBoolean() ? 0 : random.nextInt(2, 30),
        MAX_STEPS);
  }

  private static NodeSettings settings(Profile profile, SplittableRandom random) {
    var usual = NodeSettings.DEFAULT;
    return new NodeSettings(
        Duration.ofSeconds(random.nextBoolean() ? 30 : 5),
        Duration.ofSeconds(random.nextBoolean() ? random.nextInt(2, 60) : 600),
        Duration.ofMillis(random.nextInt(100, 5_000)),
        usual.maxValueBytes(),
        random.nextInt(8) == 0 ? random.nextInt(1, 5) : usual.maxWaitingCalls(),
        random.nextInt(8) == 0 ? random.nextInt(1, 5) : usual.maxCallsInFlight(),
        Duration.ofMillis(random.nextBoolean() ? 1_000 : random.nextInt(1, 100)),
        profile.renews() ? usual.renewEvery() : NEVER,
        profile.renews() ? usual.leaseFor() : NEVER,
        usual.pushRetryAfter(),
        usual.pushRoundTrip(),
        random.nextBoolean() ? usual.maxBatchBytes() : random.nextInt(1, 200),
        random.nextBoolean() ? usual.maxBacklog() : random.nextInt(1, 4),
        usual.writeDelay(),
        usual.cycleSuspicion(),
        usual.overwriteNewer());
  }

  /** How long it takes until others notice that a node is gone. */
  long detectionNanos(SplittableRandom random) {
    return random.nextLong(1_000 * MILLI, 8_000 * MILLI);
  }

  /** How long the checks of a run wait. */
  Checks.Patience patience() {
    return new Checks.Patience(
        settleNanos(),
        CALLS_NANOS,
        settings.idleAfter().toNanos() * 3,
        QUIET_NANOS,
        settleNanos() + settings.idleAfter().toNanos() * 3);
  }

  private long settleNanos() {
    var calls = settings.callTimeout().toNanos() * 3;
    return profile.renews()
        ? calls + settings.renewEvery().plus(settings.leaseFor()).toNanos() * 2
        : calls + Duration.ofSeconds(30).toNanos();
  }
}
