package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.NodeId;

/** Which nodes the links of one reach. */
public interface Reach {

  /** Whether there is a connection to a node. */
  boolean isConnected(NodeId node);

  /** Whether there has been a connection to a node since it was admitted. */
  boolean wasConnected(NodeId node);

  /**
   * For how long there has been no connection to a node: since the last one ended, or since the
   * node was admitted; 0 if there is one, or the node was not admitted.
   */
  long brokenNanos(NodeId node);
}
