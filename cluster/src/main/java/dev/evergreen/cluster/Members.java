package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.ClusterEvent.MemberEvent;
import org.apache.pekko.cluster.ClusterEvent.ReachabilityChanged;
import org.apache.pekko.cluster.ClusterEvent.ReachableMember;
import org.apache.pekko.cluster.ClusterEvent.UnreachableMember;
import org.apache.pekko.cluster.MemberStatus;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Follows who belongs to the cluster, and tells what that means for links and results.
 *
 * <p>Pekko tells of each death by itself. All of which it knows at a moment are told on as one, so
 * that what a node has is gone over once: after the first this actor asks who belongs to the
 * cluster, and Pekko answers when it has told what it has decided until then.
 */
final class Members extends AbstractActor {

  /** What the others' coming and going means. Called in the order of the events. */
  interface Listener {
    /** What is known of the members has changed; called before what it means. */
    void changed();

    /** A node belongs to the cluster. Repeated whenever its part in it changes. */
    void belongs(Member member);

    /** A node is not heard of and may come back. */
    void unreachable(Member member);

    /**
     * Who misses whom has changed.
     *
     * @param missedBy for each that is missed those who do
     */
    void missed(Map<NodeId, Set<NodeId>> missedBy);

    /** The others have given a node up: it decides nothing any more. Told at once. */
    void judged(NodeId node);

    /** What was {@linkplain #judged judged} in one go is to be given up. They are gone later. */
    void givenUp(Set<NodeId> nodes);

    /** Nodes are gone for good, as all have seen; others may come to their addresses. */
    void gone(Set<NodeId> nodes);

    /** This node itself was given up. */
    void downed();
  }

  private final Cluster cluster;
  private final Map<NodeId, Member> known;
  private final Listener listener;

  /** Those of which the listener has not been told yet. */
  private final Set<NodeId> givenUp = new LinkedHashSet<>();

  private final Set<NodeId> gone = new LinkedHashSet<>();

  /**
   * @param known kept up to date by this actor, read by anybody
   */
  Members(Cluster cluster, ConcurrentHashMap<NodeId, Member> known, Listener listener) {
    this.cluster = cluster;
    this.known = known;
    this.listener = listener;
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
        .match(MemberEvent.class, event -> changed(event.member()))
        .match(CurrentClusterState.class, state -> tellEnds())
        .match(ReachabilityChanged.class, this::missed)
        .match(UnreachableMember.class, event -> reachable(event.member(), false))
        .match(ReachableMember.class, event -> reachable(event.member(), true))
        .build();
  }

  private void changed(org.apache.pekko.cluster.Member member) {
    var id = Member.idOf(member);
    var status = member.status();
    boolean isDown = status.equals(MemberStatus.down());
    if (!isDown && !status.equals(MemberStatus.removed())) {
      var before = known.get(id);
      tell(Member.of(member, before == null || before.reachable()), listener::belongs);
      return;
    }
    known.remove(id);
    listener.changed();
    if (!member.uniqueAddress().equals(cluster.selfUniqueAddress())) {
      if (isDown) {
        listener.judged(id);
      }
      end(isDown ? givenUp : gone, id);
    } else if (isDown) {
      listener.downed();
    }
  }

  private void end(Set<NodeId> how, NodeId id) {
    if (givenUp.isEmpty() && gone.isEmpty()) {
      cluster.sendCurrentClusterState(getSelf());
    }
    how.add(id);
  }

  private void tellEnds() {
    if (givenUp.isEmpty() && gone.isEmpty()) {
      return; // another event was told after them
    }
    tell(givenUp, listener::givenUp);
    tell(gone, listener::gone);
  }

  private static void tell(Set<NodeId> ended, Consumer<Set<NodeId>> what) {
    if (!ended.isEmpty()) {
      var all = Set.copyOf(ended);
      ended.clear();
      what.accept(all);
    }
  }

  private void missed(ReachabilityChanged event) {
    var missedBy = new HashMap<NodeId, Set<NodeId>>();
    for (var record : CollectionConverters.asJava(event.reachability().records())) {
      missedBy
          .computeIfAbsent(Member.idOf(record.subject()), missed -> new HashSet<>())
          .add(Member.idOf(record.observer()));
    }
    listener.missed(missedBy);
  }

  private void reachable(org.apache.pekko.cluster.Member member, boolean reachable) {
    if (known.containsKey(Member.idOf(member))) {
      tell(Member.of(member, reachable), reachable ? listener::belongs : listener::unreachable);
    }
  }

  private void tell(Member now, Consumer<Member> what) {
    tellEnds();
    known.put(now.id(), now);
    listener.changed();
    if (!now.id().equals(Member.idOf(cluster.selfMember()))) {
      what.accept(now);
    }
  }
}
