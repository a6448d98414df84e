package dev.evergreen.cluster.links;

import java.time.Duration;

/**
 * Every setting of a node's links. Start from {@link #of} and change what you must.
 *
 * @param cluster the name of the cluster; nodes of another are refused
 * @param maxMessageBytes the most bytes of one message; the same on all nodes. Sending a larger one
 *     fails, and a node that begins to send one is cut off
 * @param maxQueueBytes the most bytes that wait to be written to one node; a message beyond it is
 *     not sent, unless it is the only one
 * @param handshakeWithin how long a connection and its handshake may take
 * @param maxHandshakes the most connections of others that have not shown yet who they are
 * @param firstPause how long the first pause between attempts to connect is; each is twice as long
 *     as the one before, with jitter
 * @param longestPause the longest pause between attempts to connect
 * @param deadAfter a connection by which nothing came for so long is given up; each side says
 *     something at least three times in that time
 */
public record LinkSettings(
    String cluster,
    int maxMessageBytes,
    long maxQueueBytes,
    Duration handshakeWithin,
    int maxHandshakes,
    Duration firstPause,
    Duration longestPause,
    Duration deadAfter) {

  private static final int LEAST_MESSAGE = 1 << 10;
  private static final int LARGEST_MESSAGE = 128 << 20;
  private static final int LONGEST_NAME = 200;

  /**
   * @throws IllegalArgumentException if a setting makes no sense; the message names it
   */
  public LinkSettings {
    if (cluster.isBlank() || cluster.length() > LONGEST_NAME) {
      throw new IllegalArgumentException(
          "cluster must be a name of 1 to "
              + LONGEST_NAME
              + " characters, but was '"
              + cluster
              + "'");
    }
    if (maxMessageBytes < LEAST_MESSAGE || maxMessageBytes > LARGEST_MESSAGE) {
      throw new IllegalArgumentException(
          "maxMessageBytes must be between 1 KiB and 128 MiB, but was " + maxMessageBytes);
    }
    if (maxQueueBytes <= 0) {
      throw new IllegalArgumentException(
          "maxQueueBytes must be positive, but was " + maxQueueBytes);
    }
    if (maxHandshakes <= 0) {
      throw new IllegalArgumentException(
          "maxHandshakes must be positive, but was " + maxHandshakes);
    }
    requirePositive("handshakeWithin", handshakeWithin);
    requirePositive("firstPause", firstPause);
    requirePositive("longestPause", longestPause);
    requirePositive("deadAfter", deadAfter);
    if (firstPause.compareTo(longestPause) > 0) {
      throw new IllegalArgumentException(
          "firstPause must not be longer than longestPause, but " + firstPause + " is");
    }
  }

  private static void requirePositive(String name, Duration value) {
    // Sockets count in milliseconds, and 0 of them is for ever.
    if (value.compareTo(Duration.ofMillis(1)) < 0 || value.compareTo(Duration.ofHours(1)) > 0) {
      throw new IllegalArgumentException(
          name + " must be between a millisecond and an hour, but was " + value);
    }
  }

  /** What is right for most. */
  public static LinkSettings of(String cluster) {
    return new LinkSettings(
        cluster,
        64 << 20,
        64L << 20,
        Duration.ofSeconds(5),
        64,
        Duration.ofMillis(50),
        Duration.ofSeconds(2),
        Duration.ofSeconds(15));
  }

  /** These settings with another {@code maxMessageBytes}. */
  public LinkSettings withMaxMessageBytes(int value) {
    return new LinkSettings(
        cluster,
        value,
        maxQueueBytes,
        handshakeWithin,
        maxHandshakes,
        firstPause,
        longestPause,
        deadAfter);
  }

  /** These settings with another {@code maxQueueBytes}. */
  public LinkSettings withMaxQueueBytes(long value) {
    return new LinkSettings(
        cluster,
        maxMessageBytes,
        value,
        handshakeWithin,
        maxHandshakes,
        firstPause,
        longestPause,
        deadAfter);
  }

  /** These settings with other limits for connections that have not shown yet who they are. */
  public LinkSettings withHandshakes(Duration within, int most) {
    return new LinkSettings(
        cluster, maxMessageBytes, maxQueueBytes, within, most, firstPause, longestPause, deadAfter);
  }

  /** These settings with other pauses between attempts to connect. */
  public LinkSettings withPauses(Duration first, Duration longest) {
    return new LinkSettings(
        cluster,
        maxMessageBytes,
        maxQueueBytes,
        handshakeWithin,
        maxHandshakes,
        first,
        longest,
        deadAfter);
  }

  /** These settings with another {@code deadAfter}. */
  public LinkSettings withDeadAfter(Duration value) {
    return new LinkSettings(
        cluster,
        maxMessageBytes,
        maxQueueBytes,
        handshakeWithin,
        maxHandshakes,
        firstPause,
        longestPause,
        value);
  }
}
