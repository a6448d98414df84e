package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
}
