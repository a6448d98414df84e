package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.chirper.ChirperProcess.Node;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Chirper as several processes: that all start, are told of, and end. */
final class NodesTest {

  @TempDir Path directory;

  @Test
  void oneThatIsKilledIsToldOfTheOtherGoesOnAndSigtermEndsWhatIsLeft() throws Exception {
    var files = Files.createDirectories(directory.resolve("files"));
    Files.writeString(files.resolve("follows.tsv"), "ann\tbert\n");
    Files.writeString(files.resolve("posts.tsv"), "bert\t2025-11-21T12:00:00Z\tHello\n");
    var data = directory.resolve("data");
    try (var chirper = ChirperProcess.start(0, data, "--nodes=2", "--import=" + files)) {
      for (int number = 1; number <= 2; number++) {
        assertTrue(get(chirper.node(number), "/live/posts?name=bert").contains("Hello"));
      }
      // The oldest, which coordinates, and of two nodes one is no majority.
      var killed = chirper.node(1);
      killed.kill();
      assertEquals(
          "Node 1, process %d, ended with status 137 (%s); the others go on."
              .formatted(killed.process().pid(), data.resolve("node-1.log")),
          chirper.await("Node 1"));
      var left = chirper.node(2);
      awaitAnswer(left, "/live/posts?name=bert", "Hello");
      assertTrue(left.process().isAlive());
      assertEquals(0, chirper.end());
      assertEquals(false, left.process().isAlive(), "a node is alive");
      assertTrue(Files.readString(data.resolve("node-2.log")).contains("event=left"));
    }
  }

  @Test
  void oneThatIsKilledIsStartedAgainIfWantedAndNoneOutlivesTheLauncher() throws Exception {
    var data = directory.resolve("data");
    try (var chirper = ChirperProcess.start(0, data, "--nodes=2", "--restart")) {
      var killed = chirper.node(2);
      int port = URI.create(killed.address()).getPort();
      assertTrue(port < 32_768, "a connection could have port " + port + " meanwhile");
      killed.kill();
      chirper.await("Node 2 is process");
      var again = chirper.node(2);
      assertEquals(killed.address(), again.address());
      assertNotEquals(killed.process().pid(), again.process().pid());
      awaitAnswer(again, "/live/profile?name=nobody", "\"known\":false");

      chirper.kill();
      chirper.node(1).awaitEnd();
      again.awaitEnd();
    }
  }

  @Test
  void whoSignsOutAtOneNodeIsSignedOutAtTheOther() throws Exception {
    var data = directory.resolve("data");
    try (var chirper = ChirperProcess.start(0, data, "--nodes=2");
        var http = HttpClient.newHttpClient()) {
      var here = chirper.node(1);
      var there = chirper.node(2);
      var ended = signIn(http, here);
      var stays = signIn(http, here);
      var post = "{\"text\":\"hello\"}";
      assertEquals(204, post(http, there, "/commands/post", post, ended).statusCode());
      var socket = new Socket();
      var open =
          http.newWebSocketBuilder()
              .header("Cookie", ended)
              .buildAsync(URI.create(there.address().replace("http:", "ws:") + "/live"), socket)
              .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      open.sendText("{\"type\":\"subscribe\",\"id\":1,\"view\":\"timeline\",\"params\":{}}", true)
          .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      socket.result.get(PATIENCE_SECONDS, TimeUnit.SECONDS);

      assertEquals(204, post(http, here, "/sign-out", "", ended).statusCode());
      assertEquals(1012, socket.closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
      assertEquals(401, post(http, there, "/commands/post", post, ended).statusCode());
      assertEquals(204, post(http, there, "/commands/post", post, stays).statusCode());
    }
  }

  private static final long PATIENCE_SECONDS = 60;

  /** The cookie. */
  private static String signIn(HttpClient http, Node node)
      throws IOException, InterruptedException {
    var answer = post(http, node, "/commands/sign-in", "{\"name\":\"ann\"}", "none=");
    return answer.headers().firstValue("Set-Cookie").orElseThrow().split(";", 2)[0];
  }

  private static HttpResponse<String> post(
      HttpClient http, Node node, String path, String body, String cookie)
      throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create(node.address() + path))
            .headers("Content-Type", "application/json", "Cookie", cookie)
            .POST(BodyPublishers.ofString(body));
    return http.send(request.build(), BodyHandlers.ofString());
  }

  /** A page's, with what the test waits for. */
  private static final class Socket implements WebSocket.Listener {
    final CompletableFuture<Integer> closed = new CompletableFuture<>();
    final CompletableFuture<String> result = new CompletableFuture<>();
    private final StringBuilder message = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean last) {
      message.append(part);
      if (last && message.indexOf("\"result\"") >= 0) {
        result.complete(message.toString());
      }
      if (last) {
        message.setLength(0);
      }
      socket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
      closed.complete(code);
      return null;
    }
  }

  @Test
  void aPageThatCannotBeHadIsSaidBeforeAnythingStarts() throws Exception {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var ended =
          ChirperProcess.run(
              "--nodes=2", "--port=" + taken.getLocalPort(), "--data=" + directory.resolve("data"));
      assertEquals(1, ended.exitCode());
      assertTrue(
          ended.output().contains(taken.getLocalPort() + " is taken. --port "), ended.output());
      assertEquals(1, ended.output().lines().count(), ended.output());
    }
    var none = ChirperProcess.run("--nodes=0", "--data=" + directory.resolve("data"));
    assertEquals("--nodes 0 is not between 1 and 16.", none.output().strip());
  }

  @Test
  void aNodeThatDoesNotStartSaysWhyAndEndsTheOthers() throws Exception {
    var data = Files.createDirectories(directory.resolve("data"));
    Files.writeString(data.resolve("chirper.db"), "This is no database.".repeat(100));
    var ended = ChirperProcess.run("--nodes=2", "--port=0", "--data=" + data);
    assertEquals(1, ended.exitCode());
    assertTrue(ended.output().contains(" did not start: "), ended.output());
    assertTrue(ended.output().contains("chirper.db"), ended.output());
    assertFalse(ended.output().contains("\tat "), ended.output());
  }

  /** While grains move to where they now live, a call may fail. */
  private static void awaitAnswer(Node node, String path, String part)
      throws IOException, InterruptedException {
    var answer = get(node, path);
    for (int i = 0; i < 60 && !answer.contains(part); i++) {
      answer = get(node, path);
    }
    assertTrue(answer.contains(part), answer);
  }

  private static String get(Node node, String path) throws IOException, InterruptedException {
    try (var http = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create(node.address() + path)).build();
      return http.send(request, BodyHandlers.ofString()).body();
    }
  }
}
