package dev.evergreen.cluster;

import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.NodeId;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.Props;

/**
 * One partition on the node that is to own it. Pekko's cluster sharding starts it on one node of
 * the cluster, and another node may have the partition only when this actor has ended. That node
 * owns the partition while this actor lives, from when those who had it and were given up can save
 * nothing any more ({@link Mandate#takeOver}). There is no actor per grain.
 */
final class PartitionActor extends AbstractActor {

  /** The name of the sharded type. */
  static final String TYPE = "partitions";

  /** The message by which sharding takes the partition from this node. */
  enum HandOff {
    BEGIN
  }

  /** The message by which this node owns the partition, as it may by now. */
  private enum TakeOver {
    NOW
  }

  private final int partition = Integer.parseInt(getSelf().path().name());
  private final EngineNode node;
  private final Partitions partitions;
  private final NodeId owner;

  /** Who asked before the partition was owned. */
  private final Set<ActorRef> asking = new LinkedHashSet<>();

  /** The name of the dispatcher, as the end of such an actor blocks its thread. */
  private static final String DISPATCHER = "evergreen.cluster.partitions-dispatcher";

  /**
   * Makes such actors, whose names are the partitions' numbers.
   *
   * @param owner this node
   */
  static Props props(EngineNode node, Partitions partitions, NodeId owner) {
    return Props.create(PartitionActor.class, () -> new PartitionActor(node, partitions, owner))
        .withDispatcher(DISPATCHER);
  }

  private PartitionActor(EngineNode node, Partitions partitions, NodeId owner) {
    this.node = node;
    this.partitions = partitions;
    this.owner = owner;
  }

  /** Asks whether it may be owned by now, on another thread, as that may take a while. */
  @Override
  public void preStart() {
    var self = getSelf();
    Thread.ofVirtual()
        .name("evergreen-take-over-" + partition)
        .start(
            () -> {
              if (partitions.takeOver()) {
                self.tell(TakeOver.NOW, self);
              }
            });
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(Integer.class, question -> asked())
        .matchEquals(TakeOver.NOW, message -> takeOver())
        .matchEquals(HandOff.BEGIN, message -> getContext().stop(getSelf()))
        .build();
  }

  /** Who is told too early would call in vain. */
  private void asked() {
    if (partitions.isMine(partition)) {
      answer(getSender());
    } else {
      asking.add(getSender());
    }
  }

  private void takeOver() {
    partitions.gain(partition);
    asking.forEach(this::answer);
    asking.clear();
  }

  private void answer(ActorRef who) {
    who.tell(Owners.answer(owner, partition), getSelf());
  }

  /**
   * Closes the partition, then lets go of it, also when it is lost without a hand-off, with the
   * coordinator or the cluster. That takes the grace that running turns have, and longer while one
   * of them saves. Sharding stops this actor itself when that lasts too long for it; but it has not
   * ended before this returns, so nobody loads what is still being saved.
   */
  @Override
  public void postStop() {
    if (partitions.lose(partition)) {
      node.release(partition);
    }
  }
}
