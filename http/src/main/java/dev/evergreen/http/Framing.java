package dev.evergreen.http;

/**
 * Where the body of a message of HTTP/1.1 ends (RFC 9112 §6), decided from its head. Whatever could
 * be understood in two ways is refused.
 */
final class Framing {
  /** The body has chunks. */
  static final long CHUNKED = -1;

  /** The body lasts until the connection ends; of responses only. */
  static final long TO_END = -2;

  private static final int MOST_DIGITS = 18;

  private Framing() {}

  /** The length of a request's body, or {@link #CHUNKED}. */
  static long ofRequest(RequestHead head) throws MalformedMessageException {
    var fields = head.fields();
    long length = contentLength(fields);
    int coding = fields.find("transfer-encoding");
    if (coding < 0) {
      checkConnect(head, length > 0);
      return Math.max(0, length);
    }
    checkCoding(head.version(), fields, coding, length);
    checkConnect(head, true);
    return CHUNKED;
  }

  private static void checkConnect(RequestHead head, boolean body)
      throws MalformedMessageException {
    if (body && head.is("CONNECT")) {
      throw new MalformedMessageException("CONNECT has no body");
    }
  }

  /** Whether a response ends with its head, whatever that says (RFC 9112 §6.3). */
  static boolean isWithoutBody(int status, boolean toHead) {
    return toHead || status < 200 || status == 204 || status == 304;
  }

  /**
   * The length of a response's body, {@link #CHUNKED} or {@link #TO_END}.
   *
   * @param toHead whether it answers HEAD
   */
  static long ofResponse(ResponseHead head, boolean toHead) throws MalformedMessageException {
    var fields = head.fields();
    long length = contentLength(fields);
    int coding = fields.find("transfer-encoding");
    int status = head.status();
    if (coding >= 0) {
      checkCoding(head.version(), fields, coding, length);
    }
    if (status < 200 && (coding >= 0 || length > 0)) {
      throw new MalformedMessageException("a status " + status + " has no body");
    }
    if (isWithoutBody(status, toHead)) {
      return 0;
    }
    return coding >= 0 ? CHUNKED : length >= 0 ? length : TO_END;
  }

  private static void checkCoding(Version version, Fields fields, int line, long length)
      throws MalformedMessageException {
    if (version == Version.HTTP_1_0) {
      throw new MalformedMessageException("HTTP/1.0 has no Transfer-Encoding");
    }
    if (length >= 0) {
      throw new MalformedMessageException("both a Content-Length and a Transfer-Encoding");
    }
    if (fields.find("transfer-encoding", line + 1) >= 0) {
      throw new MalformedMessageException("several lines of Transfer-Encoding");
    }
    if (!fields.valueIs(line, "chunked")) {
      boolean names = Characters.isToken(fields.value(line).replaceAll("[, \t]", ""));
      boolean last = fields.value(line).toLowerCase(java.util.Locale.ROOT).endsWith("chunked");
      throw new MalformedMessageException(
          names && (last || fields.members("transfer-encoding").size() == 1) ? 501 : 400,
          "no other Transfer-Encoding than chunked is understood");
    }
  }

  /** What Content-Length says, or -1 if there is none. */
  static long contentLength(Fields fields) throws MalformedMessageException {
    int line = fields.find("content-length");
    if (line < 0) {
      return -1;
    }
    int digits = fields.valueLength(line);
    if (fields.find("content-length", line + 1) >= 0 || digits == 0 || digits > MOST_DIGITS) {
      throw new MalformedMessageException("several Content-Lengths, or one that cannot be");
    }
    long length = 0;
    for (int i = 0; i < digits; i++) {
      if (!Characters.isDigit(fields.valueByte(line, i))) {
        throw new MalformedMessageException("a Content-Length is a number");
      }
      length = 10 * length + fields.valueByte(line, i) - '0';
    }
    return length;
  }
}
