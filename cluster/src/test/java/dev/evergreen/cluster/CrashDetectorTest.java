package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.NodeId;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class CrashDetectorTest {

  @Test
  void ofThePartsOfASplitClusterAtMostOneActsOnEvidence() {
    for (int members = 3; members <= 12; members++) {
      for (int here = 1; here < members; here++) {
        int parts = 0;
        parts += CrashDetector.mayJudge(here - 1, members) ? 1 : 0;
        parts += CrashDetector.mayJudge(members - here - 1, members) ? 1 : 0;
        assertEquals(2 * here == members ? 0 : 1, parts, here + " of " + members);
      }
    }
  }

  @Test
  void theRestOfTheClusterActsOnTheDeathOfOne() {
    for (int members = 2; members <= 12; members++) {
      assertTrue(CrashDetector.mayJudge(members - 2, members), members + " nodes");
    }
  }

  /** Of a, b and c. */
  @Test
  void whoIsStillHeardBySomebodyIsNotDead() {
    var a = new NodeId("a:1", 1);
    var b = new NodeId("b:1", 1);
    var c = new NodeId("c:1", 1);
    assertFalse(CrashDetector.allMiss(c, List.of(b), Map.of(c, Set.of(a)), 3), "a bad wire");
    assertFalse(CrashDetector.allMiss(c, List.of(b), Map.of(a, Set.of(b, c)), 3));
    assertTrue(CrashDetector.allMiss(c, List.of(b), Map.of(c, Set.of(a, b)), 3));
    assertTrue(CrashDetector.allMiss(c, List.of(), Map.of(), 2), "of two");
    assertTrue(CrashDetector.allMiss(c, List.of(b), Map.of(), 11), "b may not be one who watches");
  }
}
