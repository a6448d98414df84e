package dev.evergreen.http;

import java.io.IOException;

/** Connections to origins, made when they are needed and kept for the next request. */
public final class Upstreams implements AutoCloseable {

  Upstreams() {}

  /**
   * Answers an exchange with an origin, on a connection that is kept and alive, or on a new one;
   * waits for one if there are as many as there may be.
   *
   * @throws IOException if there is none in time, or it cannot be made
   */
  public ClientExchange open(Origin origin) throws IOException {
    return open(origin, false);
  }

  /**
   * Like {@link #open(Origin)}.
   *
   * @param fresh whether it must be a new connection, as after a failure of one that was reused
   */
  public ClientExchange open(Origin origin, boolean fresh) throws IOException {
    throw new UnsupportedOperationException("not yet " + origin + fresh);
  }

  /** Closes all connections. */
  @Override
  public void close() {}
}
