package dev.evergreen.web;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A socket that says whatever a test wants it to. */
final class RawClient implements AutoCloseable {

  static final String UPGRADE =
      String.join(
          "\r\n",
          "GET /live HTTP/1.1",
          "Host: 127.0.0.1",
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
          "",
          "");

  private final Socket socket;

  RawClient(WebServer server) throws IOException {
    this(server, 0);
  }

  /**
   * Connects.
   *
   * @param receiveBuffer the kernel's buffer in bytes, or 0 for the usual
   */
  RawClient(WebServer server, int receiveBuffer) throws IOException {
    socket = new Socket();
    if (receiveBuffer > 0) {
      socket.setReceiveBufferSize(receiveBuffer);
    }
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
    socket.setSoTimeout((int) Duration.ofSeconds(20).toMillis());
  }

  /** Waits no longer than this for an answer. */
  void impatient(Duration limit) throws IOException {
    socket.setSoTimeout((int) limit.toMillis());
  }

  void send(String text) throws IOException {
    send(text.getBytes(StandardCharsets.UTF_8));
  }

  void send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** A request whose second line is the host. */
  static String lines(String first, String... others) {
    return first + "\r\nHost: localhost\r\n" + String.join("\r\n", others);
  }

  /** A frame as a client must send it, masked with zeros. */
  static byte[] frame(int firstByte, byte[] payload) {
    var out = new ByteArrayOutputStream();
    out.write(firstByte);
    if (payload.length < 126) {
      out.write(0x80 | payload.length);
    } else {
      out.write(0x80 | 126);
      out.write(payload.length >> 8);
      out.write(payload.length);
    }
    out.writeBytes(new byte[4]);
    out.writeBytes(payload);
    return out.toByteArray();
  }

  static byte[] text(String message) {
    return frame(0x81, message.getBytes(StandardCharsets.UTF_8));
  }

  /** Reads the head of an answer and gives its status; 0 when the connection ends before. */
  int status() throws IOException {
    var head = new ByteArrayOutputStream();
    while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
      int b = read();
      if (b < 0) {
        return 0;
      }
      head.write(b);
    }
    return Integer.parseInt(head.toString(StandardCharsets.ISO_8859_1).split(" ", 3)[1]);
  }

  private int read() throws IOException {
    try {
      return socket.getInputStream().read();
    } catch (SocketException reset) {
      return -1;
    }
  }

  /** Reads what there is; fails when that is nothing for 20 seconds, or the end. */
  String some() throws IOException {
    var buffer = new byte[8192];
    int count = socket.getInputStream().read(buffer);
    if (count < 0) {
      throw new SocketException("The server has closed.");
    }
    return new String(buffer, 0, count, StandardCharsets.ISO_8859_1);
  }

  /** Sends nothing more, but goes on reading. */
  void finishSending() throws IOException {
    socket.shutdownOutput();
  }

  /** A frame of a WebSocket that the server has sent. */
  record Received(int firstByte, byte[] payload) {}

  /** Reads a frame; null when the connection ends before. */
  @Nullable Received frame() throws IOException {
    int first = read();
    int length = read();
    if (length == 126) {
      length = read() << 8 | read();
    }
    if (length < 0) {
      return null;
    }
    return new Received(first, socket.getInputStream().readNBytes(length));
  }

  /** Reads on until the server closes; fails after 20 seconds. */
  String rest() throws IOException {
    var all = new ByteArrayOutputStream();
    int b;
    while ((b = read()) >= 0) {
      all.write(b);
    }
    return all.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
