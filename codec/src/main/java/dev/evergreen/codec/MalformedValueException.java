package dev.evergreen.codec;

import org.jspecify.annotations.Nullable;

/** Bytes are not the encoding of the expected type. */
public final class MalformedValueException extends IllegalArgumentException {

  public MalformedValueException(String message) {
    super(message);
  }

  public MalformedValueException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
