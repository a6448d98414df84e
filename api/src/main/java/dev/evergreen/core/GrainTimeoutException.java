package dev.evergreen.core;

/** No answer came in time. Whether the operation took effect is unknown. */
public final class GrainTimeoutException extends OutcomeUnknownException {

  public GrainTimeoutException(String message) {
    super(message);
  }

  public GrainTimeoutException(String message, Throwable cause) {
    super(message, cause);
  }
}
