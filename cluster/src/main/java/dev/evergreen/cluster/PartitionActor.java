package dev.evergreen.cluster;

import dev.evergreen.core.EngineNode;
import dev.evergreen.core.spi.NodeId;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;

/**
 * One partition on the node that is to own it. Pekko's cluster sharding starts it on one node of
 * the cluster, and stops it before another node may have the partition. That node owns the
 * partition while this actor lives, from when those who had it and were given up can save nothing
 * any more ({@link Mandate#takeOver}). There is no actor per grain.
 */
final class PartitionActor extends AbstractActor {

  /** The name of the sharded type. */
  static final String TYPE = "partitions";

  /** The message by which sharding takes the partition from this node. */
  enum HandOff {
    BEGIN,
    DONE
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

  /**
   * @param owner this node
   */
  PartitionActor(EngineNode node, Partitions partitions, NodeId owner) {
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
        .matchEquals(HandOff.BEGIN, message -> handOff())
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

  /** Closes the partition, then lets go of it. Takes the grace that running turns have. */
  private void handOff() {
    partitions.lose(partition);
    var self = getSelf();
    Thread.ofVirtual()
        .name("evergreen-hand-off-" + partition)
        .start(
            () -> {
              try {
                release();
              } finally {
                self.tell(HandOff.DONE, self);
              }
            });
    getContext()
        .become(
            receiveBuilder()
                .matchEquals(HandOff.DONE, message -> getContext().stop(self))
                .matchAny(message -> {}) // whoever asks now asks again, and another owner answers
                .build());
  }

  private void release() {
    node.release(partition);
  }

  /** Also when the partition was lost without a hand-off, with the coordinator or the cluster. */
  @Override
  public void postStop() {
    if (partitions.lose(partition)) {
      Thread.ofVirtual().name("evergreen-lost-" + partition).start(this::release);
    }
  }
}
