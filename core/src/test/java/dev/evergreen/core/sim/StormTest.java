package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Circles of reads under random seeds. */
final class StormTest {

  /** How many a test run tries. */
  static final long SEEDS = 130;

  @Test
  void everyMemberShowsWhatTheGraphSaysWhenItIsQuiet() throws InterruptedException {
    Simulation.STORM.check(SEEDS);
  }

  /** Faults of the engine, each of which one of the first thousands of seeds had shown. */
  @ParameterizedTest
  @ValueSource(longs = {4635, 4799, 4894, 15939})
  void whatAStormHasFoundIsMended(long seed) {
    assertNull(Verdict.of(Simulation.STORM, seed, false).orNull());
  }

  @Test
  void aSeedsTraceIsTheSameTwice() {
    for (long seed = 1; seed <= 3; seed++) {
      assertEquals(Simulation.STORM.hash(seed), Simulation.STORM.hash(seed), "seed " + seed);
    }
  }

  @Test
  void aMeshTellsCirclesFromWhatLeadsIntoThem() {
    var mesh =
        new Mesh(
            Map.of(
                "a", reads(1, Member.Way.ALL, "b", "leaf"),
                "b", reads(1, Member.Way.CATCHING, "c", "self"),
                "c", reads(1, Member.Way.ALL, "a"),
                "self", reads(1, Member.Way.ALL, "self"),
                "into", reads(1, Member.Way.ALL, "leaf", "self", "a"),
                "catches", reads(1, Member.Way.CATCHING, "leaf", "into"),
                "leaf", reads(1, Member.Way.ALL)));
    assertEquals("circle [a, b, c]", shown(mesh, "a"));
    assertEquals("circle [a, b, c]", shown(mesh, "b"));
    assertEquals("circle [self]", shown(mesh, "self"));
    assertEquals("circle [self]", shown(mesh, "into"));
    assertEquals(Integer.toString((1 + 1 + Member.CAUGHT) % Member.LIMIT), shown(mesh, "catches"));
    assertEquals("1", shown(mesh, "leaf"));
  }

  private static Member.Reads reads(int own, Member.Way way, String... others) {
    return new Member.Reads(own, List.of(others), way);
  }

  private static String shown(Mesh mesh, String key) {
    return String.valueOf(mesh.shown(Set.of(key)).get(key));
  }
}
