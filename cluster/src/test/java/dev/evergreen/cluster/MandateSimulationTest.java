package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
 * all faults have ended: in the simulation of a {@link MandateWorld}; and the fence that is assumed
 * there keeps what it promises, in that of a {@link FenceWorld}. They must find broken versions, by
 * up to eight times as many seeds. Options, as system properties: {@code evergreen.sim.seeds} is
 * their number, {@code evergreen.sim.seed} the only one.
 */
final class MandateSimulationTest {

  private static final long SEEDS = Long.getLong("evergreen.sim.seeds", 200);

  /** For broken versions, some of which seldom fail. */
  private static final long MOST = 8 * SEEDS;

  private static final long ONLY = Long.getLong("evergreen.sim.seed", 0);

  @ParameterizedTest
  @EnumSource(Kind.class)
  void nothingAcknowledgedIsMissedAndSomebodyGoesOn(Kind kind) throws InterruptedException {
    var run = new MandateRun();
    long first = Math.max(1, ONLY);
    long count = ONLY > 0 ? 1 : Math.max(1, SEEDS / kind.dearness());
    var failures = Seeds.<String>failures(first, count, 1, seed -> run.failure(kind, seed));
    assertEquals(List.of(), failures);
    // Else it says little that somebody goes on. So many faults end two thirds of the clusters.
    assertTrue(
        count < 100 || run.deserted() < count * 4 / 5,
        () -> "in %d of %d nobody is left".formatted(run.deserted(), count));
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
  private static final String SAVED = "is saved, but its node was gone";
  private static final String NOTHING = "nothing goes on";

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
        // It does not wait for the saves that are under way.
        new Broken("FencedStates", "awaitSavesUnderWay();", "", Kind.FENCE, SAVED),
        // Who was given up takes nodes away that it has not marked, nor seen marked.
        new Broken(
            "FencedStates",
            "if (may || rows.get(other) == Row.GIVEN_UP) {",
            "if (true) {",
            Kind.FENCE,
            SAVED),
        // Whoever is marked is believed to save no more.
        new Broken(
            "FencedStates",
            "rows.get(one) != Row.GONE",
            "rows.get(one) == Row.ALIVE",
            Kind.FENCE,
            SAVED),
        // A node that is gone joins late.
        new Broken(
            "FencedStates",
            "rows.replace(other, Row.GIVEN_UP, Row.GONE);",
            "rows.remove(other, Row.GIVEN_UP);",
            Kind.FENCE,
            SAVED),
        // Who was given up gives others up.
        new Broken(
            "FencedStates",
            "boolean may = rows.get(by) == Row.ALIVE;",
            "boolean may = true;",
            Kind.FENCE,
            "all are given up"),
        // Who has looked looks for ever.
        new Broken("FencedMandate", "looking = false;", "", Kind.FENCED, NOTHING),
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
        // Of two nodes one is believed to be a majority, whom the other has given up.
        new Broken(
            "Roster",
            "&& (voters.size() > 2 || voters.stream().allMatch(some))",
            "",
            Kind.NEWCOMER_FENCED,
            MISSED),
        // Nobody needs to have answered what is acknowledged.
        new Broken(
            "Tenure",
            "return admitted && haveVotedSince(voters, nanos) && haveVotedSince(quorum, nanos);",
            "return !over;",
            Kind.PINGED,
            MISSED),
        // Those need not have agreed who decided before.
        new Broken(
            "Tenure",
            "return admitted && haveVotedSince(voters, nanos) && haveVotedSince(quorum, nanos);",
            "return admitted && haveVotedSince(voters, nanos);",
            Kind.PINGED,
            MISSED),
        // There is no margin.
        new Broken("PingedMandate", "left > 0;", "left > Long.MAX_VALUE - 1;", Kind.PINGED, MISSED),
        // Whoever is left decides.
        new Broken("Survivors", "if (tenure.isLargerPart()) {", "if (true) {", Kind.PINGED, MISSED),
        // Evidence convinces also who is cut off.
        new Broken(
            "CrashDetector",
            "return members <= 2 || 2 * (connected + 1) > members;",
            "return true;",
            Kind.FEWER_REFUSED_FENCED,
            "healthy ones have ended"),
        // One wire is evidence enough.
        new Broken(
            "CrashDetector",
            "return members > FewestDown.ALL_WATCHED",
            "return true",
            Kind.FEWER_REFUSED_FENCED,
            "healthy ones have ended"),
        // Who was given up a moment ago counts no more.
        new Broken(
            "LinkEvidence", " + tenure.givenUpCount();", ";", Kind.PINGED_WITH_EVIDENCE, MISSED),
        // Whoever is let in believes who lets it in.
        new Broken("Tenure", "admitted = agreed.isEmpty();", "", Kind.STRANGER_PINGED, MISSED),
        new Broken(
            "Tenure",
            "admitted = agreed.isEmpty();",
            "",
            Kind.STRANGER_FENCED,
            "healthy ones have ended"),
        // Nobody is left who admits it, and it waits.
        new Broken(
            "Survivors",
            "if (!tenure.mayBeAdmitted() && !node.isOver()) {",
            "if (tenure.isOver() && !node.isOver()) {",
            Kind.RARE_FENCED,
            NOTHING),
        // Whoever is missed by one goes at once.
        new Broken(
            "FewestDown",
            ".filter(voter -> !gone.contains(voter))",
            ".filter(voter -> false)",
            Kind.FEWER_STRUCK_FENCED,
            "healthy ones have ended"),
        // Nobody decides.
        new Broken(
            "Tenure",
            "return !agreed.contains(self) || isMajority(voters::contains, agreed);",
            "return false;",
            Kind.FEWER_STRUCK_FENCED,
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
        Seeds.<String>failures(1, MOST, 1, asExpected).isEmpty(),
        () -> broken + ", and " + MOST + " seeds do not notice, or otherwise: " + others);
  }
}
