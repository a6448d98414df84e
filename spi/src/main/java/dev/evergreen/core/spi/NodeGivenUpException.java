package dev.evergreen.core.spi;

/**
 * The node that asked for a save was given up, so that others may have its grains; nothing was
 * written.
 */
public final class NodeGivenUpException extends StorageException {

  /** Names the grain and the node. */
  public NodeGivenUpException(GrainId grain, NodeId node) {
    super("Saving %s: nothing was written, as the node %s was given up".formatted(grain, node));
  }
}
