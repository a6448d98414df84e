package dev.evergreen.proxy.storage;

import java.io.IOException;

/** A response that was being received, and will never be complete. */
public final class IncompleteException extends IOException {
  private static final long serialVersionUID = 1;

  IncompleteException(String message) {
    super(message);
  }
}
