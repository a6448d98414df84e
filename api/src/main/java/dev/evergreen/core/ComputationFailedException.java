package dev.evergreen.core;

/** A computation ended with a checked exception, which is the cause. */
public final class ComputationFailedException extends GrainException {

  public ComputationFailedException(Throwable cause) {
    super(cause.toString(), cause);
  }
}
