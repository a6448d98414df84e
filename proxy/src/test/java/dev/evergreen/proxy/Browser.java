package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A client on a bare socket, which says just what it is told and shows just what it got. */
final class Browser implements AutoCloseable {

  /** What came: the status, the lines of the fields, and the body without its framing. */
  record Answer(int status, List<String> fields, String body) {
    String field(String name) {
      return fields.stream()
          .filter(
              line -> line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"))
          .map(line -> line.substring(name.length() + 1).strip())
          .findFirst()
          .orElse("");
    }

    boolean has(String name) {
      return fields.stream()
          .anyMatch(
              l -> l.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"));
    }
  }

  private final Socket socket;
  private final InputStream in;

  Browser(InetSocketAddress proxy) throws IOException {
    socket = new Socket(proxy.getAddress(), proxy.getPort());
    socket.setSoTimeout(20_000);
    in = new BufferedInputStream(socket.getInputStream());
  }

  void send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    socket.getOutputStream().flush();
  }

  /** Sends a request without a body. */
  void ask(String method, String path, String... fields) throws IOException {
    var text = new StringBuilder(method + " " + path + " HTTP/1.1\r\nHost: test");
    for (var field : fields) {
      text.append("\r\n").append(field);
    }
    send(text.append("\r\n\r\n").toString());
  }

  Answer get(String path, String... fields) throws IOException {
    ask("GET", path, fields);
    return receive(false);
  }

  Answer head(String path, String... fields) throws IOException {
    ask("HEAD", path, fields);
    return receive(true);
  }

  Answer receive() throws IOException {
    return receive(false);
  }

  /** Receives the next answer. */
  Answer receive(boolean toHead) throws IOException {
    var status = line();
    var lines = new ArrayList<String>();
    for (var line = line(); !line.isEmpty(); line = line()) {
      lines.add(line);
    }
    var head = new Answer(Integer.parseInt(status.substring(9, 12)), lines, "");
    if (toHead || head.status() == 304 || head.status() == 204 || head.status() < 200) {
      return head;
    }
    return new Answer(head.status(), lines, body(head));
  }

  private String body(Answer head) throws IOException {
    if (head.field("Transfer-Encoding").equals("chunked")) {
      var body = new StringBuilder();
      while (true) {
        int length = Integer.parseInt(line(), 16);
        body.append(read(length));
        line();
        if (length == 0) {
          return body.toString();
        }
      }
    }
    return head.has("Content-Length")
        ? read(Integer.parseInt(head.field("Content-Length")))
        : new String(in.readAllBytes(), ISO_8859_1);
  }

  /** Receives so many bytes as they are. */
  String read(int count) throws IOException {
    var bytes = in.readNBytes(count);
    if (bytes.length < count) {
      throw new EOFException("only " + bytes.length + " of " + count + " bytes came");
    }
    return new String(bytes, ISO_8859_1);
  }

  String line() throws IOException {
    var line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new EOFException("the connection ended in a line: " + line.toString(ISO_8859_1));
      }
      if (b != '\r') {
        line.write(b);
      }
    }
    return line.toString(ISO_8859_1);
  }

  /** Whether the proxy has closed the connection, once it has. */
  boolean ended() throws IOException {
    return in.read() < 0;
  }

  /** Says that it will send no more, but takes what comes. */
  void endOutput() throws IOException {
    socket.shutdownOutput();
  }

  /** Leaves at once, as a client does whose process dies. */
  void vanish() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
