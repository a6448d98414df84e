package dev.evergreen.memcached.live;

/** A live item has no value to answer with. The message names the view and is one line. */
public final class LiveItemException extends Exception {

  private static final int MAX_LENGTH = 400;

  LiveItemException(String view, String why) {
    // Not a trace: it is an answer, and may be given often.
    super(line("view " + view + ": " + why), null, false, false);
  }

  /** In printable ASCII, so that it can be a line of a protocol. */
  private static String line(String text) {
    var plain = text.replaceAll("\\s+", " ").replaceAll("[^ -~]", "?");
    return plain.length() <= MAX_LENGTH ? plain : plain.substring(0, MAX_LENGTH - 3) + "...";
  }
}
