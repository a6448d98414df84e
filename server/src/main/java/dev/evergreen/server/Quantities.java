package dev.evergreen.server;

import com.sun.management.OperatingSystemMXBean;
import dev.evergreen.settings.Settings;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.function.Function;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Options that are times, sizes and numbers of statuses, the former in the form that they have in
 * all {@link Settings}.
 */
final class Quantities {

  private Quantities() {}

  /** Reads a time, such as {@code 10s}. */
  static final class Time implements ITypeConverter<Duration> {
    /** Made by picocli. */
    Time() {}

    @Override
    public Duration convert(String value) {
      return read(value, Settings::duration);
    }
  }

  /** Reads a size, such as {@code 64MiB}. */
  static final class Size implements ITypeConverter<Long> {
    /** Made by picocli. */
    Size() {}

    @Override
    public Long convert(String value) {
      return read(value, Settings::size);
    }
  }

  /** Reads the status of a response, such as 404. */
  static final class Status implements ITypeConverter<Integer> {
    /** Made by picocli. */
    Status() {}

    @Override
    public Integer convert(String value) {
      if (!value.matches("[1-5][0-9][0-9]")) {
        throw new TypeConversionException("'" + value + "' is no status, such as 404");
      }
      return Integer.valueOf(value);
    }
  }

  /**
   * The memory of the machine, or of the container, in bytes. Who asks for more is to be told so:
   * the JVM would end at once, and not say by which option.
   */
  static long memoryHere() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getTotalMemorySize();
  }

  static String beyondMemory(String option, long bytes) {
    return "%s must be at most the memory of %d MiB that is here, but is %d MiB"
        .formatted(option, memoryHere() >> 20, bytes >> 20);
  }

  private static <T> T read(String value, Function<String, T> reader) {
    try {
      return reader.apply(value);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException("'" + value + "': " + e.getMessage());
    }
  }
}
