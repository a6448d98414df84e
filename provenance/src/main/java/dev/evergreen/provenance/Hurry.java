package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * How a process that reads a trace asks the loader of another one to hurry: by a file in the
 * spool's directory, in which it says up to which number it wants what is recorded. A time would
 * say that only as long as nobody sets the clock.
 */
final class Hurry {
  private static final System.Logger LOG = System.getLogger(Hurry.class.getName());
  private static final String NAME = "wanted";

  private Hurry() {}

  /**
   * Asks for what is recorded up to a number; in vain where this process may not write. Others may
   * ask for another one at the same time, so it is to be asked again as long as it is wanted.
   */
  static void ask(Path directory, long number) {
    if (asked(directory) == number) {
      return;
    }
    var file = directory.resolve(NAME);
    try {
      SpoolFiles.makeFile(file);
      try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.write(ByteBuffer.allocate(Long.BYTES).putLong(0, number), 0);
      }
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "The loader is not asked to hurry", e);
    }
  }

  /** Up to which number what is recorded was asked for last; 0 if nobody has. */
  static long asked(Path directory) {
    var number = ByteBuffer.allocate(Long.BYTES);
    try (var channel = FileChannel.open(directory.resolve(NAME), StandardOpenOption.READ)) {
      channel.read(number, 0);
      return number.hasRemaining() ? 0 : number.getLong(0);
    } catch (IOException e) {
      // Nobody has asked yet.
      LOG.log(System.Logger.Level.TRACE, "Nobody asks the loader to hurry", e);
      return 0;
    }
  }
}
