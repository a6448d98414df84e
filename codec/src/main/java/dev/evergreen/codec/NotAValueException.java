package dev.evergreen.codec;

import org.jspecify.annotations.Nullable;

/** A type or object that is no value was used where only values may be. */
public final class NotAValueException extends IllegalArgumentException {

  public NotAValueException(String message) {
    super(message);
  }

  public NotAValueException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
