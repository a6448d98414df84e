package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Who is given up where nodes that miss each other are heard by others. */
final class FewestDownTest {

  /** Nodes are letters; each pair misses each other. The later letter is the more dispensable. */
  private static Set<String> fewest(String... pairs) {
    return FewestDown.fewest(
        Stream.of(pairs).map(pair -> Set.of(pair.substring(0, 1), pair.substring(1))).toList(),
        Comparator.naturalOrder());
  }

  @Test
  void ofTwoThatMissEachOtherTheMoreDispensableGoes() {
    assertEquals(Set.of("c"), fewest("ac"));
    assertEquals(Set.of("c"), fewest("ca"));
    assertEquals(Set.of("b", "d"), fewest("ab", "cd"));
  }

  /** It says that it misses b, and is missed by b and c. */
  @Test
  void whoHearsNobodyGoesAlone() {
    assertEquals(Set.of("a"), fewest("ab", "ba", "ca"));
    assertEquals(Set.of("a"), fewest("ab", "ac", "ad", "ae"));
  }

  @Test
  void ofTwoPartsTheSmallerOneGoes() {
    assertEquals(Set.of("a", "b"), fewest(between("ab", "cde")));
    assertEquals(Set.of("d", "e"), fewest(between("abc", "de")));
    assertEquals(Set.of("c", "d"), fewest(between("ab", "cd")));
  }

  private static String[] between(String one, String other) {
    List<String> pairs = new ArrayList<>();
    one.chars()
        .forEach(a -> other.chars().forEach(b -> pairs.add(Character.toString(a) + (char) b)));
    return pairs.toArray(String[]::new);
  }

  @Test
  void nobodyGoesIfNobodyIsMissed() {
    assertEquals(Set.of(), fewest());
  }

  @Test
  void thoseWhoStayMustOutweighThoseWhoGo() {
    var all = List.of("a", "b", "c", "d");
    assertTrue(FewestDown.outweigh(all, all, Set.of("d")));
    assertTrue(FewestDown.outweigh(all, all, Set.of("c", "d")), "half with the first");
    assertFalse(FewestDown.outweigh(all, all, Set.of("a", "b")), "half without");
    assertFalse(FewestDown.outweigh(all, all, Set.of("b", "c", "d")));
    assertFalse(FewestDown.outweigh(List.<String>of(), List.of(), Set.of()));
  }

  /** The other part may know that one more belongs, or that one of this part does not. */
  @Test
  void whoIsJustJoiningCountsAgainstThoseWhoStay() {
    var up = List.of("a", "b", "c", "d", "e");
    var gone = Set.of("a", "b", "f");
    assertTrue(FewestDown.outweigh(up, up, gone));
    assertFalse(FewestDown.outweigh(up, List.of("a", "b", "c", "d", "e", "f"), gone));
    assertFalse(FewestDown.outweigh(List.of("a", "b", "c", "d"), up, gone));
  }

  /** The other part may count it, and then that part is the half with the first. */
  @Test
  void theHalfIsNoMajorityIfTheFirstOfThoseWhoJustJoinIsInTheOther() {
    var up = List.of("b", "c", "d");
    var possible = List.of("a", "b", "c", "d");
    assertFalse(FewestDown.outweigh(up, possible, Set.of("a", "d")));
    assertTrue(FewestDown.outweigh(up, List.of("b", "c", "d", "e"), Set.of("d", "e")));
  }
}
