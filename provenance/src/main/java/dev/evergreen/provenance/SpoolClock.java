package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The clock by which a spool is recorded, for others on the same machine: the system's own count of
 * nanoseconds, which all of its processes have in common and nobody sets, and what is added to it.
 *
 * @param boot the life of the system in which it counts; empty if that is not known
 */
record SpoolClock(long offset, String boot) {
  private static final String NAME = "clock";
  private static final Pattern FORM = Pattern.compile("(-?[0-8]?[0-9]{1,18}) (.*)");

  void write(Path directory) throws IOException {
    var text = offset + " " + boot;
    SpoolFiles.write(directory, NAME, text.getBytes(StandardCharsets.UTF_8));
  }

  /** From now on nobody can tell. */
  static void forget(Path directory) throws IOException {
    Files.deleteIfExists(directory.resolve(NAME));
  }

  /** What the clock says of the recorder that was the last; empty if nobody can tell. */
  static Optional<Instant> now(Path directory) throws IOException {
    var file = directory.resolve(NAME);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    var words = FORM.matcher(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1));
    if (!words.matches() || !isOfThisBoot(words.group(2))) {
      return Optional.empty();
    }
    return Optional.of(OpRows.instant(System.nanoTime() + Long.parseLong(words.group(1))));
  }

  private static boolean isOfThisBoot(String boot) {
    return !boot.isEmpty() && boot.equals(Reservation.thisBoot());
  }
}
