package dev.evergreen.core;

/**
 * A grain could not be activated: its type is not registered, its constructor threw, or its state
 * could not be loaded.
 */
public final class ActivationException extends GrainException {

  public ActivationException(String message) {
    super(message);
  }

  public ActivationException(String message, Throwable cause) {
    super(message, cause);
  }
}
