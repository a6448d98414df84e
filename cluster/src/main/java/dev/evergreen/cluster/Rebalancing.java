package dev.evergreen.cluster;

import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.cluster.sharding.ShardCoordinator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Set;
import scala.concurrent.Future;
import scala.concurrent.Promise;

/**
 * Pekko's strategy of giving partitions to who has least, which moves none while some node may have
 * died without Pekko knowing it yet.
 *
 * <p>To move a partition all nodes must confirm it. If its owner dies before it has, sharding waits
 * for it until the hand-off's time is over, and nobody may have that partition so long. Pekko knows
 * of a death when heartbeats are missed; connections that end tell it at once.
 */
final class Rebalancing implements ShardCoordinator.ActorSystemDependentAllocationStrategy {

  private final ShardCoordinator.ShardAllocationStrategy strategy;
  private final BooleanSupplier someMayBeDead;

  /**
   * @param someMayBeDead whether the connection to some node has ended a short while ago, and there
   *     is no new one. Not for long: there may be nodes to which no connection can be made
   */
  Rebalancing(ShardCoordinator.ShardAllocationStrategy strategy, BooleanSupplier someMayBeDead) {
    this.strategy = strategy;
    this.someMayBeDead = someMayBeDead;
  }

  @Override
  public void start(ActorSystem system) {
    if (strategy instanceof ShardCoordinator.ActorSystemDependentAllocationStrategy dependent) {
      dependent.start(system);
    }
  }

  @Override
  public Future<ActorRef> allocateShard(
      ActorRef requester, String shard, Map<ActorRef, IndexedSeq<String>> shards) {
    return strategy.allocateShard(requester, shard, shards);
  }

  @Override
  public Future<Set<String>> rebalance(
      Map<ActorRef, IndexedSeq<String>> shards, Set<String> underWay) {
    return someMayBeDead.getAsBoolean()
        ? Promise.successful(scala.collection.immutable.Set$.MODULE$.<String>empty()).future()
        : strategy.rebalance(shards, underWay);
  }
}
