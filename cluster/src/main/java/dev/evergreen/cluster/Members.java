package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.ClusterEvent.MemberEvent;
import org.apache.pekko.cluster.ClusterEvent.ReachableMember;
import org.apache.pekko.cluster.ClusterEvent.UnreachableMember;
import org.apache.pekko.cluster.MemberStatus;

/** Follows who belongs to the cluster, and tells what that means for links and results. */
final class Members extends AbstractActor {

  /** What the others' coming and going means. Called in the order of the events. */
  interface Listener {
    /** What is known of the members has changed; called before what it means. */
    void changed();

    /** A node belongs to the cluster. Repeated whenever its part in it changes. */
    void belongs(Member member);

    /** A node is not heard of and may come back. */
    void unreachable(Member member);

    /** The others have given a node up. It is gone later. */
    void givenUp(NodeId node);

    /** A node is gone for good, as all have seen; another one may come to its address. */
    void gone(NodeId node);

    /** This node itself was given up. */
    void downed();
  }

  /**
   * Asks who belongs to the cluster now. What is answered is not older than this node's part in
   * what the cluster has decided before the question, while events may still be on their way.
   */
  record WhoBelongs(CompletableFuture<Roster> answer) {}

  private final Cluster cluster;
  private final Map<NodeId, Member> known;
  private final Listener listener;
  private final Queue<WhoBelongs> asked = new ArrayDeque<>();

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
        .match(WhoBelongs.class, this::ask)
        .match(CurrentClusterState.class, this::answer)
        .match(UnreachableMember.class, event -> reachable(event.member(), false))
        .match(ReachableMember.class, event -> reachable(event.member(), true))
        .build();
  }

  private void ask(WhoBelongs question) {
    asked.add(question);
    cluster.sendCurrentClusterState(getSelf());
  }

  /** Answers come in the order of the questions. */
  private void answer(CurrentClusterState state) {
    asked.remove().answer().complete(Roster.of(state));
  }

  private void changed(org.apache.pekko.cluster.Member member) {
    var id = Member.idOf(member);
    var status = member.status();
    if (status.equals(MemberStatus.down()) || status.equals(MemberStatus.removed())) {
      known.remove(id);
      listener.changed();
      boolean isDown = status.equals(MemberStatus.down());
      if (member.uniqueAddress().equals(cluster.selfUniqueAddress())) {
        if (isDown) {
          listener.downed();
        }
      } else if (isDown) {
        listener.givenUp(id);
      } else {
        listener.gone(id);
      }
    } else {
      var before = known.get(id);
      tell(Member.of(member, before == null || before.reachable()), listener::belongs);
    }
  }

  private void reachable(org.apache.pekko.cluster.Member member, boolean reachable) {
    if (known.containsKey(Member.idOf(member))) {
      tell(Member.of(member, reachable), reachable ? listener::belongs : listener::unreachable);
    }
  }

  private void tell(Member now, Consumer<Member> what) {
    known.put(now.id(), now);
    listener.changed();
    if (!now.id().equals(Member.idOf(cluster.selfMember()))) {
      what.accept(now);
    }
  }
}
