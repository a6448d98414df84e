package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;

/** A trace in an SQLite file. */
class SqliteTraceTest extends TraceStoreConformance {
  @Override
  String newUrl() {
    return "";
  }

  @Test
  void isReadableByItsUserOnly() throws Exception {
    try (var recording = record()) {
      Line.open(recording);
      recording.awaitLoaded(java.time.Duration.ofSeconds(60));
      try (var files = Files.list(directory)) {
        for (var file : files.filter(Files::isRegularFile).toList()) {
          assertEquals(
              "rw-------",
              PosixFilePermissions.toString(Files.getPosixFilePermissions(file)),
              file.toString());
        }
      }
    }
  }
}
