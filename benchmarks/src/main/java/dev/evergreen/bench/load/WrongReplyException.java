package dev.evergreen.bench.load;

import java.io.IOException;

/** A server answered with something that no server may answer. */
public final class WrongReplyException extends IOException {

  private static final long serialVersionUID = 1;

  WrongReplyException(String message) {
    super(message);
  }
}
