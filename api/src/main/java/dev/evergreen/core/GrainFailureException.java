package dev.evergreen.core;

/**
 * An operation threw an exception whose class does not belong to the grain's interface; the message
 * carries the original type and message.
 */
public final class GrainFailureException extends GrainException {

  public GrainFailureException(String message) {
    super(message);
  }

  public GrainFailureException(String message, Throwable cause) {
    super(message, cause);
  }
}
