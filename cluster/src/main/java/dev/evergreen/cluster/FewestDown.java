package dev.evergreen.cluster;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.Reachability;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.cluster.sbr.DowningStrategy;
import org.apache.pekko.cluster.sbr.KeepMajority;
import scala.Option;
import scala.collection.immutable.SortedSet;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Decides by majority who is given up, as Pekko's strategy does, but for one case: where nodes that
 * miss each other are both heard by others.
 *
 * <p>Pekko gives all of these up. Of three nodes that leaves one, which is no majority, so that one
 * bad wire ends them all. And a node that hears nobody, but is heard, tells the others whom it
 * misses before they miss it. Here so few are given up that no two of the others miss each other,
 * if these are a majority. That can be known only while each node watches all others, which they do
 * in clusters of up to {@value #ALL_WATCHED}; in larger ones Pekko's rule takes a smaller part.
 *
 * <p>With the same members no two parts can both be a majority; where nodes know of different ones,
 * the majority must hold whichever of them count. What is decided must still be agreed to by those
 * who stay ({@link Tenure}). Used by one actor.
 */
final class FewestDown extends DowningStrategy {

  /** Pekko has each node watched by nine others. */
  static final int ALL_WATCHED = 10;

  /** Who is dispensable first: guests, then hosts, those with the highest addresses before. */
  private static final Comparator<Member> DISPENSABLE =
      Comparator.comparing((Member member) -> !votes(member))
          .thenComparing(
              member -> dev.evergreen.cluster.Member.idOf(member),
              dev.evergreen.cluster.Member.NODES_BY_ADDRESS);

  private final KeepMajority majority;

  FewestDown(String dataCenter, UniqueAddress self) {
    super(dataCenter, self);
    majority = new KeepMajority(dataCenter, Option.apply(dev.evergreen.cluster.Member.HOSTS), self);
  }

  @Override
  public Option<String> role() {
    return majority.role();
  }

  @Override
  public Decision decide() {
    return majority.decide();
  }

  @Override
  public scala.collection.immutable.Set<UniqueAddress> nodesToDown(Decision decision) {
    var theirs = majority.nodesToDown(decision);
    if (decision != DowningStrategy.DownIndirectlyConnected$.MODULE$
        || allMembersInDC().size() > ALL_WATCHED) {
      return theirs;
    }
    var ours = fewest();
    return isMajorityWithout(ours)
        ? CollectionConverters.asScala(ours).<UniqueAddress>toSet()
        : theirs;
  }

  /**
   * Whether those who stay are a majority, also if the others count some who are joining and do not
   * count those of us who are leaving: one side may know of a change that the other does not.
   */
  private boolean isMajorityWithout(Set<UniqueAddress> gone) {
    var voters = addresses(membersWithRole());
    return outweigh(voters, voters, gone)
        && outweigh(
            addresses(membersWithRole(false, true)), addresses(membersWithRole(true, false)), gone);
  }

  private static List<UniqueAddress> addresses(SortedSet<Member> members) {
    return CollectionConverters.asJava(members).stream().map(Member::uniqueAddress).toList();
  }

  /**
   * Whether those of some who stay are more than those of others who go, or as many with the first
   * of both: then they are a majority whether only the former count, or all the latter, too.
   *
   * @param theirs {@code ours} and others, in the same order
   */
  static <N> boolean outweigh(List<N> ours, List<N> theirs, Set<N> gone) {
    long rest = ours.stream().filter(node -> !gone.contains(node)).count();
    long others = theirs.stream().filter(gone::contains).count();
    var decisive = theirs.stream().filter(node -> gone.contains(node) || ours.contains(node));
    return rest > others
        || (rest == others && rest > 0 && decisive.limit(1).noneMatch(gone::contains));
  }

  private Set<UniqueAddress> fewest() {
    var members = new HashMap<UniqueAddress, Member>();
    CollectionConverters.asJava(members(true, false))
        .forEach(member -> members.put(member.uniqueAddress(), member));
    var missing = new HashSet<Set<UniqueAddress>>();
    for (var record : CollectionConverters.asJava(reachability().records())) {
      if (members.containsKey(record.observer()) && members.containsKey(record.subject())) {
        missing.add(Set.of(record.observer(), record.subject()));
      }
    }
    return fewest(missing, Comparator.comparing(members::get, DISPENSABLE));
  }

  private static boolean votes(Member member) {
    return member.hasRole(dev.evergreen.cluster.Member.HOSTS);
  }

  /**
   * Those without whom no two of the others miss each other: who misses, or is missed by, the most
   * first.
   *
   * @param pairs who miss each other
   * @param dispensable of those with equally many the greatest goes
   */
  static <N> Set<N> fewest(Collection<Set<N>> pairs, Comparator<N> dispensable) {
    var left = new HashSet<>(pairs);
    var chosen = new LinkedHashSet<N>();
    while (!left.isEmpty()) {
      var counts = new HashMap<N, Integer>();
      left.forEach(pair -> pair.forEach(node -> counts.merge(node, 1, Integer::sum)));
      var worst =
          counts.keySet().stream()
              .max(Comparator.<N, Integer>comparing(counts::get).thenComparing(dispensable))
              .orElseThrow();
      chosen.add(worst);
      left.removeIf(pair -> pair.contains(worst));
    }
    return chosen;
  }

  // What Pekko's strategy must know, too

  @Override
  public void add(Member member) {
    super.add(member);
    majority.add(member);
  }

  @Override
  public void remove(Member member) {
    super.remove(member);
    majority.remove(member);
  }

  @Override
  public void addReachable(Member member) {
    super.addReachable(member);
    majority.addReachable(member);
  }

  @Override
  public void addUnreachable(Member member) {
    super.addUnreachable(member);
    majority.addUnreachable(member);
  }

  @Override
  public void setReachability(Reachability reachability) {
    super.setReachability(reachability);
    majority.setReachability(reachability);
  }

  @Override
  public void setSeenBy(scala.collection.immutable.Set<Address> seenBy) {
    super.setSeenBy(seenBy);
    majority.setSeenBy(seenBy);
  }
}
