package dev.evergreen.core;

/**
 * The call failed in a way that leaves open whether the operation took effect. Ask the grain, or
 * repeat the call if the operation is idempotent.
 */
public class OutcomeUnknownException extends GrainException {

  public OutcomeUnknownException(String message) {
    super(message);
  }

  public OutcomeUnknownException(String message, Throwable cause) {
    super(message, cause);
  }
}
