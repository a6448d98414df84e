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
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
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
        assertTrue(get(chirper.node(number), "/live/posts?name=bert&count=1").contains("Hello"));
      }
      // The oldest, which coordinates, and of two nodes one is no majority.
      var killed = chirper.node(1);
      killed.kill();
      assertEquals(
          "Node 1, process %d, ended with status 137 (%s); the others go on."
              .formatted(killed.process().pid(), data.resolve("node-1.log")),
          chirper.await("Node 1"));
      var left = chirper.node(2);
      awaitAnswer(left, "/live/posts?name=bert&count=1", "Hello");
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
