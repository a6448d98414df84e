package dev.evergreen.core.engine;

import dev.evergreen.core.Node;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.util.Set;
import java.util.function.Predicate;

/** A node as its engine drives it. Methods do not block unless they say so. */
public interface EngineNode extends Node {

  /** Takes a message from another node. Damaged, late and repeated ones do no harm. */
  void receive(NodeId from, Message message);

  /** The connection to a node broke: calls on it end, what it publishes is in doubt. */
  void linkBroken(NodeId node);

  /** A node is not heard of, and may come back: what it publishes is in doubt. */
  void notHeardOf(NodeId node);

  /** It has become known where these grains are: what waits for them tries again at once. */
  void found(Predicate<GrainId> grains);

  /** Nodes left for good, at the same time: nothing of them is accepted any more. */
  void nodesRemoved(Set<NodeId> nodes);

  /**
   * Hands grains off: these parts of them no longer belong here. Waiting calls are answered as not
   * started, running turns get a grace period, then the activations are closed and their
   * subscribers told. Blocks until done.
   */
  void release(int... parts);

  /**
   * Stops at once because the others regard this node as gone: calls fail, trackers end with {@link
   * NodeStoppedException}, nothing more is saved or acknowledged.
   */
  void fence(String reason);
}
