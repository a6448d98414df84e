package dev.evergreen.memcached.live;

import dev.evergreen.core.ComputationFailedException;
import dev.evergreen.json.ResultJson;
import dev.evergreen.live.UnwritableException;

/** A live item has no value to answer with. The message names the view and is one line. */
public final class LiveItemException extends Exception {

  private static final int MAX_LENGTH = 400;

  LiveItemException(String view, String why) {
    // Not a trace: it is an answer, and may be given often.
    super(line("view " + view + ": " + why), null, false, false);
  }

  /** What is told instead of a result that failed. */
  static LiveItemException told(String view, Exception failure) {
    return new LiveItemException(
        view,
        switch (failure) {
          case UnwritableException unwritable
              when unwritable.why() instanceof ResultJson.TooLargeException tooLarge ->
              "its result is larger than an item may be: " + tooLarge.getMessage();
          case UnwritableException unwritable ->
              "its result cannot be written: " + unwritable.why();
          default -> reason(failure);
        });
  }

  private static String reason(Exception failure) {
    Throwable cause = failure;
    while (cause instanceof ComputationFailedException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    var message = cause.getMessage();
    return cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
  }

  /** In printable ASCII, so that it can be a line of a protocol. */
  private static String line(String text) {
    var plain = text.replaceAll("\\s+", " ").replaceAll("[^ -~]", "?");
    return plain.length() <= MAX_LENGTH ? plain : plain.substring(0, MAX_LENGTH - 3) + "...";
  }
}
