package dev.evergreen.chirper;

/**
 * What a person asked for cannot be done; nothing has changed. The message says why, in a sentence
 * for that person.
 */
public final class RefusedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** With a sentence for the person who asked. */
  public RefusedException(String message) {
    super(message);
  }

  /** As the runtime rebuilds it on the caller's side. */
  public RefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
