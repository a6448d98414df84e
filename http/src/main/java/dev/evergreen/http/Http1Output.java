package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Writes heads of HTTP/1.1, straight into the output. */
final class Http1Output {
  /** Room for what is added to a head's own fields. */
  private static final int MORE = 512;

  private static final byte[][] STATUS_LINES = new byte[600][];
  private static final byte[] LENGTH = bytes("Content-Length: ");
  private static final byte[] CHUNKED = bytes("Transfer-Encoding: chunked\r\n");
  private static final byte[] CRLF = bytes("\r\n");

  static {
    for (int status = 100; status < STATUS_LINES.length; status++) {
      STATUS_LINES[status] = bytes("HTTP/1.1 " + status + " " + Reasons.of(status) + "\r\n");
    }
  }

  /** What a head says of its connection. */
  enum Persistence {
    /** Nothing, as it stays by itself. */
    STAYS(""),
    /** That it is closed after this message. */
    CLOSES("Connection: close\r\n"),
    /** That it stays, to peers of HTTP/1.0. */
    STAYS_THOUGH_OLD("Connection: keep-alive\r\n"),
    /** That it leaves HTTP; then Upgrade is kept. */
    UPGRADES("Connection: upgrade\r\n");

    private final String line;

    Persistence(String line) {
      this.line = line;
    }
  }

  private Http1Output() {}

  private static byte[] bytes(String text) {
    return text.getBytes(ISO_8859_1);
  }

  /** Whether there is room for a head, given how many bytes of it are not written here. */
  static boolean hasRoom(int bytes) {
    return bytes <= Buffers.SIZE - MORE;
  }

  /** Makes room for a head. */
  static ByteBuffer reserve(Connection connection, int fields) throws IOException {
    if (!hasRoom(fields)) {
      throw new IllegalArgumentException("a head of " + fields + " bytes is too large");
    }
    return connection.reserve(fields + MORE);
  }

  static void statusLine(ByteBuffer out, int status) {
    out.put(STATUS_LINES[status]);
  }

  /**
   * Writes a status line with a reason that may be another than the usual one; at most as much of
   * it as there is room for.
   */
  static void statusLine(ByteBuffer out, ResponseHead head) {
    var reason = head.reason();
    if (reason.equals(Reasons.of(head.status()))) {
      statusLine(out, head.status());
      return;
    }
    Text.put(out, "HTTP/1.1 " + head.status() + " ");
    Text.put(out, reason.substring(0, Math.min(reason.length(), MORE / 4)));
    out.put(CRLF);
  }

  /** Writes those fields that belong to the message. */
  static void fields(ByteBuffer out, Fields fields, boolean upgrades) {
    boolean lists = fields.has("connection");
    for (int line = 0; line < fields.count(); line++) {
      if (!Hops.isDropped(fields, line, lists) || (upgrades && fields.isNamed(line, "upgrade"))) {
        fields.putLine(line, out);
      }
    }
  }

  /** Ends a head: writes how its body is framed, as {@link Framing} tells, and what follows it. */
  static void end(ByteBuffer out, long framing, Persistence persistence) {
    if (framing >= 0) {
      length(out, framing);
    } else if (framing == Framing.CHUNKED) {
      out.put(CHUNKED);
    }
    endWithout(out, persistence);
  }

  /** Ends a head that says nothing of its body. */
  static void endWithout(ByteBuffer out, Persistence persistence) {
    Text.put(out, persistence.line);
    out.put(CRLF);
  }

  private static void length(ByteBuffer out, long length) {
    out.put(LENGTH);
    Text.putNumber(out, length);
    out.put(CRLF);
  }
}
