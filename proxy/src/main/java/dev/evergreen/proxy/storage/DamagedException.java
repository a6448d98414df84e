package dev.evergreen.proxy.storage;

import java.io.IOException;

/** A stored body cannot be read as it was written, or was evicted; it is found no more. */
public final class DamagedException extends IOException {
  private static final long serialVersionUID = 1;

  DamagedException(IOException cause) {
    super(cause.getMessage(), cause);
  }

  /** It was never there, or is not any more. */
  public static DamagedException missing() {
    return new DamagedException(new IOException("a part of a response is missing"));
  }

  /** Its place was given to something else. */
  static DamagedException evicted() {
    return new DamagedException(
        new IOException("a response was evicted before a slow reader came to its end"));
  }
}
