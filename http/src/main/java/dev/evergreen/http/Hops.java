package dev.evergreen.http;

import java.util.List;

/** The fields that belong to one connection, not to the message (RFC 9110 §7.6.1). */
public final class Hops {
  /** Their names, in small letters; besides those that Connection lists. */
  public static final List<String> NAMES =
      List.of("connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade");

  /**
   * By RFC 9110 §6.5.1, besides these: what frames the message, says for whom it is or who may have
   * it, is a condition, steers caches, or tells how the content is to be read.
   */
  private static final List<String> NOT_IN_TRAILERS =
      List.of(
          "content-length",
          "trailer",
          "host",
          "expect",
          "max-forwards",
          "authorization",
          "proxy-authenticate",
          "proxy-authorization",
          "www-authenticate",
          "cookie",
          "set-cookie",
          "if-match",
          "if-none-match",
          "if-modified-since",
          "if-range",
          "if-unmodified-since",
          "range",
          "age",
          "cache-control",
          "date",
          "expires",
          "location",
          "pragma",
          "retry-after",
          "vary",
          "content-encoding",
          "content-range",
          "content-type");

  private Hops() {}

  /** Whether a line belongs to the connection, or tells the body's length. */
  static boolean isDropped(Fields fields, int line, boolean connectionLists) {
    return isOne(fields, line)
        || fields.isNamed(line, "content-length")
        || (connectionLists && fields.hasMember("connection", fields.name(line)));
  }

  private static boolean isOne(Fields fields, int line) {
    for (int i = 0; i < NAMES.size(); i++) { // This is done for each line that is sent.
      if (fields.isNamed(line, NAMES.get(i))) {
        return true;
      }
    }
    return false;
  }

  /** Who has put fields and trailers together would take them for what no sender may send there. */
  static void removeFromTrailers(Fields trailers) {
    if (trailers.count() > 0) {
      NAMES.forEach(trailers::remove);
      NOT_IN_TRAILERS.forEach(trailers::remove);
    }
  }
}
