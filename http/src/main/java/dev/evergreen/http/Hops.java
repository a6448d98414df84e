package dev.evergreen.http;

import java.util.List;

/** The fields that belong to one connection, not to the message (RFC 9110 §7.6.1). */
final class Hops {
  /**
   * By RFC 9110 §6.5.1: what belongs to the connection, frames the message, says for whom it is or
   * who may have it, is a condition, steers caches, or tells how the content is to be read.
   */
  private static final List<String> NOT_IN_TRAILERS =
      List.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "te",
          "transfer-encoding",
          "upgrade",
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
    return switch (fields.nameLength(line)) {
          case 2 -> fields.isNamed(line, "te");
          case 7 -> fields.isNamed(line, "upgrade");
          case 10 -> fields.isNamed(line, "connection") || fields.isNamed(line, "keep-alive");
          case 14 -> fields.isNamed(line, "content-length");
          case 16 -> fields.isNamed(line, "proxy-connection");
          case 17 -> fields.isNamed(line, "transfer-encoding");
          default -> false;
        }
        || (connectionLists && fields.hasMember("connection", fields.name(line)));
  }

  /** Who has put fields and trailers together would take them for what no sender may send there. */
  static void removeFromTrailers(Fields trailers) {
    if (trailers.count() > 0) {
      NOT_IN_TRAILERS.forEach(trailers::remove);
    }
  }
}
