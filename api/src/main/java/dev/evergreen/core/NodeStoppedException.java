package dev.evergreen.core;

/** The node has stopped, or is stopping. */
public final class NodeStoppedException extends GrainException {

  public NodeStoppedException(String message) {
    super(message);
  }

  public NodeStoppedException(String message, Throwable cause) {
    super(message, cause);
  }
}
