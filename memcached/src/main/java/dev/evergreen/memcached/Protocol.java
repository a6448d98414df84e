package dev.evergreen.memcached;

import java.io.IOException;

/** How one client's requests are read and answered. For the connection's fiber only. */
sealed interface Protocol permits TextProtocol, BinaryProtocol {

  /**
   * Answers the requests that are there.
   *
   * @param waiting whether nothing more is there, so that what is incomplete must be kept small
   * @return false if the connection is to be closed
   */
  boolean answer(boolean waiting) throws IOException;

  /** Whether complete requests may be left, as it is others' turn. */
  boolean isTurnOver();

  /** Forgets all that points into buffers on loan. */
  void rest();

  /** Lets go of what the store holds for this connection. */
  void close();
}
