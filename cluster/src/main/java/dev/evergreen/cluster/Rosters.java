package dev.evergreen.cluster;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;

/**
 * Says who belongs to the cluster. What is answered is not older than this node's part in what the
 * cluster had decided before the question: Pekko's own actor is asked, and whatever others know of
 * this node it has known before. Events of the same may still be on their way.
 */
final class Rosters extends AbstractActor {

  /** Asks who belongs to the cluster now. */
  record WhoBelongs(CompletableFuture<Roster> answer) {}

  private final Cluster cluster;
  private final Queue<WhoBelongs> open = new ArrayDeque<>();

  Rosters(Cluster cluster) {
    this.cluster = cluster;
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(WhoBelongs.class, this::ask)
        .match(CurrentClusterState.class, this::answer)
        .build();
  }

  private void ask(WhoBelongs question) {
    open.add(question);
    cluster.sendCurrentClusterState(getSelf());
  }

  /** Answers come in the order of the questions. */
  private void answer(CurrentClusterState state) {
    open.remove().answer().complete(Roster.of(state));
  }
}
