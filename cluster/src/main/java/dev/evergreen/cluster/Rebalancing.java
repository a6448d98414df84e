package dev.evergreen.cluster;

import java.util.LinkedHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.sharding.ShardCoordinator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Set;
import scala.concurrent.Future;
import scala.concurrent.Promise;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Pekko's strategy of giving partitions to who has least, which moves none while some node may have
 * died without Pekko knowing it yet, and gives none to nodes that calls do not reach.
 *
 * <p>To move a partition all nodes must confirm it. If its owner dies before it has, sharding waits
 * for it until the hand-off's time is over, and nobody may have that partition so long. Pekko knows
 * of a death when heartbeats are missed; connections that end tell it at once.
 */
final class Rebalancing implements ShardCoordinator.ActorSystemDependentAllocationStrategy {

  private final ShardCoordinator.ShardAllocationStrategy strategy;
  private final BooleanSupplier someMayBeDead;
  private final Predicate<String> isReached;

  /**
   * @param someMayBeDead whether the connection to some node has ended a short while ago, and there
   *     is no new one. Not for long: there may be nodes to which no connection can be made
   * @param isReached whether there is a connection to the node with an address, {@code host:port}
   */
  Rebalancing(
      ShardCoordinator.ShardAllocationStrategy strategy,
      BooleanSupplier someMayBeDead,
      Predicate<String> isReached) {
    this.strategy = strategy;
    this.someMayBeDead = someMayBeDead;
    this.isReached = isReached;
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
    return strategy.allocateShard(requester, shard, reached(shards));
  }

  @Override
  public Future<Set<String>> rebalance(
      Map<ActorRef, IndexedSeq<String>> shards, Set<String> underWay) {
    return someMayBeDead.getAsBoolean()
        ? Promise.successful(scala.collection.immutable.Set$.MODULE$.<String>empty()).future()
        : strategy.rebalance(reached(shards), underWay);
  }

  /** What the nodes have that can be reached; if there is none, what all have. */
  private Map<ActorRef, IndexedSeq<String>> reached(Map<ActorRef, IndexedSeq<String>> shards) {
    var some = new LinkedHashMap<>(CollectionConverters.asJava(shards));
    some.keySet().removeIf(region -> !isReached(region.path().address()));
    return some.isEmpty()
        ? shards
        : scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(some));
  }

  private boolean isReached(Address address) {
    return address.hasLocalScope()
        || isReached.test(address.getHost().orElse("") + ":" + address.getPort().orElse(0));
  }
}
