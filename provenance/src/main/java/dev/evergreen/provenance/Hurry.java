package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;

/**
 * How a process that reads a trace asks the loader of another one to hurry with what is recorded
 * until then: by the time of a file in the spool's directory.
 */
final class Hurry {
  private static final System.Logger LOG = System.getLogger(Hurry.class.getName());
  private static final String NAME = "wanted";

  private Hurry() {}

  /** Asks for it; in vain where this process may not write. */
  static void ask(Path directory) {
    var file = directory.resolve(NAME);
    try {
      SpoolFiles.makeFile(file);
      Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "The loader is not asked to hurry", e);
    }
  }

  /** When somebody has asked for it last; 1970 if nobody has. */
  static Instant asked(Path directory) {
    return Instant.ofEpochMilli(directory.resolve(NAME).toFile().lastModified());
  }
}
