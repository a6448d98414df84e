package dev.evergreen.core;

/** The computation or tracker was closed. */
public final class ComputationClosedException extends GrainException {

  public ComputationClosedException(String message) {
    super(message);
  }

  public ComputationClosedException(String message, Throwable cause) {
    super(message, cause);
  }
}
