package dev.evergreen.core;

/**
 * The state could not be saved. The activation is closed; the next one loads what the storage
 * holds. Where a newer version of the program has stored more than this node knows, the save is
 * refused, and the activation goes on with what is stored.
 */
public final class StateNotSavedException extends OutcomeUnknownException {

  public StateNotSavedException(String message) {
    super(message);
  }

  public StateNotSavedException(String message, Throwable cause) {
    super(message, cause);
  }
}
