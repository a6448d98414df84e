package dev.evergreen.fibers;

/**
 * The runtime is closed, or is being closed. A fiber of it from which this escapes ends without a
 * word, as all others do.
 */
public final class FibersClosedException extends IllegalStateException {

  private static final long serialVersionUID = 1;

  FibersClosedException() {
    super("this runtime of fibers is closed");
  }
}
