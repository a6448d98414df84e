package dev.evergreen.core;

/** The calling thread was interrupted while it waited. Its interrupt status is set. */
public final class CallInterruptedException extends OutcomeUnknownException {

  public CallInterruptedException(String message) {
    super(message);
  }

  public CallInterruptedException(String message, Throwable cause) {
    super(message, cause);
  }
}
