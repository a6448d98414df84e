package dev.evergreen.proxy.storage;

import java.io.IOException;

/** A response that was being received will never be complete, or not for this reader. */
public final class IncompleteException extends IOException {
  private static final long serialVersionUID = 1;

  IncompleteException(String message) {
    super(message);
  }
}
