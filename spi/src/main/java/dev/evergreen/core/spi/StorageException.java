package dev.evergreen.core.spi;

/** The storage failed; whether the operation took effect is unknown. */
public class StorageException extends RuntimeException {

  public StorageException(String message) {
    super(message);
  }

  public StorageException(String message, Throwable cause) {
    super(message, cause);
  }
}
