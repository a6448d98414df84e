package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;

/**
 * Hears of the links of a node. Methods are called by threads of the links: for one other node
 * {@link #connected}, {@link #received} and {@link #broken} never at the same time, in the order in
 * which it happened. They must not block for long, as that node is not heard of meanwhile. What
 * they throw is logged.
 */
public interface LinkListener {

  /** There is a connection: what is sent from now on leaves by it. */
  void connected(NodeId node);

  /** A message of another node has arrived. */
  void received(NodeId from, Message message);

  /**
   * A connection has ended; messages may be lost.
   *
   * <p>No message of the old connection is received after this was called. Whatever was sent and is
   * lost was given to {@link NodeLinks#send} before this was called. Until there is a new
   * connection nothing can be sent; nothing that was given to the old one goes to a new one.
   */
  void broken(NodeId node);

  /**
   * The host of a node refused a connection as nobody listens there, or another life of the node
   * answers. After {@link #broken} that is a sign that the process has ended; before the first
   * connection it may not have begun to listen. Called at every attempt, until there is a
   * connection or the node is removed; also by the side that does not dial, which tries its luck
   * only after a break.
   */
  void refused(NodeId node);

  /**
   * A node asks whether it counts as a member here.
   *
   * @param answer says that it did when this was called; may be run later and by any thread, or not
   *     at all
   */
  void pinged(NodeId node, Runnable answer);

  /** A node has answered a {@link NodeLinks#ping}: this one counted there when the ping came. */
  void ponged(NodeId node, long token);

  /** A node says that it has removed this one for good. Nothing goes to it or comes from it. */
  void removedBy(NodeId node);
}
