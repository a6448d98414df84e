package dev.evergreen.live;

import java.util.Objects;

/** A computation has a result, but it cannot be shown: the cause says why. */
public final class UnwritableException extends Exception {

  UnwritableException(Throwable cause) {
    super(cause);
  }

  /** Of the JSON's writer, or of the value's own methods. */
  public Throwable why() {
    return Objects.requireNonNull(getCause());
  }
}
