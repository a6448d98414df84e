package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Looks from another process how far a spool has come. */
final class SpoolEnd {
  private SpoolEnd() {}

  /** The number of the last frame that is finished; 0 if there is none. */
  static long lastNumber(Path directory) {
    long last = 0;
    try {
      if (Files.isDirectory(directory)) {
        for (long index : SpoolFiles.list(directory).reversed()) {
          try (var segment = SpoolSegment.reading(index, SpoolFiles.path(directory, index))) {
            if (segment != null) {
              last = segment.lastFinished();
              break;
            }
          }
        }
      }
      return last;
    } catch (IOException e) {
      throw new TraceException("The spool in %s cannot be read".formatted(directory), e);
    }
  }
}
