package dev.evergreen.cluster;

import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.NodeId;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.cluster.sharding.ClusterSharding;
import org.apache.pekko.cluster.sharding.ClusterShardingSettings;
import org.apache.pekko.cluster.sharding.ShardRegion;

/** Has Pekko's cluster sharding decide which node owns which partition. */
final class Sharding {

  private Sharding() {}

  /** A question for the owner of a partition is the partition's number. */
  private static final class ByNumber implements ShardRegion.MessageExtractor {
    @Override
    public String entityId(Object message) {
      return message.toString();
    }

    @Override
    public Object entityMessage(Object message) {
      return message;
    }

    @Override
    public String shardId(Object message) {
      return message.toString();
    }
  }

  /**
   * Takes part in owning partitions, or only asks for owners if this node hosts no grains.
   *
   * @param owner this node
   * @param someMayBeDead whether some node may have died without Pekko knowing it by now
   * @param isReached whether there is a connection to the node with an address, {@code host:port}
   * @return where to ask
   */
  static ActorRef start(
      ActorSystem system,
      ClusterSettings settings,
      EngineNode node,
      Partitions partitions,
      NodeId owner,
      BooleanSupplier someMayBeDead,
      Predicate<String> isReached) {
    var sharding = ClusterSharding.get(system);
    if (!settings.hosts()) {
      return sharding.startProxy(PartitionActor.TYPE, Optional.of(Member.HOSTS), new ByNumber());
    }
    var shardingSettings = ClusterShardingSettings.create(system).withRole(Member.HOSTS);
    return sharding.start(
        PartitionActor.TYPE,
        PartitionActor.props(node, partitions, owner),
        shardingSettings,
        new ByNumber(),
        new Rebalancing(
            sharding.defaultShardAllocationStrategy(shardingSettings), someMayBeDead, isReached),
        PartitionActor.HandOff.BEGIN);
  }
}
