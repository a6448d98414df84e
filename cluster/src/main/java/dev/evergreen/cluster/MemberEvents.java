package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.pekko.Done;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.ClusterEvent.MemberEvent;
import org.apache.pekko.cluster.ClusterEvent.ReachabilityChanged;
import org.apache.pekko.cluster.ClusterEvent.ReachableMember;
import org.apache.pekko.cluster.ClusterEvent.UnreachableMember;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tells {@link Members} what Pekko tells. If it fails at that, whatever it was told then is lost,
 * and so may be who was given up: it ends, and says so.
 */
final class MemberEvents extends AbstractActor {

  /** Asks to be told when all was told that Pekko has decided by now. */
  record AllTold(CompletableFuture<Done> answer) {}

  private final Cluster cluster;
  private final Members members;
  private final Consumer<Throwable> whenFailed;

  /** Those who asked, in the order in which Pekko answers. */
  private final Queue<CompletableFuture<Done>> asking = new ArrayDeque<>();

  /**
   * As {@link Members} takes them.
   *
   * @param whenFailed what to do when nothing more is told, although the node goes on
   */
  MemberEvents(
      Cluster cluster,
      ConcurrentHashMap<NodeId, Member> known,
      Members.Listener listener,
      Consumer<Throwable> whenFailed) {
    this.cluster = cluster;
    this.whenFailed = whenFailed;
    this.members =
        new Members(
            Member.idOf(cluster.selfUniqueAddress()),
            known,
            listener,
            () -> ask(new CompletableFuture<>()));
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
    return receiveBuilder().matchAny(this::receive).build();
  }

  /** Fails for good, instead of going on as if it knew all. */
  private void receive(Object message) {
    try {
      tell(message);
    } catch (Throwable e) { // an Error, too, which Pekko would not ask this actor about
      getContext().stop(getSelf());
      whenFailed.accept(e);
    }
  }

  private void tell(Object message) {
    switch (message) {
      case MemberEvent event -> members.changed(Member.of(event.member(), true));
      case CurrentClusterState _ -> toldAll();
      case AllTold question -> ask(question.answer());
      case ReachabilityChanged event -> missed(event);
      case UnreachableMember event -> reachable(event.member(), false);
      case ReachableMember event -> reachable(event.member(), true);
      default -> unhandled(message);
    }
  }

  private void ask(CompletableFuture<Done> answer) {
    asking.add(answer);
    cluster.sendCurrentClusterState(getSelf());
  }

  private void toldAll() {
    members.toldAll();
    asking.remove().complete(Done.getInstance());
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
