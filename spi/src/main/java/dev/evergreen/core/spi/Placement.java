package dev.evergreen.core.spi;

import org.jspecify.annotations.Nullable;

/** Which node hosts which grain. */
public interface Placement {

  /**
   * The node that is believed to host a grain; a hint that may be outdated. Null if none is known,
   * and then it is being looked for. Never blocks.
   */
  @Nullable NodeId locate(GrainId grain);

  /** Whether this node hosts the grain now, by the authority of the engine. Never blocks. */
  boolean isHere(GrainId grain);

  /** Into how many parts grains are divided; those of one part are on the same node. */
  default int parts() {
    return 1;
  }

  /** The part of a grain, from 0. Always the same one. */
  default int part(GrainId grain) {
    return 0;
  }

  /** Says that {@code node} answered that it does not host {@code grain}: the hint was wrong. */
  void notThere(GrainId grain, NodeId node);

  /**
   * Whether no other node can have been given what this one hosts before this was called. What was
   * saved before is seen by all later activations then, and may be acknowledged; a node that was
   * paused, or is cut off, learns here that it cannot know. Not asked after a save to a storage
   * that is {@linkplain Storage#fenced fenced}, which says as much. May block, until it is known or
   * the node has stopped, for some seconds at most.
   */
  boolean confirmed();

  /**
   * That all grains are on one node, for good.
   *
   * @param host where they are
   * @param self the node that asks
   */
  record AllAt(NodeId host, NodeId self) implements Placement {
    @Override
    public NodeId locate(GrainId grain) {
      return host;
    }

    @Override
    public boolean isHere(GrainId grain) {
      return self.equals(host);
    }

    @Override
    public void notThere(GrainId grain, NodeId node) {}

    @Override
    public boolean confirmed() {
      return true;
    }
  }
}
