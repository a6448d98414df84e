package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.http.Origin;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An origin on a real socket that does exactly what its script says, also what no server should. It
 * answers each request by the next step of the script, or by the last one again. It reads a body
 * first, unless the request has the field X-Unread.
 */
final class ScriptedOrigin implements AutoCloseable {

  /** A request that came: its first line and fields, and its body. */
  record Received(String head, String body) {
    String field(String name) {
      return head.lines()
          .skip(1)
          .filter(
              line -> line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"))
          .map(line -> line.substring(name.length() + 1).strip())
          .findFirst()
          .orElse("");
    }

    boolean has(String name) {
      return head.lines()
          .skip(1)
          .anyMatch(
              l -> l.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"));
    }

    String line() {
      return head.lines().findFirst().orElse("");
    }
  }

  /** What it does with a connection on which a request has come. */
  interface Step {
    void answer(Received request, Wire wire) throws IOException, InterruptedException;
  }

  /** The connection. */
  record Wire(InputStream in, OutputStream out, Socket socket) {
    void send(String text) throws IOException {
      out.write(text.getBytes(ISO_8859_1));
      out.flush();
    }
  }

  private final ServerSocket listener;
  private final Thread accepting;
  private final List<Step> script = new CopyOnWriteArrayList<>();
  private final BlockingQueue<Received> received = new LinkedBlockingQueue<>();
  private final List<Received> all = new CopyOnWriteArrayList<>();
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private int step;

  ScriptedOrigin() throws IOException {
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    accepting = Thread.ofVirtual().start(this::accept);
  }

  Origin origin() {
    return new Origin(false, "127.0.0.1", listener.getLocalPort());
  }

  /** An answer with a body and fields such as "Cache-Control: max-age=60". */
  static String response(int status, String body, String... fields) {
    var text = new StringBuilder("HTTP/1.1 " + status + " X\r\nContent-Length: " + body.length());
    for (var field : fields) {
      text.append("\r\n").append(field);
    }
    return text.append("\r\n\r\n").append(body).toString();
  }

  ScriptedOrigin then(Step next) {
    script.add(next);
    return this;
  }

  ScriptedOrigin then(int status, String body, String... fields) {
    return then((_, wire) -> wire.send(response(status, body, fields)));
  }

  /** The requests that came so far. */
  List<Received> requests() {
    return new ArrayList<>(all);
  }

  int count() {
    return all.size();
  }

  /** The next request that came or comes. */
  Received next() throws InterruptedException {
    var next = received.poll(10, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no request has come to the origin");
    }
    return next;
  }

  private void accept() {
    while (true) {
      try {
        var socket = listener.accept();
        sockets.add(socket);
        Thread.ofVirtual().start(() -> serve(socket));
      } catch (IOException e) {
        return;
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      var wire =
          new Wire(
              new BufferedInputStream(socket.getInputStream()), socket.getOutputStream(), socket);
      while (true) {
        var request = read(wire.in());
        if (request == null) {
          return;
        }
        stepOf(request).answer(request, wire);
      }
    } catch (IOException e) {
      // The proxy has left.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Who sees that it has come may send another, whose step is the next one. */
  private synchronized Step stepOf(Received request) {
    var next = script.get(Math.min(step++, script.size() - 1));
    all.add(request);
    received.add(request);
    return next;
  }

  private static @Nullable Received read(InputStream in) throws IOException {
    var head = new ByteArrayOutputStream();
    while (!head.toString(ISO_8859_1).endsWith("\r\n\r\n")) {
      int b = in.read();
      if (b < 0) {
        return null;
      }
      head.write(b);
    }
    var text = head.toString(ISO_8859_1).stripTrailing();
    var request = new Received(text, "");
    var length = request.field("Content-Length");
    if (request.has("X-Unread")) {
      return request;
    }
    if (request.field("Transfer-Encoding").equals("chunked")) {
      return new Received(text, chunks(in));
    }
    return length.isEmpty()
        ? request
        : new Received(text, new String(in.readNBytes(Integer.parseInt(length)), ISO_8859_1));
  }

  private static String chunks(InputStream in) throws IOException {
    var body = new StringBuilder();
    while (true) {
      var size = line(in);
      int length = Integer.parseInt(size, 16);
      body.append(new String(in.readNBytes(length), ISO_8859_1));
      line(in);
      if (length == 0) {
        return body.toString();
      }
    }
  }

  private static String line(InputStream in) throws IOException {
    var line = new StringBuilder();
    for (int b = in.read(); b >= 0 && b != '\n'; b = in.read()) {
      if (b != '\r') {
        line.append((char) b);
      }
    }
    return line.toString();
  }

  /**
   * Closes the listener, so that nobody can connect, and all connections. Who waits for one may get
   * one more when the listener has been closed, and the socket ends only then: so that is waited
   * for.
   */
  @Override
  public void close() {
    try {
      listener.close();
      accepting.join();
      for (var socket : sockets) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
