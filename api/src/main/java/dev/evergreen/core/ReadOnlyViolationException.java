package dev.evergreen.core;

/** A read-only operation or a computation tried to write. */
public final class ReadOnlyViolationException extends GrainException {

  public ReadOnlyViolationException(String message) {
    super(message);
  }

  public ReadOnlyViolationException(String message, Throwable cause) {
    super(message, cause);
  }
}
