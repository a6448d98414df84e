package dev.evergreen.core.spi;

/** Messages to other nodes. */
public interface Links {

  /**
   * Sends a message to another node; never blocks. It may arrive late, in another order, more than
   * once or never. If it is lost with its connection, the node is told afterwards that the link
   * broke.
   *
   * @return false if it certainly did not leave, since there is no connection at the moment, or no
   *     room for it
   * @throws IllegalArgumentException if the message is larger than any link takes; the text names
   *     its size and the limit. It did not leave
   */
  boolean send(NodeId to, Message message);

  /** What has gone over them so far. */
  default LinkCounts counts() {
    return LinkCounts.NONE;
  }
}
