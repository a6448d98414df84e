package dev.evergreen.cluster;

import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
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
 * <p>Who is given up must be missed by all who stay, or miss them. Else it may be healthy, and who
 * says that it misses it stands still by now, which nobody has noticed yet; or it is this node that
 * has stood still. So nobody is given up then before who misses whom has stayed the same for longer
 * than it takes to notice that.
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

  private static final scala.collection.immutable.Set<UniqueAddress> NOBODY =
      CollectionConverters.asScala(Set.<UniqueAddress>of()).toSet();

  private final KeepMajority majority;
  private final int enough;

  /** How often somebody was to go since who misses whom has changed. */
  private int looks;

  /**
   * @param enough so many looks take longer than to notice that a node stands still
   */
  FewestDown(String dataCenter, UniqueAddress self, int enough) {
    super(dataCenter, self);
    this.enough = enough;
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
    if (decision == DowningStrategy.DownSelfQuarantinedByRemote$.MODULE$
        || allMembersInDC().size() > ALL_WATCHED) {
      return theirs;
    }
    var pairs = missing();
    var gone = CollectionConverters.asJava(theirs);
    if (decision == DowningStrategy.DownIndirectlyConnected$.MODULE$) {
      var ours = fewest(pairs);
      gone = isMajorityWithout(ours) ? ours : gone;
    }
    return isCertain(gone, addresses(membersWithRole()), pairs) || ++looks > enough
        ? CollectionConverters.asScala(gone).<UniqueAddress>toSet()
        : NOBODY;
  }

  /**
   * Whether each of those who go and each of those who stay miss each other.
   *
   * @param voters those who go, as far as they decide, and who stays
   * @param pairs who miss each other
   */
  static <N> boolean isCertain(Set<N> gone, Collection<N> voters, Collection<Set<N>> pairs) {
    return voters.stream()
        .filter(voter -> !gone.contains(voter))
        .allMatch(stays -> gone.stream().allMatch(goes -> pairs.contains(Set.of(goes, stays))));
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

  private Map<UniqueAddress, Member> byAddress() {
    var members = new HashMap<UniqueAddress, Member>();
    CollectionConverters.asJava(members(true, false))
        .forEach(member -> members.put(member.uniqueAddress(), member));
    return members;
  }

  /** Who miss each other. */
  private Set<Set<UniqueAddress>> missing() {
    var members = byAddress().keySet();
    var missing = new HashSet<Set<UniqueAddress>>();
    for (var record : CollectionConverters.asJava(reachability().records())) {
      if (members.contains(record.observer()) && members.contains(record.subject())) {
        missing.add(Set.of(record.observer(), record.subject()));
      }
    }
    return missing;
  }

  private Set<UniqueAddress> fewest(Set<Set<UniqueAddress>> pairs) {
    return fewest(pairs, Comparator.comparing(byAddress()::get, DISPENSABLE));
  }

  private static boolean votes(Member member) {
    return member.hasRole(dev.evergreen.cluster.Member.HOSTS);
  }

  /**
   * The fewest without whom no two of the others miss each other.
   *
   * @param pairs who miss each other, of up to {@value #ALL_WATCHED} nodes
   * @param dispensable where some or others may go, those with the greatest do
   */
  static <N> Set<N> fewest(Collection<Set<N>> pairs, Comparator<N> dispensable) {
    var nodes = pairs.stream().flatMap(Set::stream).distinct().sorted(dispensable).toList();
    int all = (1 << nodes.size()) - 1;
    int best = all;
    for (int some = 0; some <= all; some++) {
      if (Integer.bitCount(some) <= Integer.bitCount(best)) {
        var gone = chosen(nodes, some);
        best = pairs.stream().noneMatch(pair -> Collections.disjoint(pair, gone)) ? some : best;
      }
    }
    return chosen(nodes, best);
  }

  private static <N> Set<N> chosen(List<N> nodes, int bits) {
    var chosen = new LinkedHashSet<N>();
    for (int i = 0; i < nodes.size(); i++) {
      if ((bits & 1 << i) != 0) {
        chosen.add(nodes.get(i));
      }
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
    var before = missing();
    super.setReachability(reachability);
    majority.setReachability(reachability);
    looks = missing().equals(before) ? looks : 0; // Pekko repeats what has not changed
  }

  @Override
  public void setSeenBy(scala.collection.immutable.Set<Address> seenBy) {
    super.setSeenBy(seenBy);
    majority.setSeenBy(seenBy);
  }
}
