package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * What a spool has given at most: on the disk before any of it is given. A failure of the power may
 * take frames and files from a spool that its database has on the disk. Who records next gives none
 * of their numbers again, which would be two operations of one row, and no file the place that the
 * database holds for another.
 *
 * @param index below which all indexes of files may have been given
 * @param number below which all numbers of frames may have been given
 * @param boot which life of the system has given them: if it is the present one, nothing was lost
 */
record Reservation(long index, long number, String boot) {
  static final Reservation NOTHING = new Reservation(0, 1, "");

  private static final Pattern FORM = Pattern.compile("([0-9]{1,18}) ([0-9]{1,18}) (.*)");
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

  /** That of a spool, which has given nothing if there is none. */
  static Reservation read(Path directory) throws IOException {
    var file = directory.resolve("reserved");
    if (!Files.exists(file)) {
      return NOTHING;
    }
    var words = FORM.matcher(Files.readString(file));
    if (!words.matches()) {
      throw new IOException(
          "%s does not say what was reserved; name another directory".formatted(file));
    }
    return new Reservation(
        Long.parseLong(words.group(1)), Long.parseLong(words.group(2)), words.group(3));
  }

  /** Is on the disk when this returns. */
  void write(Path directory) throws IOException {
    var text = index + " " + number + " " + boot;
    SpoolFiles.write(directory, "reserved", text.getBytes(StandardCharsets.UTF_8));
  }

  boolean ofThisBoot() {
    return !boot.isEmpty() && boot.equals(thisBoot());
  }

  /** Which life of the system this is; empty if it does not say so. */
  static String thisBoot() {
    try {
      return Files.readString(BOOT).strip();
    } catch (IOException e) {
      System.getLogger(Reservation.class.getName())
          .log(System.Logger.Level.DEBUG, "taken for another life of the system", e);
      return "";
    }
  }
}
