package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.MemberStatus;

/**
 * Who belongs to the cluster at one moment, as one node knows it.
 *
 * @param members all who are not given up
 * @param voters those of them who decide, by their addresses
 */
record Roster(Set<NodeId> members, List<NodeId> voters) {

  static Roster of(CurrentClusterState state) {
    var members =
        StreamSupport.stream(state.getMembers().spliterator(), false)
            .filter(member -> !isGivenUp(member.status()))
            .map(member -> Member.of(member, true))
            .toList();
    return new Roster(
        members.stream().map(Member::id).collect(Collectors.toSet()),
        members.stream().filter(Member::votes).sorted(Member.BY_ADDRESS).map(Member::id).toList());
  }

  private static boolean isGivenUp(MemberStatus status) {
    return status.equals(MemberStatus.down()) || status.equals(MemberStatus.removed());
  }
}
