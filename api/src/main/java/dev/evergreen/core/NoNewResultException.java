package dev.evergreen.core;

/** No new result arrived in the time given. The computation goes on. */
public final class NoNewResultException extends GrainException {

  public NoNewResultException(String message) {
    super(message);
  }

  public NoNewResultException(String message, Throwable cause) {
    super(message, cause);
  }
}
