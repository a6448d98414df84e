package dev.evergreen.http;

import java.time.Duration;

/**
 * How many connections to an origin there are, and how long they are waited for and kept.
 *
 * @param connections how many to one origin at most
 * @param waiters how many exchanges with one origin may wait for a connection
 * @param patience how long each of them waits
 * @param idle how long a connection that nobody uses is kept
 * @param handshake how long TLS may take to agree
 */
public record UpstreamLimits(
    int connections, int waiters, Duration patience, Duration idle, Duration handshake) {

  /**
   * 4,096 connections, as many waiters for 10 s, 30 s idle, 10 s to shake hands. An origin that
   * thinks for two seconds needs two thousand to be asked a thousand times a second.
   */
  public static final UpstreamLimits DEFAULT =
      new UpstreamLimits(
          4096, 4096, Duration.ofSeconds(10), Duration.ofSeconds(30), Duration.ofSeconds(10));

  public UpstreamLimits {
    if (connections < 1 || waiters < 0) {
      throw new IllegalArgumentException("there must be at least 1 connection");
    }
  }

  /** The same with another number of connections. */
  public UpstreamLimits withConnections(int most) {
    return new UpstreamLimits(most, waiters, patience, idle, handshake);
  }
}
