package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which changes of a list of reads a verdict on a circle must know. */
final class EvidenceTest {

  private static final int LEAST = 3;

  /** Whose own list is evidence, too. */
  private static final SummaryKey MEMBER = key("member");

  private static final SummaryKey OTHER = key("other");

  private static SummaryKey key(String name) {
    return new SummaryKey(new GrainId("Link", name), "end()", new byte[0]);
  }

  private static Graph.Read read(SummaryKey of, int depth) {
    return new Graph.Read(of, depth, false);
  }

  private static Graph.Read underWay(SummaryKey of, int depth) {
    return new Graph.Read(of, depth, true);
  }

  private static Outcome list(Graph.Read... reads) {
    return new Outcome.Returned(List.of(reads));
  }

  /** How a verdict reads a list; one in which runs under way count, or else one without them. */
  private static Evidence evidence(boolean circle, boolean tentative) {
    return new Evidence(
        read -> read.depth() == 0 || read.depth() >= LEAST, tentative, circle, Set.of(MEMBER));
  }

  /** That a verdict need not know of a change. */
  private static void assertSame(
      boolean same, boolean circle, boolean tentative, Outcome before, Outcome now) {
    assertEquals(same, evidence(circle, tentative).same(before, now), before + " then " + now);
  }

  private static void assertSameInAll(boolean same, Outcome before, Outcome now) {
    for (boolean circle : new boolean[] {false, true}) {
      assertSame(same, circle, false, before, now);
      assertSame(same, circle, true, before, now);
    }
  }

  @Test
  void howDeepAMemberIsDoesNotMatterUnlessNothingIsKnownOfItAgain() {
    assertSameInAll(true, list(read(MEMBER, 0)), list(read(MEMBER, Graph.Read.ENDLESS)));
    assertSameInAll(true, list(read(MEMBER, Graph.Read.ENDLESS)), list(read(MEMBER, 7)));
    assertSameInAll(false, list(read(MEMBER, 7)), list(read(MEMBER, 0)));
  }

  @Test
  void whatIsNoEvidenceMayBecomeAMemberWhenItIsDeeper() {
    assertSameInAll(false, list(read(OTHER, 5)), list(read(OTHER, Graph.Read.ENDLESS)));
    assertSameInAll(false, list(read(OTHER, 0)), list(read(OTHER, 5)));
    assertSameInAll(true, list(read(OTHER, 5)), list(read(OTHER, 5)));
    assertSameInAll(true, list(read(OTHER, 1)), list(read(OTHER, 2)));
    assertSameInAll(false, list(read(OTHER, 2)), list(read(OTHER, 3)));
  }

  @Test
  void aReadMoreMayCloseACircleAndAReadLessMayOpenOne() {
    var one = list(read(MEMBER, 7));
    var two = list(read(MEMBER, 7), read(OTHER, 7));
    assertSameInAll(false, one, two);
    assertSame(false, true, false, two, one);
    assertSame(true, false, false, two, one);
    var notFollowed = list(read(MEMBER, 2));
    assertSame(false, true, false, one, notFollowed);
    assertSame(true, false, false, one, notFollowed);
    assertSameInAll(false, notFollowed, one);
  }

  @Test
  void whatIsReadNoMoreMayBeGoneWithItsList() {
    var none = list();
    assertSameInAll(false, list(read(MEMBER, 7)), none);
    assertSame(false, false, false, list(read(MEMBER, 2)), none);
    assertSame(false, false, false, list(read(MEMBER, 7)), list(underWay(MEMBER, 7)));
  }

  @Test
  void whatRunsUnderWayHaveReadCountsWhereItDidBefore() {
    assertSame(true, true, true, list(underWay(MEMBER, 0)), list(read(MEMBER, 7)));
    assertSame(false, true, true, list(read(MEMBER, 7)), list(underWay(MEMBER, 7)));
    assertSame(false, true, true, list(underWay(MEMBER, 0)), list());
    var one = list(read(MEMBER, 7));
    var another = list(read(MEMBER, 7), underWay(OTHER, 7));
    assertSame(true, true, false, one, another);
    assertSame(false, true, true, one, another);
    assertSame(false, true, false, another, list(read(MEMBER, 7), read(OTHER, 7)));
  }

  @Test
  void whatWasReadBeforeAndWhatIsReadNowAreNotTheSameTogether() {
    var before = list(underWay(MEMBER, 7), underWay(OTHER, 7));
    assertSame(false, true, true, before, list(read(MEMBER, 7), underWay(OTHER, 7)));
    assertSame(true, true, true, before, list(read(MEMBER, 7), read(OTHER, 7)));
  }

  @Test
  void aCircleIsToldByTheNamesOfItsMembersAndAFailureIsNoList() {
    var named = list(read(MEMBER, 7).by(key("one")));
    var other = list(read(MEMBER, 7).by(key("two")));
    assertSame(false, true, false, named, other);
    assertSame(true, false, false, named, other);
    var failure = Outcome.Threw.of(new CycleException("no list"));
    assertSameInAll(false, named, failure);
    assertSameInAll(false, failure, named);
  }
}
