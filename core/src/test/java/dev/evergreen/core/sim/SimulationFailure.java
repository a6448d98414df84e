package dev.evergreen.core.sim;

/** A property does not hold, or the run came to no end. */
final class SimulationFailure extends RuntimeException {

  SimulationFailure(String message) {
    super(message);
  }

  SimulationFailure(String message, Throwable cause) {
    super(message, cause);
  }
}
