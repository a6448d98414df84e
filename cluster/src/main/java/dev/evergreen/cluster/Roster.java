package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;

/**
 * Who belongs to the cluster at one moment, as one node knows it.
 *
 * @param members all who are not given up
 * @param voters those of them who decide, whatever others know by now, by their addresses
 * @param possible those of them who decide as far as some may know: who joins or leaves, too
 */
record Roster(Set<NodeId> members, List<NodeId> voters, List<NodeId> possible) {

  static Roster of(CurrentClusterState state) {
    return of(
        StreamSupport.stream(state.getMembers().spliterator(), false)
            .map(member -> Member.of(member, true)));
  }

  /** Of all that are known, those included that are given up. */
  static Roster of(Stream<Member> known) {
    var members =
        known
            .filter(member -> !member.isDown() && !member.isRemoved())
            .sorted(Member.BY_ADDRESS)
            .toList();
    return new Roster(
        members.stream().map(Member::id).collect(Collectors.toSet()),
        only(members, member -> member.hosts() && member.isUp()),
        only(members, member -> member.hosts() && !member.isExiting()));
  }

  private static List<NodeId> only(List<Member> members, Predicate<Member> which) {
    return members.stream().filter(which).map(Member::id).toList();
  }

  /**
   * Whether no others can have given one of these up: some of the voters are more than all others
   * who may decide, or as many with the first, whichever members these count. Of two voters each
   * may give up the other by itself, so it takes both.
   */
  boolean decide(Predicate<NodeId> some) {
    var others = possible.stream().filter(some.negate()).collect(Collectors.toSet());
    return FewestDown.outweigh(voters, possible, others)
        && (voters.size() > 2 || voters.stream().allMatch(some));
  }
}
