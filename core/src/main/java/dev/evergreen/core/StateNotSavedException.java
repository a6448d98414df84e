package dev.evergreen.core;

/**
 * The state could not be saved. The activation is closed; the next one loads what the storage
 * holds.
 */
public final class StateNotSavedException extends OutcomeUnknownException {

  public StateNotSavedException(String message) {
    super(message);
  }

  public StateNotSavedException(String message, Throwable cause) {
    super(message, cause);
  }
}
