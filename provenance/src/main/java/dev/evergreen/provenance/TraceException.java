package dev.evergreen.provenance;

/** A trace cannot be read: its database is gone, or is not what it should be. */
public final class TraceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  TraceException(String message) {
    super(message);
  }

  TraceException(String message, Throwable cause) {
    super(message, cause);
  }
}
