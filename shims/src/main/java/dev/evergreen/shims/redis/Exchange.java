package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Asks what the shim itself has to ask, by a connection that nobody else uses meanwhile. */
final class Exchange {

  private static final String TOO_MANY = "-ERR max number of clients";

  private Exchange() {}

  /** Redis takes no more connections, and says so. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;
    private final byte[] said;

    RefusedException(Reply reply) {
      super("Redis takes no more connections: " + reply.text().strip());
      said = reply.bytes();
    }

    byte[] said() {
      return said.clone();
    }
  }

  /** A reply, whole. */
  record Reply(byte kind, byte[] bytes) {
    boolean isError() {
      return kind == '-' || kind == '!';
    }

    /** A character for each byte. */
    String text() {
      return new String(bytes, StandardCharsets.ISO_8859_1);
    }
  }

  /** Sends a request in RESP2, and answers its reply, which has so many bytes at most. */
  static Reply askLong(Connection connection, byte[] request, int most) throws IOException {
    connection.write(request);
    connection.flush();
    var scanner = new ReplyScanner();
    var buffer = ByteBuffer.allocate(Math.min(most, Buffers.SIZE));
    while (!scanner.scan(buffer, buffer.position())) {
      if (scanner.strange()) {
        throw new ProtocolException("the store does not speak Redis's protocol");
      }
      if (!buffer.hasRemaining()) {
        buffer = longer(buffer, most);
      }
      if (connection.read(buffer) < 0) {
        throw new EOFException("the store has ended the connection");
      }
    }
    return new Reply(scanner.kind(), Arrays.copyOf(buffer.array(), scanner.at));
  }

  private static ByteBuffer longer(ByteBuffer full, int most) throws IOException {
    if (full.capacity() == most) {
      throw new ProtocolException("a reply to the shim's own request is too long");
    }
    return ByteBuffer.allocate(Math.min(most, 2 * full.capacity())).put(full.flip());
  }

  /** What is to be done when nothing has come for as long as the connection's time limit. */
  interface OnSilence {
    /** Returns if it is to be waited on. */
    void isSilent() throws IOException;
  }

  /** Sends requests together, and answers their replies, which must be short. */
  static List<Reply> ask(Connection connection, List<byte[]> requests) throws IOException {
    return ask(connection, requests, null);
  }

  /** The same, where silence need not be the end. */
  static List<Reply> ask(
      Connection connection, List<byte[]> requests, @Nullable OnSilence onSilence)
      throws IOException {
    for (var request : requests) {
      connection.write(request);
    }
    connection.flush();
    var replies = new ArrayList<Reply>();
    try (var loan = Buffers.borrow()) {
      var buffer = loan.buffer();
      var scanner = new ReplyScanner();
      int from = 0;
      while (replies.size() < requests.size()) {
        if (!buffer.hasRemaining()) {
          throw new ProtocolException("a reply to the shim's own requests is too long");
        }
        if (read(connection, buffer, onSilence) < 0) {
          throw new EOFException("the store has ended the connection");
        }
        while (replies.size() < requests.size() && scanner.scan(buffer, buffer.position())) {
          var bytes = new byte[scanner.at - from];
          buffer.get(from, bytes);
          from = scanner.at;
          if (scanner.kind() != '>') {
            var reply = new Reply(scanner.kind(), bytes);
            if (replies.isEmpty() && reply.text().startsWith(TOO_MANY)) {
              throw new RefusedException(reply);
            }
            replies.add(reply);
          }
        }
        if (scanner.strange()) {
          throw new ProtocolException("the store does not speak Redis's protocol");
        }
      }
    }
    return replies;
  }

  private static int read(Connection connection, ByteBuffer into, @Nullable OnSilence onSilence)
      throws IOException {
    while (true) {
      try {
        return connection.read(into);
      } catch (SocketTimeoutException e) {
        if (onSilence == null) {
          throw e;
        }
        onSilence.isSilent();
      }
    }
  }
}
