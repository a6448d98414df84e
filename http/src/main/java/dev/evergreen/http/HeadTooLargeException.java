package dev.evergreen.http;

import java.io.IOException;

/** A request's head is larger than can be sent. Nothing of it was sent. */
public final class HeadTooLargeException extends IOException {
  private static final long serialVersionUID = 1;

  HeadTooLargeException(int bytes) {
    super("a request's head of " + bytes + " bytes is too large to be sent");
  }
}
