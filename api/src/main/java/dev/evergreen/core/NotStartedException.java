package dev.evergreen.core;

/**
 * The operation certainly did not start: nobody hosts the grain at the moment, or its queue is
 * full. The call may be repeated.
 */
public final class NotStartedException extends GrainException {

  public NotStartedException(String message) {
    super(message);
  }

  public NotStartedException(String message, Throwable cause) {
    super(message, cause);
  }
}
