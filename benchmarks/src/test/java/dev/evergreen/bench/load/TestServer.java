package dev.evergreen.bench.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Answers each line of a client by a function, with a thread for each connection. */
final class TestServer implements AutoCloseable {

  /** What a line is answered with. May block. */
  interface Replies {
    String to(String line) throws InterruptedException;
  }

  private final ServerSocket socket;
  private final Replies replies;

  TestServer(Replies replies) throws IOException {
    this.socket = new ServerSocket(0, 100, InetAddress.ofLiteral("127.0.0.1"));
    this.replies = replies;
    Thread.startVirtualThread(this::accept);
  }

  InetSocketAddress address() {
    return new InetSocketAddress(socket.getInetAddress(), socket.getLocalPort());
  }

  private void accept() {
    try {
      while (true) {
        var client = socket.accept();
        Thread.startVirtualThread(() -> serve(client));
      }
    } catch (IOException e) {
      return; // closed
    }
  }

  private void serve(Socket client) {
    try (client) {
      var lines =
          new BufferedReader(
              new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        client.getOutputStream().write(replies.to(line).getBytes(StandardCharsets.US_ASCII));
      }
    } catch (IOException | InterruptedException e) {
      return; // the client has gone
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
