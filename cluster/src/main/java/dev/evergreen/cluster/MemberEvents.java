package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.ClusterEvent.MemberEvent;
import org.apache.pekko.cluster.ClusterEvent.ReachabilityChanged;
import org.apache.pekko.cluster.ClusterEvent.ReachableMember;
import org.apache.pekko.cluster.ClusterEvent.UnreachableMember;
import scala.jdk.javaapi.CollectionConverters;

/** Tells {@link Members} what Pekko tells. */
final class MemberEvents extends AbstractActor {

  private final Cluster cluster;
  private final Members members;

  /** As {@link Members} takes them. */
  MemberEvents(
      Cluster cluster, ConcurrentHashMap<NodeId, Member> known, Members.Listener listener) {
    this.cluster = cluster;
    this.members =
        new Members(
            Member.idOf(cluster.selfUniqueAddress()),
            known,
            listener,
            () -> cluster.sendCurrentClusterState(getSelf()));
  }

  @Override
  public void preStart() {
    cluster.subscribe(
        getSelf(),
        ClusterEvent.initialStateAsEvents(),
        MemberEvent.class,
        ReachabilityChanged.class,
        UnreachableMember.class,
        ReachableMember.class);
  }

  @Override
  public void postStop() {
    cluster.unsubscribe(getSelf());
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(MemberEvent.class, event -> members.changed(Member.of(event.member(), true)))
        .match(CurrentClusterState.class, state -> members.toldAll())
        .match(ReachabilityChanged.class, this::missed)
        .match(UnreachableMember.class, event -> reachable(event.member(), false))
        .match(ReachableMember.class, event -> reachable(event.member(), true))
        .build();
  }

  private void missed(ReachabilityChanged event) {
    var missedBy = new HashMap<NodeId, Set<NodeId>>();
    for (var record : CollectionConverters.asJava(event.reachability().records())) {
      missedBy
          .computeIfAbsent(Member.idOf(record.subject()), missed -> new HashSet<>())
          .add(Member.idOf(record.observer()));
    }
    members.missed(missedBy);
  }

  private void reachable(org.apache.pekko.cluster.Member member, boolean reachable) {
    members.reachable(Member.of(member, reachable));
  }
}
