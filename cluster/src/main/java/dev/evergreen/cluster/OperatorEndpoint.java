package dev.evergreen.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;

/**
 * What an operator on the node's own machine sees and does, over HTTP at the loopback interface: it
 * lists the members, gives one up, and has this node leave. Whoever may connect to the machine's
 * loopback may use it; pages in a browser may not.
 */
final class OperatorEndpoint implements AutoCloseable {

  private static final int LAST_WORDS_SECONDS = 2;
  private static final int LONGEST_ADDRESS = 1 << 10;
  private static final Set<String> HERE = Set.of("127.0.0.1", "localhost", "[::1]");

  private final ClusterNode node;
  private final HttpServer http;

  private OperatorEndpoint(ClusterNode node, HttpServer http) {
    this.node = node;
    this.http = http;
  }

  /**
   * Starts one.
   *
   * @param port 0 for any that is free
   * @throws IOException if the port cannot be had
   */
  static OperatorEndpoint start(int port, ClusterNode node) throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    var endpoint = new OperatorEndpoint(node, HttpServer.create(address, 0));
    endpoint.http.setExecutor(task -> Thread.ofVirtual().name("operator").start(task));
    endpoint.http.createContext("/", endpoint::serve);
    endpoint.http.start();
    return endpoint;
  }

  int port() {
    return http.getAddress().getPort();
  }

  private record Answer(int status, String text) {}

  private void serve(HttpExchange exchange) throws IOException {
    try (exchange) {
      var answer = isHere(exchange) ? answer(exchange) : new Answer(403, "for this machine only");
      var text = (answer.text + "\n").getBytes(UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "text/plain; charset=utf-8");
      exchange.sendResponseHeaders(answer.status, text.length);
      exchange.getResponseBody().write(text);
    }
  }

  /** A browser says for which page it asks, and which name it has looked up. */
  private static boolean isHere(HttpExchange exchange) {
    var headers = exchange.getRequestHeaders();
    var host = String.valueOf(headers.getFirst("Host")).replaceFirst(":[0-9]+$", "");
    return HERE.contains(host)
        && !headers.containsKey("Origin")
        && !headers.containsKey("Sec-Fetch-Site");
  }

  private Answer answer(HttpExchange exchange) throws IOException {
    var path = exchange.getRequestURI().getPath();
    return switch (exchange.getRequestMethod() + " " + path) {
      case "GET /members" -> new Answer(200, members());
      case "POST /down" ->
          down(new String(exchange.getRequestBody().readNBytes(LONGEST_ADDRESS), UTF_8));
      case "POST /drain" -> drain();
      default -> new Answer(404, "there are GET /members, POST /down, POST /drain");
    };
  }

  private String members() {
    var lines = new StringBuilder();
    lines.append(
        "%s is %s and owns %d partitions"
            .formatted(node.self(), node.ready() ? "ready" : "not ready", node.ownedPartitions()));
    for (var member : node.members()) {
      lines.append(
          "%n%s %s %s %s%s"
              .formatted(
                  member.id(),
                  member.status(),
                  member.reachable() ? "reachable" : "unreachable",
                  member.hosts() ? "hosts" : "guest",
                  node.isReached(member.id()) ? "" : " without-link"));
    }
    return lines.toString();
  }

  private Answer down(String address) {
    try {
      node.giveUp(address.strip());
      return new Answer(200, address.strip() + " is given up");
    } catch (IllegalArgumentException e) {
      return new Answer(400, String.valueOf(e.getMessage()));
    }
  }

  private Answer drain() {
    node.close();
    return new Answer(200, node.self() + " has left");
  }

  /** Lets the answers that are under way be given. */
  @Override
  public void close() {
    http.stop(LAST_WORDS_SECONDS);
  }
}
