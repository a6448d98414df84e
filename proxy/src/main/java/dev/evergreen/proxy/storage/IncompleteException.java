package dev.evergreen.proxy.storage;

import java.io.IOException;

/** A response that was being received will never be complete, or not for this reader. */
public final class IncompleteException extends IOException {
  private static final long serialVersionUID = 1;

  private final boolean tooSlow;

  IncompleteException(String message) {
    this(message, false);
  }

  private IncompleteException(String message, boolean tooSlow) {
    super(message);
    this.tooSlow = tooSlow;
  }

  static IncompleteException tooSlow() {
    return new IncompleteException("a reader was too slow for a response that is not stored", true);
  }

  /** Whether others that were faster have got what this reader has not. */
  public boolean isTooSlow() {
    return tooSlow;
  }
}
