package dev.evergreen.cluster;

import dev.evergreen.core.EngineNode;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import org.apache.pekko.actor.AbstractActor;

/**
 * One partition on the node that owns it: the node owns the partition while this actor lives.
 * Pekko's cluster sharding starts it on one node of the cluster, and stops it before another node
 * may have the partition. There is no actor per grain.
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

  /**
   * @param owner this node
   */
  PartitionActor(EngineNode node, Partitions partitions, NodeId owner) {
    this.node = node;
    this.partitions = partitions;
    this.owner = owner;
  }

  @Override
  public void preStart() {
    long wait = partitions.nanosUntilTakeover();
    if (wait == 0) {
      partitions.gain(partition);
    } else {
      getContext()
          .getSystem()
          .scheduler()
          .scheduleOnce(
              Duration.ofNanos(wait),
              getSelf(),
              TakeOver.NOW,
              getContext().getDispatcher(),
              getSelf());
    }
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(
            Integer.class, question -> getSender().tell(Owners.answer(owner, partition), getSelf()))
        .matchEquals(TakeOver.NOW, message -> preStart())
        .matchEquals(HandOff.BEGIN, message -> handOff())
        .build();
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
    node.release(grain -> partitions.of(grain) == partition);
  }

  /** Also when the partition was lost without a hand-off, with the coordinator or the cluster. */
  @Override
  public void postStop() {
    if (partitions.lose(partition)) {
      Thread.ofVirtual().name("evergreen-lost-" + partition).start(this::release);
    }
  }
}
