package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.evergreen.cluster.MandateTrials.Kind;
import dev.evergreen.core.sim.BrokenVersion;
import dev.evergreen.core.sim.Seeds;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is acknowledged is never missed by who owns the partition later, and somebody goes on when
 * all faults have ended: in the simulation of a {@link MandateWorld}, which must find broken
 * versions by the same seeds. Options, as system properties: {@code evergreen.sim.seeds} is their
 * number, {@code evergreen.sim.seed} the only one.
 */
final class MandateSimulationTest {

  private static final long SEEDS = Long.getLong("evergreen.sim.seeds", 400);
  private static final long ONLY = Long.getLong("evergreen.sim.seed", 0);

  @ParameterizedTest
  @EnumSource(Kind.class)
  void nothingAcknowledgedIsMissedAndSomebodyGoesOn(Kind kind) throws InterruptedException {
    var run = new MandateRun();
    long first = Math.max(1, ONLY);
    long count = ONLY > 0 ? 1 : SEEDS;
    var failures = Seeds.<String>failures(first, count, 1, seed -> run.failure(kind, seed));
    assertEquals(List.of(), failures);
  }

  /**
   * A version without something.
   *
   * @param by a part of what then fails: what fails otherwise is not this
   */
  record Broken(BrokenVersion version, Kind kind, String by) {
    Broken(String type, String before, String after, Kind kind, String by) {
      this(new BrokenVersion("cluster", type, before, after), kind, by);
    }
  }

  private static final String MISSED = "acknowledge";
  private static final String ENDS = "nobody is left who would agree";

  static Stream<Broken> brokenVersions() {
    return Stream.of(
        // It is content with a look that was over when it was asked.
        new Broken(
            "FencedMandate",
            "return begun + 1;",
            "return Math.max(1, begun);",
            Kind.FENCED,
            MISSED),
        // It gives nobody up.
        new Broken(
            "FencedMandate",
            "if (!fence.giveUp(node, self)) {",
            "if (!fence.isAlive(self)) {",
            Kind.FENCED,
            MISSED),
        // It does not ask whether it was given up itself.
        new Broken(
            "FencedMandate",
            "boolean alive = fence.isAlive(self);",
            "boolean alive = true;",
            Kind.FENCED,
            MISSED),
        // No majority needs to have heard of it.
        new Broken(
            "FencedMandate",
            """
                  if (!tenure.isHeardBy(now)) {
                    return false;
                  }
                  if (!tenure.agree()) {
            """,
            "if (tenure.isOver()) {",
            Kind.FENCED,
            MISSED),
        // Nobody needs to have answered what is acknowledged.
        new Broken(
            "Tenure",
            "return haveVotedSince(voters, nanos) && haveVotedSince(quorum, nanos);",
            "return !over;",
            Kind.PINGED,
            MISSED),
        // Those need not have agreed who decided before.
        new Broken(
            "Tenure",
            "return haveVotedSince(voters, nanos) && haveVotedSince(quorum, nanos);",
            "return haveVotedSince(voters, nanos);",
            Kind.PINGED,
            MISSED),
        // There is no margin.
        new Broken("PingedMandate", "left > 0;", "left > Long.MAX_VALUE - 1;", Kind.PINGED, MISSED),
        // Whoever is left decides.
        new Broken("Survivors", "if (tenure.isLargerPart()) {", "if (true) {", Kind.PINGED, MISSED),
        // Nobody decides.
        new Broken(
            "Tenure",
            "return !agreed.contains(self) || isMajority(voters::contains, agreed);",
            "return false;",
            Kind.FEWER_DIE_FENCED,
            "healthy ones have ended"),
        // Who leaves is asked whether it has agreed.
        new Broken(
            "Survivors",
            "tenure.leaves(other);",
            "tenure.left(other);",
            Kind.LAST_ONES_PINGED,
            ENDS),
        new Broken(
            "Survivors",
            "tenure.leaves(other);",
            "tenure.left(other);",
            Kind.LAST_ONES_FENCED,
            ENDS));
  }

  @ParameterizedTest
  @MethodSource("brokenVersions")
  void aBrokenVersionIsFound(Broken broken) throws InterruptedException {
    var run = broken.version().load(MandateRun.class, MandateTrials.class);
    Set<String> others = ConcurrentHashMap.newKeySet();
    LongFunction<@Nullable String> asExpected =
        seed -> {
          var failure = run.failure(broken.kind(), seed);
          if (failure == null || failure.contains(broken.by())) {
            return failure;
          }
          others.add(failure);
          return null;
        };
    assertFalse(
        Seeds.<String>failures(1, SEEDS, 1, asExpected).isEmpty(),
        () -> broken + ", and " + SEEDS + " seeds do not notice, or otherwise: " + others);
  }
}
