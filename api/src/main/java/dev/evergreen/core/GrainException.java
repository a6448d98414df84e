package dev.evergreen.core;

/**
 * What the runtime throws; subtypes say what went wrong. The message names the grain, the operation
 * and what to do.
 */
public class GrainException extends RuntimeException {

  public GrainException(String message) {
    super(message);
  }

  public GrainException(String message, Throwable cause) {
    super(message, cause);
  }
}
