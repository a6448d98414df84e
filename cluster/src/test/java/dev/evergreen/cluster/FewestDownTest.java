package dev.evergreen.cluster;

import static dev.evergreen.cluster.Member.HOSTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.Reachability;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.cluster.sbr.DowningStrategy;
import org.apache.pekko.cluster.sbr.DowningStrategy.Decision;
import org.apache.pekko.util.Version;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

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

  /** That c is missed by two as well says nothing. */
  @Test
  void whereTwoHaveTwoBadWiresEachNoThirdGoes() {
    assertEquals(Set.of("b", "d"), fewest("ab", "bc", "cd", "de"));
    assertEquals(Set.of("a", "d"), fewest("ba", "ae", "ed", "dc"));
  }

  private static String[] between(String one, String other) {
    List<String> pairs = new ArrayList<>();
    one.chars()
        .forEach(a -> other.chars().forEach(b -> pairs.add(Character.toString(a) + (char) b)));
    return pairs.toArray(String[]::new);
  }

  /** As Pekko's resolver asks: again and again, while somebody is missed. */
  private static final class Resolver {
    private final Map<String, Member> members = new TreeMap<>();
    private final FewestDown strategy;

    /**
     * @param all letters, the first one is that of this node
     */
    Resolver(String... all) {
      for (var name : all) {
        members.put(name, member(name));
      }
      strategy = new FewestDown("default", address(all[0]), 2);
      members.values().forEach(strategy::add);
    }

    private static Member member(String name) {
      var address = Address.apply("pekko", "test", name, 1);
      var roles = CollectionConverters.asScala(Set.of("dc-default", HOSTS)).<String>toSet();
      return new Member(
          new UniqueAddress(address, 1L), 1, MemberStatus.up(), roles, Version.Zero());
    }

    private UniqueAddress address(String name) {
      return known(name).uniqueAddress();
    }

    private Member known(String name) {
      return Objects.requireNonNull(members.get(name), name);
    }

    /** In each pair the first one misses the second, which others hear all the same. */
    void missing(String... pairs) {
      var reachability = Reachability.empty();
      members.values().forEach(strategy::addReachable);
      for (var pair : pairs) {
        var missed = pair.substring(1);
        reachability = reachability.unreachable(address(pair.substring(0, 1)), address(missed));
        strategy.addUnreachable(known(missed));
      }
      strategy.setReachability(reachability);
    }

    /** They know who misses whom. */
    void seenBy(String... names) {
      var seen = Stream.of(names).map(name -> address(name).address()).toList();
      strategy.setSeenBy(CollectionConverters.asScala(seen).<Address>toSet());
    }

    Set<String> goes() {
      return goes(strategy.decide());
    }

    Set<String> goes(Decision decision) {
      return CollectionConverters.asJava(strategy.nodesToDown(decision)).stream()
          .map(node -> node.address().host().get())
          .collect(Collectors.toSet());
    }
  }

  /** It may stand still by now, and so the other one may be well. */
  @Test
  void whomOnlyOneMissesGoesWhenThatOneWouldBeMissedItself() {
    var resolver = new Resolver("a", "b", "c");
    resolver.seenBy("a", "b", "c");
    resolver.missing("bc");
    assertEquals(List.of(Set.of(), Set.of()), List.of(resolver.goes(), resolver.goes()));
    resolver.missing("bc", "ca");
    assertEquals(Set.of("c"), resolver.goes(), "missed by all");
    resolver.missing("bc");
    assertEquals(Set.of(), resolver.goes());
    resolver.missing("bc"); // told again, and not changed
    assertEquals(Set.of(), resolver.goes());
    assertEquals(Set.of("c"), resolver.goes(), "a bad wire");
    resolver.missing("bc", "ab", "cb");
    assertEquals(Set.of("b"), resolver.goes(), "it stands still");
  }

  /** It may have stood still itself, and hear the other one in a moment. */
  @Test
  void whomThisNodeAloneMissesIsNotGivenUpAtOnce() {
    var resolver = new Resolver("a", "b", "c");
    resolver.seenBy("a");
    resolver.missing("ac");
    assertEquals(Set.of(), resolver.goes());
    resolver.missing("ac", "bc");
    assertEquals(Set.of("c"), resolver.goes());
  }

  @Test
  void whoIsToldThatOthersHaveGivenItUpGoesAtOnce() {
    var resolver = new Resolver("a", "b", "c");
    assertEquals(Set.of("a"), resolver.goes(DowningStrategy.DownSelfQuarantinedByRemote$.MODULE$));
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
