package dev.evergreen.fibers;

import java.net.SocketTimeoutException;

/** The deadline of a {@link CancelScope} has passed. */
public final class DeadlineException extends SocketTimeoutException {

  private static final long serialVersionUID = 1;

  DeadlineException(String what) {
    super("could not " + what + " before the deadline");
  }
}
