package dev.evergreen.http;

/** The grammar of hosts with ports (RFC 3986 §3.2.2), without users. */
final class Hosts {
  private static final String NAME_MARKS = "-._~!$&'()*+;=%";

  /** No name of the internet is longer (RFC 1035 §2.3.4); each is copied to several places. */
  private static final int LONGEST = 255;

  private Hosts() {}

  /**
   * Whether some bytes are a host, with or without a port, or nothing: RFC 9110 §4.2.1 refuses a
   * port of no host.
   */
  static boolean isHost(byte[] bytes, int from, int to) {
    int end = hostEnd(bytes, from, to);
    return end >= 0 && (end == to || (end > from && isPort(bytes, end, to)));
  }

  /** Whether some bytes are a host that is not empty, and a port that is not. */
  static boolean isHostAndPort(byte[] bytes, int from, int to) {
    int end = hostEnd(bytes, from, to);
    return end > from && end + 1 < to && isPort(bytes, end, to);
  }

  private static boolean isPort(byte[] bytes, int colon, int to) {
    if (bytes[colon] != ':' || to - colon > 6) {
      return false;
    }
    for (int i = colon + 1; i < to; i++) {
      if (!Characters.isDigit(bytes[i])) {
        return false;
      }
    }
    return true;
  }

  /** Where the host ends, or -1 if it is none. */
  private static int hostEnd(byte[] bytes, int from, int to) {
    int end = endOfAny(bytes, from, to);
    return end - from <= LONGEST ? end : -1;
  }

  private static int endOfAny(byte[] bytes, int from, int to) {
    if (from < to && bytes[from] == '[') {
      return literalEnd(bytes, from, to);
    }
    int i = from;
    while (i < to && bytes[i] != ':') {
      if (!isNameByte(bytes[i])) {
        return -1;
      }
      i++;
    }
    return i;
  }

  private static int literalEnd(byte[] bytes, int from, int to) {
    for (int i = from + 1; i < to; i++) {
      if (bytes[i] == ']') {
        return i > from + 1 ? i + 1 : -1;
      }
      if (bytes[i] != ':' && !isNameByte(bytes[i])) {
        return -1;
      }
    }
    return -1;
  }

  private static boolean isNameByte(int b) {
    int c = Characters.lower(b);
    return (c >= 'a' && c <= 'z') || Characters.isDigit(c) || (c > 0 && NAME_MARKS.indexOf(c) >= 0);
  }
}
