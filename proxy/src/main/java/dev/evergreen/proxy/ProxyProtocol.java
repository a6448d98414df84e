package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.evergreen.fibers.Connection;
import java.io.EOFException;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * What a load balancer says of its client before the client's own bytes: the PROXY protocol,
 * versions 1 and 2.
 */
final class ProxyProtocol {

  private static final byte[] SIGNATURE = "\r\n\r\n\0\r\nQUIT\n".getBytes(US_ASCII);
  private static final int LONGEST_LINE = 107;
  private static final int MOST_BYTES = 4096;

  /** Version 2: the balancer speaks for itself, or for its client. */
  private static final int LOCAL = 0x20;

  private static final int PROXY = 0x21;

  /** Families and transports: none, or version 4, 6 or UNIX by streams or datagrams. */
  private static final Set<Integer> KINDS = Set.of(0, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32);

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
    if (words.size() != 6
        || !(words.get(1).equals("TCP4") || words.get(1).equals("TCP6"))
        || !isPort(words.get(4))
        || !isPort(words.get(5))) {
      throw new IOException("the line of the PROXY protocol is wrong");
    }
    boolean four = words.get(1).equals("TCP4");
    var _ = address(words.get(3), four);
    return address(words.get(2), four);
  }

  private static boolean isPort(String word) {
    return word.matches("0|[1-9][0-9]{0,4}") && Integer.parseInt(word) <= 0xffff;
  }

  /** The JDK knows more ways to write addresses than the protocol. */
  private static InetAddress address(String word, boolean four) throws IOException {
    try {
      var address = InetAddress.ofLiteral(word);
      if (four
          ? address instanceof Inet4Address && address.getHostAddress().equals(word)
          : word.matches("[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")) {
        return address;
      }
    } catch (IllegalArgumentException e) {
      // It is no address at all.
    }
    throw new IOException("the line of the PROXY protocol has no address");
  }

  private static InetAddress readBinary(Connection connection, InetAddress peer)
      throws IOException {
    var head = ByteBuffer.wrap(read(connection, 4));
    int command = head.get();
    int kind = head.get();
    int length = head.getShort() & 0xffff;
    boolean local = command == LOCAL;
    if (!(local || (command == PROXY && KINDS.contains(kind))) || length > MOST_BYTES) {
      throw new IOException("the header of the PROXY protocol is wrong");
    }
    var rest = read(connection, length);
    int size = kind >> 4 == 1 ? 4 : kind >> 4 == 2 ? 16 : 0;
    if (local || size == 0) {
      return peer;
    }
    if (length < 2 * size + 4) {
      throw new IOException("the header of the PROXY protocol is too short");
    }
    return InetAddress.getByAddress(Arrays.copyOf(rest, size));
  }
}
