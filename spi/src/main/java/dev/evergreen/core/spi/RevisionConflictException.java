package dev.evergreen.core.spi;

/** Somebody else saved this grain's state meanwhile; nothing was written. */
public final class RevisionConflictException extends StorageException {

  /** Names the grain, the revision that the save expected, and the one that it found. */
  public RevisionConflictException(GrainId grain, long expected, long actual) {
    this(
        "Saving %s expected revision %d but found %d: nothing was written, load it again"
            .formatted(grain, expected, actual));
  }

  public RevisionConflictException(String message) {
    super(message);
  }

  public RevisionConflictException(String message, Throwable cause) {
    super(message, cause);
  }
}
