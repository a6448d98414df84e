package dev.evergreen.core;

/** An argument, a result or a state is larger or deeper than the node's limit. */
public final class ValueTooLargeException extends GrainException {

  public ValueTooLargeException(String message) {
    super(message);
  }

  public ValueTooLargeException(String message, Throwable cause) {
    super(message, cause);
  }
}
