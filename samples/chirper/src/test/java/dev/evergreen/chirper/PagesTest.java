package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.CookieManager;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the page asks the server for, over HTTP. */
final class PagesTest {

  /** The page names the time of its posts; the server refuses one that is not about now. */
  private final Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);

  /** A time that no month has a name for. */
  private static final String BEYOND = "%2B1000000000-12-31T23:59:59Z";

  @TempDir private Path data;
  private DataDirectory directory;
  private ChirperServer server;
  private int port;

  @BeforeEach
  void start() throws IOException {
    directory = DataDirectory.open(data);
    server = ChirperServer.alone(directory, null);
    port = server.serve(0, List.of());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
    directory.close();
  }

  @Test
  void whoSignsInByANameIsFoundAndCanPostFollowAndReadATimeline() throws Exception {
    try (var alice = new Person("Alice");
        var bob = new Person("bob")) {
      assertEquals(204, bob.command("post", "{\"at\":\"%s\",\"text\":\"hello\"}".formatted(now)));
      assertEquals(204, alice.command("follow", "{\"name\":\"bob\"}"));
      assertEquals(
          onlyPage("{\"author\":\"bob\",\"at\":\"%s\",\"text\":\"hello\"}".formatted(now)),
          alice.view("timeline"));
      assertEquals(
          "{\"known\":true,\"profile\":{\"posts\":1,\"follows\":0,\"followers\":1}}",
          alice.view("profile?name=bob"));
      assertEquals("true", alice.view("following?name=bob"));
      assertEquals(
          onlyPage("{\"name\":\"alice\",\"followed\":false},{\"name\":\"bob\",\"followed\":true}"),
          alice.view("people?prefix="));
      assertEquals(
          onlyPage("{\"name\":\"alice\",\"followed\":false}"), bob.view("followers?name=bob"));
      assertEquals(
          onlyPage("{\"name\":\"bob\",\"followed\":false}"), bob.view("follows?name=alice"));
      assertEquals(204, bob.command("unpost", "{\"at\":\"%s\"}".formatted(now)));
      assertEquals(204, alice.command("unfollow", "{\"name\":\"bob\"}"));
      alice.sees("timeline", onlyPage(""));
      alice.sees("following?name=bob", "false");
    }
  }

  @Test
  void whoHasNotSignedInMayLookButNotWrite() throws Exception {
    try (var alice = new Person("alice");
        var stranger = new Person()) {
      assertEquals(204, alice.command("post", "{\"at\":\"%s\",\"text\":\"hi\"}".formatted(now)));
      assertTrue(stranger.view("posts?name=alice").contains("\"hi\""));
      assertTrue(stranger.get("/session").body().contains("\"name\":\"\""));
      assertEquals(401, stranger.get("/live/timeline").statusCode());
      assertEquals(401, stranger.command("post", "{\"at\":\"%s\",\"text\":\"hi\"}".formatted(now)));
      assertEquals(401, stranger.command("follow", "{\"name\":\"alice\"}"));
    }
  }

  @Test
  void aSessionOutlivesTheServerAndEndsWithSigningOut() throws Exception {
    try (var alice = new Person("alice")) {
      stop();
      start();
      assertTrue(alice.get("/session").body().contains("\"name\":\"alice\""));
      assertEquals(204, alice.post("/sign-out", "").statusCode());
      assertTrue(alice.get("/session").body().contains("\"name\":\"\""));
    }
  }

  @Test
  void whatIsRefusedIsRefusedWithASentence() throws Exception {
    try (var alice = new Person("alice")) {
      var wrongName = alice.post("/commands/sign-in", "{\"name\":\"a b\"}");
      assertEquals(422, wrongName.statusCode());
      assertTrue(wrongName.body().contains("1 to 30 letters"), wrongName.body());
      assertEquals(422, alice.command("follow", "{\"name\":\"nobody\"}"));
      var empty = alice.post("/commands/post", "{\"at\":\"%s\",\"text\":\" \"}".formatted(now));
      assertEquals(422, empty.statusCode());
      assertTrue(empty.body().contains("needs some text"), empty.body());
      var future = now.plus(Duration.ofHours(1));
      var wrong = "{\"at\":\"%s\",\"text\":\"hi\"}".formatted(future);
      var wrongTime = alice.post("/commands/post", wrong);
      assertEquals(422, wrongTime.statusCode());
      assertTrue(wrongTime.body().contains("\"wrong-time\""), wrongTime.body());
      assertEquals(422, alice.get("/live/profile?name=a%20b").statusCode());
      assertEquals(onlyPage(""), alice.view("posts?name=alice"));
    }
  }

  @Test
  void whoDoesNotKnowTheTimeLeavesItToTheServer() throws Exception {
    try (var alice = new Person("alice")) {
      assertEquals(204, alice.command("post", "{\"text\":\"hi\"}"));
      assertTrue(alice.view("timeline").contains("\"hi\""));
    }
  }

  @Test
  void aListIsReadPageByPage() throws Exception {
    try (var alice = new Person("alice")) {
      int posts = Pages.MOST_POSTS + 1;
      for (int i = 0; i < posts; i++) {
        alice.command(
            "post", "{\"at\":\"%s\",\"text\":\"no %d\"}".formatted(now.minusSeconds(i), i));
      }
      var last = now.minusSeconds(posts - 2);
      var page = alice.view("timeline");
      assertTrue(
          page.contains("\"no %d\"}],\"next\":\"%s alice\"".formatted(posts - 2, last)), page);
      var cursor = "behind=" + last + "%20alice";
      var rest =
          onlyPage(
              "{\"author\":\"alice\",\"at\":\"%s\",\"text\":\"no %d\"}"
                  .formatted(now.minusSeconds(posts - 1), posts - 1));
      assertEquals(rest, alice.view("timeline?" + cursor));
      assertEquals(rest, alice.view("posts?name=alice&" + cursor));
      for (var wrong : List.of("x", "2025-11-21T11:00:00Z", "x%20alice", BEYOND + "%20alice")) {
        assertEquals(422, alice.get("/live/timeline?behind=" + wrong).statusCode(), wrong);
      }
      var told = alice.get("/live/timeline?behind=" + "x".repeat(1_000)).body();
      assertTrue(told.length() < 500, told);
    }
  }

  /** So only the first page changes with each new post, whatever is watched behind it. */
  @Test
  void aPageMayBeAskedToEndWhereItDid() throws Exception {
    try (var alice = new Person("alice")) {
      for (int i = 0; i <= Pages.MOST_POSTS; i++) {
        alice.command("post", "{\"at\":\"%s\",\"text\":\"old\"}".formatted(now.minusSeconds(i)));
      }
      var last = now.minusSeconds(Pages.MOST_POSTS - 1);
      var end = "\"old\"}],\"next\":\"%s alice\"}".formatted(last);
      alice.command("post", "{\"at\":\"%s\",\"text\":\"new\"}".formatted(now.plusSeconds(1)));
      for (var view : List.of("timeline?", "posts?name=alice&")) {
        var page = alice.view(view + "until=" + last + "%20alice");
        assertTrue(page.contains("\"new\"") && page.endsWith(end), page);
        assertFalse(alice.view(view).endsWith(end));
      }
    }
  }

  @Test
  void thePageComesWithTheTimelineOfWhoIsSignedIn() throws Exception {
    assumeTrue(Pages.class.getResource("/page/index.html") != null, "the page is not built");
    try (var alice = new Person("alice");
        var stranger = new Person()) {
      assertEquals(204, alice.command("post", "{\"at\":\"%s\",\"text\":\"hi\"}".formatted(now)));
      var page = alice.get("/").body();
      var view = "{\"view\":\"timeline\",\"params\":{},\"tag\":\"";
      var post = "{\"author\":\"alice\",\"at\":\"%s\",\"text\":\"hi\"}".formatted(now);
      assertTrue(page.contains(view), page);
      assertTrue(page.contains("\"value\":" + onlyPage(post)), page);
      assertFalse(stranger.get("/").body().contains(view));
    }
  }

  private static String onlyPage(String items) {
    return "{\"items\":[" + items + "],\"next\":null}";
  }

  @Test
  void oneAddressMayHaveThousandsOfConnectionsAsAllAreOnThisMachine() throws Exception {
    var open = new ArrayList<Socket>();
    try (var stranger = new Person()) {
      for (int i = 0; i < 700; i++) {
        open.add(new Socket(InetAddress.getLoopbackAddress(), port));
      }
      assertEquals(onlyPage(""), stranger.view("posts?name=alice"));
    } finally {
      for (var socket : open) {
        socket.close();
      }
    }
  }

  @Test
  void somebodyWhoNeverWasIsUnknownUntilTheySignIn() throws Exception {
    try (var stranger = new Person()) {
      assertTrue(stranger.view("profile?name=carol").contains("\"known\":false"));
      try (var _ = new Person("carol")) {
        stranger.sees(
            "profile?name=carol",
            "{\"known\":true,\"profile\":{\"posts\":0,\"follows\":0,\"followers\":0}}");
      }
    }
  }

  @Test
  void theSessionCookieIsOutOfReachForScriptsAndForeignPages() throws Exception {
    try (var alice = new Person()) {
      var answer = alice.post("/commands/sign-in", "{\"name\":\"alice\"}");
      var cookie = answer.headers().firstValue("set-cookie").orElseThrow();
      assertTrue(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), cookie);
      assertFalse(cookie.contains("alice;"), cookie);
    }
  }

  /** Somebody with a browser's cookies. */
  private final class Person implements AutoCloseable {

    private final HttpClient http =
        HttpClient.newBuilder().cookieHandler(new CookieManager()).build();

    Person() {}

    Person(String name) throws IOException, InterruptedException {
      assertEquals(200, post("/commands/sign-in", "{\"name\":\"" + name + "\"}").statusCode());
    }

    String view(String address) throws IOException, InterruptedException {
      var answer = get("/live/" + address);
      assertEquals(200, answer.statusCode(), answer.body());
      return answer.body();
    }

    /** A result that was there before a command is followed by that of after it, not replaced. */
    void sees(String address, String expected) throws IOException, InterruptedException {
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      var seen = view(address);
      while (!seen.equals(expected) && System.nanoTime() - deadline < 0) {
        seen = view(address);
      }
      assertEquals(expected, seen);
    }

    int command(String name, String json) throws IOException, InterruptedException {
      return post("/commands/" + name, json).statusCode();
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
      return http.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofString());
    }

    HttpResponse<String> post(String path, String json) throws IOException, InterruptedException {
      var request =
          HttpRequest.newBuilder(uri(path))
              .header("Content-Type", "application/json")
              .POST(BodyPublishers.ofString(json));
      return http.send(request.build(), BodyHandlers.ofString());
    }

    private URI uri(String path) {
      return URI.create("http://127.0.0.1:" + port + path);
    }

    @Override
    public void close() {
      http.close();
    }
  }
}
