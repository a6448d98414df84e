package dev.evergreen.http;

import java.io.EOFException;

/**
 * The peer ended, or took back, a message that was not whole. What came of it must not be taken for
 * all.
 */
public final class IncompleteMessageException extends EOFException {
  private static final long serialVersionUID = 1;

  /** Says what is missing. */
  public IncompleteMessageException(String what) {
    super(what);
  }
}
