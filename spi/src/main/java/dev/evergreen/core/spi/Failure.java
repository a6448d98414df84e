package dev.evergreen.core.spi;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An exception as it travels and is kept: results that are exceptions are compared by type, message
 * and causes; stack traces only travel.
 *
 * @param type the class name of the exception
 * @param trace where it was thrown, innermost first
 */
public record Failure(
    String type, @Nullable String message, @Nullable Failure cause, List<Frame> trace) {

  /** One line of a stack trace. */
  public record Frame(String type, String method, @Nullable String file, int line) {}

  /** About how many characters it has in all. */
  public long size() {
    long size = 0;
    for (Failure f = this; f != null; f = f.cause) {
      size += f.type.length() + (f.message == null ? 0 : f.message.length());
      for (var frame : f.trace) {
        size += frame.type.length() + frame.method.length() + 16L;
      }
    }
    return size;
  }

  /** Whether both are the same result: the same type, message and causes. */
  public boolean same(Failure other) {
    Failure a = this;
    Failure b = other;
    while (a != null && b != null) {
      if (!a.type.equals(b.type) || !Objects.equals(a.message, b.message)) {
        return false;
      }
      a = a.cause;
      b = b.cause;
    }
    return a == null && b == null;
  }
}
