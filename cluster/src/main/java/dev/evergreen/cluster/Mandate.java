package dev.evergreen.cluster;

import dev.evergreen.core.spi.Storage;

/**
 * Says whether this node may acknowledge what its grains did, and when it may own what others had.
 * Both serve one rule: nobody owns a partition before all whom the cluster has removed can
 * acknowledge nothing any more. So the state that a new owner loads has all that was ever
 * acknowledged.
 */
interface Mandate {

  /** The storage as this node uses it. */
  Storage storage();

  /** As {@link dev.evergreen.core.spi.Placement#confirmed}. */
  boolean confirmed();

  /**
   * Waits until this node may own what others had who were removed before this was called.
   *
   * @return false if it never will, as it has stopped or was given up
   */
  boolean takeOver();

  /** This node has stopped, and saves nothing any more. */
  void end();
}
