package dev.evergreen.provenance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/**
 * A tiny service for an example: it keeps texts under names. A request is a line, and so is a
 * reply.
 */
final class Keeper {
  private final Map<String, String> kept = new ConcurrentHashMap<>();

  /** Answers PUT name text, GET name, ADD name (counts up), DEL name, and LIST *. */
  synchronized String answer(String line) {
    var words = List.of(line.split(" ", 3));
    return switch (words.getFirst()) {
      case "PUT" -> {
        kept.put(words.get(1), words.get(2));
        yield "kept";
      }
      case "ADD" ->
          kept.merge(words.get(1), "1", (old, one) -> Long.toString(Long.parseLong(old) + 1));
      case "DEL" -> orNone(kept.remove(words.get(1)));
      case "GET" -> orNone(kept.get(words.get(1)));
      default -> String.join(" ", kept.keySet());
    };
  }

  private static String orNone(@org.jspecify.annotations.Nullable String text) {
    return text == null ? "none" : text;
  }

  // snippet keeper-server
  /** Serves lines, one connection after the other, until the socket is closed. */
  static ServerSocket serve(UnaryOperator<String> answers) throws IOException {
    var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try (var client = server.accept();
                    var lines = reader(client)) {
                  for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                    client
                        .getOutputStream()
                        .write((answers.apply(line) + "\n").getBytes(StandardCharsets.UTF_8));
                  }
                } catch (IOException e) {
                  // The client left.
                }
              }
            });
    return server;
  }

  /** Sends a line and waits for the reply's. */
  static String ask(Socket socket, BufferedReader replies, String line) throws IOException {
    socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    return replies.readLine();
  }

  static BufferedReader reader(Socket socket) throws IOException {
    return new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }
  // end
}
