package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.fibers.Connection;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * What a load balancer says of its client before the client's own bytes: the PROXY protocol,
 * versions 1 and 2.
 */
final class ProxyProtocol {

  private static final byte[] SIGNATURE = "\r\n\r\n\0\r\nQUIT\n".getBytes(US_ASCII);
  private static final int LONGEST_LINE = 107;
  private static final int MOST_BYTES = 4096;
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private ProxyProtocol() {}

  /**
   * Reads the header, and not a byte more.
   *
   * @param peer whose connection it is: also the client if the header says that it speaks for
   *     itself
   * @return the client's address
   * @throws IOException if there is no header, or a wrong one
   */
  static InetAddress read(Connection connection, InetAddress peer) throws IOException {
    connection.readDeadline(LIMIT);
    var start = read(connection, SIGNATURE.length);
    var client =
        Arrays.equals(start, SIGNATURE)
            ? readBinary(connection, peer)
            : readLine(connection, start, peer);
    connection.readDeadline(Duration.ofSeconds(Long.MAX_VALUE));
    return client;
  }

  private static byte[] read(Connection connection, int count) throws IOException {
    var bytes = ByteBuffer.allocate(count);
    while (bytes.hasRemaining()) {
      if (connection.read(bytes) < 0) {
        throw new EOFException("the connection ended in the header of the PROXY protocol");
      }
    }
    return bytes.array();
  }

  private static InetAddress readLine(Connection connection, byte[] start, InetAddress peer)
      throws IOException {
    var line = new StringBuilder(new String(start, US_ASCII));
    if (line.indexOf("PROXY ") != 0) {
      throw new IOException("a connection began without a header of the PROXY protocol");
    }
    while (line.indexOf("\r\n") < 0) {
      if (line.length() >= LONGEST_LINE) {
        throw new IOException("the line of the PROXY protocol has no end");
      }
      line.append((char) read(connection, 1)[0]);
    }
    var words = List.of(line.substring(0, line.length() - 2).split(" ", -1));
    if (words.get(1).equals("UNKNOWN")) {
      return peer;
    }
    if (words.size() != 6 || !(words.get(1).equals("TCP4") || words.get(1).equals("TCP6"))) {
      throw new IOException("the line of the PROXY protocol is wrong");
    }
    try {
      return InetAddress.ofLiteral(words.get(2));
    } catch (IllegalArgumentException e) {
      throw new IOException("the line of the PROXY protocol has no address", e);
    }
  }

  private static InetAddress readBinary(Connection connection, InetAddress peer)
      throws IOException {
    var head = ByteBuffer.wrap(read(connection, 4));
    int command = head.get();
    int family = head.get() >> 4;
    int length = head.getShort() & 0xffff;
    if (command >> 4 != 2 || (command & 15) > 1 || length > MOST_BYTES) {
      throw new IOException("the header of the PROXY protocol is wrong");
    }
    var rest = read(connection, length);
    int size = family == 1 ? 4 : family == 2 ? 16 : 0;
    if ((command & 15) == 0 || size == 0) {
      return peer;
    }
    if (length < 2 * size + 4) {
      throw new IOException("the header of the PROXY protocol is too short");
    }
    return InetAddress.getByAddress(Arrays.copyOf(rest, size));
  }
}
