package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;

/** A plain socket that speaks in strings, a character for each byte. */
final class Client implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  final Socket socket;
  private int exchanges;

  Client(SocketAddress address) throws IOException {
    this(connected(address));
  }

  /** Speaks through a socket that is connected. */
  Client(Socket socket) throws IOException {
    this.socket = socket;
    socket.setTcpNoDelay(true);
    socket.setSoTimeout((int) PATIENCE.toMillis());
  }

  private static Socket connected(SocketAddress address) throws IOException {
    var socket = new Socket();
    socket.connect(address);
    return socket;
  }

  Client(int port) throws IOException {
    this(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  void send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
  }

  /** Reads so many bytes, or up to the end. */
  String read(int bytes) throws IOException {
    return new String(socket.getInputStream().readNBytes(bytes), ISO_8859_1);
  }

  /** Reads a line, without its end. */
  String line() throws IOException {
    var line = new StringBuilder();
    for (int c = byteRead(); c != '\n'; c = byteRead()) {
      if (c < 0) {
        return line + "<end>";
      }
      line.append((char) c);
    }
    return line.substring(0, Math.max(0, line.length() - 1));
  }

  private int byteRead() throws IOException {
    return socket.getInputStream().read();
  }

  /** Sends a command and answers the first line of the reply. */
  String ask(String command) throws IOException {
    send(command + "\r\n");
    return line();
  }

  /**
   * Sends bytes and a question that nothing else asks, by a name that no test gives; answers all
   * that comes before its reply.
   */
  String exchange(String bytes) throws IOException {
    var name = "Oexchange" + ++exchanges;
    send(bytes + "mg no-such-key " + name + "\r\n");
    return upTo("EN " + name + "\r\n");
  }

  /** Reads up to the given bytes, which are left out, or to the end, which is said. */
  String upTo(String end) throws IOException {
    var reply = new ByteArrayOutputStream();
    var buffer = new byte[8192];
    while (true) {
      int n;
      try {
        n = socket.getInputStream().read(buffer);
      } catch (SocketTimeoutException e) {
        throw new AssertionError("no end of the reply: " + reply.toString(ISO_8859_1), e);
      }
      if (n < 0) {
        return reply.toString(ISO_8859_1) + "<end>";
      }
      reply.write(buffer, 0, n);
      var text = reply.toString(ISO_8859_1);
      if (text.endsWith(end)) {
        return text.substring(0, text.length() - end.length());
      }
    }
  }

  /** Reads what comes until the other side closes. */
  String rest() throws IOException {
    return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
