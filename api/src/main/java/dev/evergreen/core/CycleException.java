package dev.evergreen.core;

/** A call chain came back to where it already was. The message names the path. */
public final class CycleException extends GrainException {

  public CycleException(String message) {
    super(message);
  }

  public CycleException(String message, Throwable cause) {
    super(message, cause);
  }
}
