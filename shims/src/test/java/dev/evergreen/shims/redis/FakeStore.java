package dev.evergreen.shims.redis;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;

/**
 * What looks like a Redis to those who ask it little: it says to each command what a test wants.
 */
final class FakeStore implements AutoCloseable {
  private final ServerSocket server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  private final ConcurrentLinkedQueue<Socket> sockets = new ConcurrentLinkedQueue<>();
  private final Function<String, String> replies;

  /**
   * Replies are texts, which become bulks, unless they are replies of another kind already; of a
   * command there are the words, in capitals.
   */
  FakeStore(Function<String, String> replies) throws IOException {
    this.replies = replies;
    Thread.ofVirtual().start(this::serve);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Ends all connections that there are. */
  void cut() throws IOException {
    for (var socket : sockets) {
      socket.close();
    }
  }

  private void serve() {
    try {
      while (true) {
        var socket = server.accept();
        sockets.add(socket);
        Thread.ofVirtual().start(() -> talk(socket));
      }
    } catch (IOException e) {
      // It was closed.
      return;
    }
  }

  private void talk(Socket socket) {
    try (socket) {
      var in = new BufferedInputStream(socket.getInputStream());
      while (true) {
        var reply = replies.apply(String.join(" ", command(in)).toUpperCase(java.util.Locale.ROOT));
        boolean whole = !reply.isEmpty() && "*+:-".indexOf(reply.charAt(0)) >= 0;
        var sent = whole ? reply : "$" + reply.length() + "\r\n" + reply + "\r\n";
        socket.getOutputStream().write(sent.getBytes(StandardCharsets.ISO_8859_1));
      }
    } catch (IOException | UncheckedIOException e) {
      // It has ended, or the test wants it to.
      return;
    }
  }

  private static List<String> command(InputStream in) throws IOException {
    var words = new ArrayList<String>();
    int count = number(in);
    for (int i = 0; i < count; i++) {
      int length = number(in);
      words.add(new String(in.readNBytes(length), StandardCharsets.ISO_8859_1));
      in.skipNBytes(2);
    }
    return words;
  }

  /** That of a line whose first letter says of what. */
  private static int number(InputStream in) throws IOException {
    var line = new StringBuilder();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new IOException("it has ended");
      }
      line.append((char) b);
    }
    return Integer.parseInt(line.substring(1).strip());
  }

  @Override
  public void close() throws IOException {
    server.close();
    cut();
  }
}
