package dev.evergreen.core.sim;

/** An exception of the application. */
final class Refused extends RuntimeException {

  Refused(String message) {
    super(message);
  }
}
