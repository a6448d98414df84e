package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Looks from another process how far a spool has come, again and again: each time only at what has
 * come since, as to walk through a whole file takes long. To be used by one thread.
 */
final class SpoolEnd {
  private static final long NONE = -1;

  private final Path directory;

  /** The file that was the newest. */
  private long index = NONE;

  /** Behind its last frame that was finished. */
  private long place;

  SpoolEnd(Path directory) {
    this.directory = directory;
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
    // Nor does another file ever get the index of one that was removed.
    place = segment.finishedFrom(segment.index() == index ? place : SpoolSegment.start());
    index = segment.index();
    return segment.number(place) - 1;
  }
}
