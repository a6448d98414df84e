package dev.evergreen.core.sim;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Placement;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One node's idea of where grains are: the partitions that it hosts, and hints about the others,
 * which may be outdated and are learned anew from the cluster when they prove wrong.
 */
final class SimPlacement implements Placement {

  private final NodeId self;
  private final Cluster cluster;
  private final boolean[] mine;
  private final @Nullable NodeId[] hints;
  private final boolean[] asked;

  SimPlacement(NodeId self, Cluster cluster, int partitions) {
    this.self = self;
    this.cluster = cluster;
    this.mine = new boolean[partitions];
    this.hints = new NodeId[partitions];
    this.asked = new boolean[partitions];
  }

  @Override
  public @Nullable NodeId locate(GrainId grain) {
    cluster.preempt();
    int partition = partition(grain);
    if (mine[partition]) {
      return self;
    }
    var hint = hints[partition];
    if (hint == null) {
      ask(partition);
    }
    return hint;
  }

  @Override
  public boolean isHere(GrainId grain) {
    return mine[partition(grain)];
  }

  @Override
  public void notThere(GrainId grain, NodeId node) {
    int partition = partition(grain);
    if (node.equals(hints[partition])) {
      hints[partition] = null;
      ask(partition);
    }
  }

  @Override
  public boolean confirmed() {
    return cluster.confirms(self);
  }

  @Override
  public int parts() {
    return mine.length;
  }

  @Override
  public int part(GrainId grain) {
    return partition(grain);
  }

  int partition(GrainId grain) {
    return Math.floorMod(grain.stableHash(), mine.length);
  }

  boolean hosts(int partition) {
    return mine[partition];
  }

  void gain(int partition) {
    mine[partition] = true;
  }

  void lose(int partition) {
    mine[partition] = false;
    hints[partition] = null;
  }

  void loseAll() {
    Arrays.fill(mine, false);
  }

  void hint(int partition, @Nullable NodeId node) {
    asked[partition] = false;
    hints[partition] = node;
  }

  /** A node is gone: no hint may lead to it. */
  void forget(NodeId gone) {
    for (int i = 0; i < hints.length; i++) {
      if (gone.equals(hints[i])) {
        hints[i] = null;
      }
    }
  }

  private void ask(int partition) {
    if (!asked[partition]) {
      asked[partition] = true;
      cluster.ask(self, partition);
    }
  }
}
