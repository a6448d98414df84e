package dev.evergreen.core.engine;

import dev.evergreen.core.model.Failures;
import dev.evergreen.core.spi.GoneNodes;
import dev.evergreen.core.spi.Links;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;

/** The other nodes: messages to them, and who of them has left for good. */
final class Peers {

  private final NodeId self;
  private final Links links;
  private final GoneNodes gone = new GoneNodes();

  Peers(NodeId self, Links links) {
    this.self = self;
    this.links = links;
  }

  /** This node. */
  NodeId self() {
    return self;
  }

  /** Whether a node left for good, so that nothing sent to it would be answered. */
  boolean isGone(NodeId other) {
    return gone.contains(other);
  }

  void remove(Collection<NodeId> leaving) {
    leaving.forEach(gone::add);
  }

  /** False if the message certainly did not leave. */
  boolean send(NodeId to, Message message) {
    return !isGone(to) && links.send(to, message);
  }

  /**
   * Sends items with as many messages as it takes; what no link takes is not sent.
   *
   * @return false if some certainly did not leave, and may another time
   */
  <T> boolean sendParts(NodeId to, List<T> items, Function<List<T>, Message> message) {
    try {
      return send(to, message.apply(items));
    } catch (IllegalArgumentException e) {
      int half = items.size() / 2;
      if (half == 0) {
        Failures.log("a message to " + to, e);
        return true;
      }
      boolean left = sendParts(to, items.subList(0, half), message);
      return sendParts(to, items.subList(half, items.size()), message) && left;
    }
  }
}
