package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * Looks from another process how far a spool has come, again and again: each time only at what has
 * come since, as to walk through a whole file takes long. To be used by one thread.
 */
final class SpoolEnd {
  private final Path directory;

  /** Of the file that was the newest; a spool that is recorded anew has its index again. */
  private long salt;

  /** Behind its last frame that was finished. */
  private long place = SpoolSegment.start();

  SpoolEnd(Path directory) {
    this.directory = directory;
  }

  Path directory() {
    return directory;
  }

  /** Which spool it is; empty if that is not known. */
  String id() {
    var file = directory.resolve(Recording.ID);
    try {
      return Files.exists(file) ? Files.readString(file) : "";
    } catch (IOException e) {
      throw new TraceException("The spool in %s cannot be read".formatted(directory), e);
    }
  }

  /** What the clock says by which it is recorded; empty if nobody can tell. */
  Optional<Instant> now() {
    try {
      return SpoolClock.now(directory);
    } catch (IOException e) {
      throw new TraceException("The spool in %s cannot be read".formatted(directory), e);
    }
  }

  /** The number of the last frame that is finished; 0 if there is none. */
  long lastNumber() {
    try {
      if (Files.isDirectory(directory)) {
        for (long newest : SpoolFiles.list(directory).reversed()) {
          try (var segment = SpoolSegment.reading(newest, SpoolFiles.path(directory, newest))) {
            if (segment != null) {
              return lastNumber(segment);
            }
          }
        }
      }
      return 0;
    } catch (IOException e) {
      throw new TraceException("The spool in %s cannot be read".formatted(directory), e);
    }
  }

  private long lastNumber(SpoolSegment segment) {
    if (segment.salt() != salt) {
      salt = segment.salt();
      place = SpoolSegment.start();
    }
    place = segment.finishedFrom(place);
    return segment.number(place) - 1;
  }
}
