package dev.evergreen.core;

/**
 * A grain interface, a key or a context was used against its rules, for instance with an operation
 * whose argument is no value.
 */
public final class InvalidGrainException extends GrainException {

  public InvalidGrainException(String message) {
    super(message);
  }

  public InvalidGrainException(String message, Throwable cause) {
    super(message, cause);
  }
}
