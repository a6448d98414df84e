package dev.evergreen.http;

/** The fields that belong to one connection, not to the message (RFC 9110 §7.6.1). */
final class Hops {
  private static final String[] NOT_IN_TRAILERS = {
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "host",
    "trailer"
  };

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

  /** What would change how a message is framed or for whom it is cannot come behind it. */
  static void removeFromTrailers(Fields trailers) {
    if (trailers.count() > 0) {
      for (var name : NOT_IN_TRAILERS) {
        trailers.remove(name);
      }
    }
  }
}
