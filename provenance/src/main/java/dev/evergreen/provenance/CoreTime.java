package dev.evergreen.provenance;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * How long a thread has been on a core, and how long it was ready to be and others were: Linux
 * counts both. Used by that thread.
 */
final class CoreTime implements Closeable {
  private static final System.Logger LOG = System.getLogger(CoreTime.class.getName());
  private static final Path COUNTERS = Path.of("/proc/thread-self/schedstat");

  private final @Nullable FileChannel counters;
  private final ByteBuffer text = ByteBuffer.allocateDirect(128);

  /**
   * Nanoseconds so far.
   *
   * @param ran on a core
   * @param waited for one
   */
  record Reading(long ran, long waited) {
    static final Reading NONE = new Reading(0, 0);

    Reading since(Reading earlier) {
      return new Reading(ran - earlier.ran, waited - earlier.waited);
    }
  }

  private CoreTime(@Nullable FileChannel counters) {
    this.counters = counters;
  }

  /** That of the calling thread; of nothing where the system does not tell. */
  static CoreTime ofThisThread() {
    try {
      return new CoreTime(FileChannel.open(COUNTERS, StandardOpenOption.READ));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "The system does not tell who waits for cores", e);
      return new CoreTime(null);
    }
  }

  /** What is counted now; none where the system does not tell. */
  Reading read() {
    var file = counters;
    if (file == null) {
      return Reading.NONE;
    }
    try {
      text.clear();
      file.read(text, 0);
      return parsed(StandardCharsets.US_ASCII.decode(text.flip()).toString());
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "The system does not tell who waits for cores", e);
      return Reading.NONE;
    }
  }

  private static Reading parsed(String text) {
    var numbers = text.strip().split(" ", -1);
    return numbers.length < 2
        ? Reading.NONE
        : new Reading(Long.parseLong(numbers[0]), Long.parseLong(numbers[1]));
  }

  @Override
  public void close() throws IOException {
    if (counters != null) {
      counters.close();
    }
  }
}
