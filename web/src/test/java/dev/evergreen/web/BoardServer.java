package dev.evergreen.web;

import dev.evergreen.core.EmbeddedNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * A process of its own that serves one board, so that its memory can be told from its clients'.
 * Prints its port and ends with its standard input.
 */
final class BoardServer {

  record BoardParams(String name) {}

  record Write(String board, String note) {}

  private BoardServer() {}

  public static void main(String[] args) throws IOException {
    try (var node =
            EmbeddedNode.builder()
                .grain(LiveGrainTest.Board.class, LiveGrainTest.BoardGrain::new)
                .start();
        var server = serve(node)) {
      System.out.println(server.port());
      while (System.in.read() >= 0) {
        // Waits for the end of the input.
      }
    }
  }

  static WebServer serve(dev.evergreen.core.Node node) {
    var grains = node.grains();
    return WebServer.builder(node)
        .port(0)
        .settings(
            WebSettings.DEFAULT
                .withMaxConnections(20_000)
                .withMaxConnectionsPerAddress(20_000)
                .withMaxWorkPerSecond(1_000_000))
        .view(
            LiveView.of(
                "board",
                BoardParams.class,
                Authorisation.everyone(),
                params -> () -> grains.get(LiveGrainTest.Board.class, params.name()).notes()))
        .command(
            "write",
            Write.class,
            Authorisation.everyone(),
            (caller, write) ->
                grains.get(LiveGrainTest.Board.class, write.board()).write(write.note()))
        .route("GET", "/memory", request -> Reply.json(memory()))
        .start();
  }

  private static Map<String, Long> memory() throws IOException {
    System.gc();
    var runtime = Runtime.getRuntime();
    return Map.of(
        "heapBytes",
        runtime.totalMemory() - runtime.freeMemory(),
        "residentBytes",
        residentBytes());
  }

  private static long residentBytes() throws IOException {
    try (var lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
          .findFirst()
          .orElse(0);
    }
  }
}
