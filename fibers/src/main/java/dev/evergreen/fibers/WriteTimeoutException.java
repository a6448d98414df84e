package dev.evergreen.fibers;

import java.net.SocketTimeoutException;
import java.time.Duration;

/** A peer took nothing for longer than the time for writing; the connection is closed. */
public final class WriteTimeoutException extends SocketTimeoutException {

  private static final long serialVersionUID = 1;

  WriteTimeoutException(Duration patience) {
    super("the peer took nothing for " + patience + "; the connection is closed");
  }
}
