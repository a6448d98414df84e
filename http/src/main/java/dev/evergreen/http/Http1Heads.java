package dev.evergreen.http;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Reads heads and trailers of HTTP/1.1 by the grammar of RFC 9112, and nothing beyond it: where the
 * RFC lets a recipient be generous and others are not, two would see different messages in the same
 * bytes. Whatever waits gives its buffer back.
 */
final class Http1Heads {
  private static final String[] METHODS = {
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "PATCH", "TRACE", "PURGE"
  };

  private Http1Heads() {}

  /**
   * Reads a request's head, of which something is there. One empty line before it is skipped.
   *
   * @param relayed whether the fields stay as they came, whatever the target says
   */
  static void request(Input in, RequestHead into, HttpSettings limits, boolean relayed)
      throws IOException {
    int length = line(in, limits.firstLine(), 414, limits);
    if (length == 2 && in.buffer().get(in.at()) == '\r') {
      in.skip(2);
      length = line(in, limits.firstLine(), 414, limits);
    }
    requestLine(in.buffer(), in.at(), length, into);
    in.skip(length);
    into.fields().clear();
    fields(in, into.fields(), limits);
    checkHost(into, relayed);
  }

  /** Reads a response's head. */
  static void response(Input in, ResponseHead into, HttpSettings limits) throws IOException {
    int length = line(in, limits.firstLine(), 400, limits);
    statusLine(in.buffer(), in.at(), length, into);
    in.skip(length);
    fields(in, into.fields(), limits);
  }

  /** Waits for a whole line; answers its length. */
  private static int line(Input in, int limit, int statusBeyond, HttpSettings settings)
      throws IOException {
    int length = in.tryLine(limit);
    while (length == Input.NOT_YET) {
      in.awaitHead(settings.head());
      length = in.tryLine(limit);
    }
    return checkLine(length, statusBeyond);
  }

  private static int checkLine(int length, int statusBeyond) throws MalformedMessageException {
    if (length == Input.TOO_LONG) {
      throw new MalformedMessageException(statusBeyond, "a line of a head is too long");
    }
    return length;
  }

  private static void fields(Input in, Fields into, HttpSettings limits) throws IOException {
    while (!tryField(in, line(in, limits.fieldLine(), 431, limits), into, limits)) {
      // Goes on to the empty line.
    }
    in.endHead();
  }

  /**
   * Reads trailers as far as they are there.
   *
   * @return whether they have come to their end
   */
  static boolean tryTrailers(Input in, Fields into, HttpSettings limits) throws IOException {
    while (true) {
      int length = checkLine(in.tryLine(limits.fieldLine()), 431);
      if (length == Input.NOT_YET) {
        return false;
      }
      if (tryField(in, length, into, limits)) {
        return true;
      }
    }
  }

  /** Takes a line; true if it was the empty one that ends the fields. */
  private static boolean tryField(Input in, int length, Fields into, HttpSettings limits)
      throws IOException {
    if (length == 2 && in.buffer().get(in.at()) == '\r') {
      in.skip(2);
      return true;
    }
    if (into.count() == limits.fieldCount() || into.size() + length > limits.fieldBytes()) {
      throw new MalformedMessageException(431, "too many fields");
    }
    var _ = into.appendLine(in.buffer(), in.at(), length);
    in.skip(length);
    return false;
  }

  private static void requestLine(ByteBuffer from, int at, int length, RequestHead into)
      throws MalformedMessageException {
    int end = at + length - 2;
    if (length < 2 || from.get(end) != '\r') {
      throw new MalformedMessageException("the request line ends without CR");
    }
    int space = at;
    while (space < end && Characters.isToken(from.get(space))) {
      space++;
    }
    int second = Bytes.find(from, (byte) ' ', Math.min(space + 1, end), end);
    if (space == at || space == end || from.get(space) != ' ' || second == end) {
      throw new MalformedMessageException(
          "the request line has not a method, a target and a version");
    }
    into.version(version(from, second + 1, end)).method(method(from, at, space - at));
    int targetLength = second - space - 1;
    if (targetLength == 0 || !into.target(from, space + 1, targetLength)) {
      throw new MalformedMessageException("the target is empty or has controls");
    }
    checkTarget(into);
  }

  private static Version version(ByteBuffer from, int at, int end)
      throws MalformedMessageException {
    if (!startsWith(from, at, end, "HTTP/")
        || end - at != 8
        || !Characters.isDigit(from.get(at + 5))
        || from.get(at + 6) != '.'
        || !Characters.isDigit(from.get(at + 7))) {
      throw new MalformedMessageException("no version of HTTP");
    }
    if (from.get(at + 5) != '1' || from.get(at + 7) > '1') {
      throw new MalformedMessageException(505, "this version is not spoken here");
    }
    return from.get(at + 7) == '1' ? Version.HTTP_1_1 : Version.HTTP_1_0;
  }

  private static boolean startsWith(ByteBuffer from, int at, int end, String text) {
    if (end - at < text.length()) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (from.get(at + i) != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private static String method(ByteBuffer from, int at, int length) {
    for (var known : METHODS) {
      if (known.length() == length && startsWith(from, at, at + length, known)) {
        return known;
      }
    }
    var bytes = new byte[length];
    from.get(at, bytes);
    return new String(bytes, java.nio.charset.StandardCharsets.US_ASCII);
  }

  /**
   * One of the four forms of RFC 9112 §3.2, without a fragment, and with a host that can be one.
   */
  static void checkTarget(RequestHead head) throws MalformedMessageException {
    byte[] target = head.targetBytes();
    int length = head.targetLength();
    for (int i = 0; i < length; i++) {
      if (target[i] == '#') {
        throw new MalformedMessageException("a fragment in the target");
      }
    }
    if (head.is("CONNECT")) {
      if (!Hosts.isHostAndPort(target, 0, length)) {
        throw new MalformedMessageException("CONNECT needs a host and a port");
      }
    } else if (head.isAbsolute()) {
      if (head.authorityAt() == head.authorityEnd()
          || !isScheme(target, head.authorityAt() - 3)
          || !Hosts.isHost(target, head.authorityAt(), head.authorityEnd())) {
        throw new MalformedMessageException("no such URI can be the target");
      }
    } else if (target[0] != '/' && !(length == 1 && target[0] == '*' && head.is("OPTIONS"))) {
      throw new MalformedMessageException("the target is neither a path nor a URI");
    }
  }

  private static boolean isScheme(byte[] target, int end) {
    return isText(target, end, "http") || isText(target, end, "https");
  }

  private static boolean isText(byte[] target, int end, String text) {
    boolean same = end == text.length();
    for (int i = 0; same && i < end; i++) {
      same = Characters.lower(target[i]) == text.charAt(i);
    }
    return same;
  }

  static void checkHost(RequestHead head, boolean relayed) throws MalformedMessageException {
    var fields = head.fields();
    int line = fields.find("host");
    if (line < 0) {
      if (head.version() == Version.HTTP_1_1) {
        throw new MalformedMessageException("a request needs a Host");
      }
    } else {
      int at = fields.valueAt(line);
      if (fields.find("host", line + 1) >= 0
          || !Hosts.isHost(fields.bytes(), at, at + fields.valueLength(line))) {
        throw new MalformedMessageException("several Hosts, or one that cannot be");
      }
    }
    if (head.isAbsolute() && !relayed) {
      var authority = head.authority();
      if (line < 0 || !fields.valueIs(line, authority)) {
        fields.set("Host", authority);
      }
    }
  }

  private static void statusLine(ByteBuffer from, int at, int length, ResponseHead into)
      throws MalformedMessageException {
    int end = at + length - 2;
    if (length < 14 || from.get(end) != '\r' || from.get(at + 8) != ' ') {
      throw new MalformedMessageException("no status line");
    }
    into.version(version(from, at, at + 8));
    int status = 0;
    for (int i = at + 9; i < at + 12; i++) {
      if (!Characters.isDigit(from.get(i))) {
        throw new MalformedMessageException("a status has three digits");
      }
      status = 10 * status + from.get(i) - '0';
    }
    // Some leave out the blank before a reason that is empty.
    if (status < 100 || status > 599 || (end > at + 12 && from.get(at + 12) != ' ')) {
      throw new MalformedMessageException("no such status");
    }
    into.status(status);
    if (end > at + 12) {
      reason(from, at + 13, end, into);
    }
  }

  private static void reason(ByteBuffer from, int at, int end, ResponseHead into)
      throws MalformedMessageException {
    for (int i = at; i < end; i++) {
      if (!Characters.isValue(from.get(i))) {
        throw new MalformedMessageException("a control character in the reason");
      }
    }
    var usual = Reasons.of(into.status());
    if (usual.length() != end - at || !startsWith(from, at, end, usual)) {
      var bytes = new byte[end - at];
      from.get(at, bytes);
      into.reason(new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1));
    }
  }
}
