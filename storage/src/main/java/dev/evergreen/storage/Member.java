package dev.evergreen.storage;

import dev.evergreen.core.spi.NodeId;

/**
 * A node behind the fence of a cluster.
 *
 * @param cluster the cluster's name
 */
record Member(String cluster, NodeId id) {

  @Override
  public String toString() {
    return id + " of " + cluster;
  }
}
