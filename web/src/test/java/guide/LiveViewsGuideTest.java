package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.SignedSessions;
import dev.evergreen.web.WebException;
import dev.evergreen.web.WebServer;
import guide.GuideTest.Counter;
import guide.GuideTest.CounterGrain;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the chapter on live views in docs/guide.md. */
class LiveViewsGuideTest {

  // snippet live-views-node
  static Node start() {
    return EmbeddedNode.builder()
        .grain(Counter.class, CounterGrain::new)
        .grains(SignedSessions.grains())
        .start();
  }

  // end

  // snippet live-views
  record Fruit(String name) {}

  record Add(String name, long n) {}

  record SignIn(String name) {}

  static WebServer serve(Node node, int port, Path files) {
    var grains = node.grains();
    var sessions = SignedSessions.withRandomKey(grains, Duration.ofDays(7));
    return WebServer.builder(node)
        .port(port)
        .authenticator(sessions)
        .errors(failure -> tell(failure))
        .view(
            LiveView.of(
                "count",
                Fruit.class,
                Authorisation.everyone(),
                fruit -> () -> grains.get(Counter.class, fruit.name()).value()))
        .view(
            LiveView.perCaller(
                "mine",
                LiveView.NoParams.class,
                Authorisation.signedIn(),
                (caller, none) -> () -> grains.get(Counter.class, "by " + caller.name()).value()))
        .command(
            "add",
            Add.class,
            Authorisation.signedIn(),
            (caller, add) -> {
              if (add.n() < 1) {
                throw new IllegalArgumentException("Add 1 or more, not " + add.n() + ".");
              }
              grains.get(Counter.class, add.name()).add(add.n());
              grains.get(Counter.class, "by " + caller.name()).add(add.n());
            })
        .commandWithResult(
            "sign-in",
            SignIn.class,
            Authorisation.everyone(),
            (caller, person) -> sessions.signIn(person.name()))
        .route("POST", "/sign-out", sessions::signOut)
        .staticFiles("/", files)
        .start();
  }

  // end

  // snippet live-views-errors
  static Optional<WebException> tell(Exception failure) {
    return failure instanceof IllegalArgumentException refused
        ? Optional.of(new WebException(422, "refused", String.valueOf(refused.getMessage())))
        : Optional.empty();
  }

  // end

  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  void theGuidesServerAnswersAsTheGuideSays(@TempDir Path files) throws Exception {
    Files.writeString(files.resolve("index.html"), "<h1>Fruit</h1>");
    try (var node = start();
        var server = serve(node, 0, files)) {
      assertEquals("<h1>Fruit</h1>", get(server, "", "").body());
      assertEquals("0", get(server, "live/count?name=apples", "").body());
      assertEquals(401, get(server, "live/mine", "").statusCode());
      assertEquals(401, post(server, "add", "{\"name\":\"apples\",\"n\":2}", "").statusCode());

      var signedIn = post(server, "sign-in", "{\"name\":\"ada\"}", "");
      var cookie = signedIn.headers().firstValue("Set-Cookie").orElseThrow().split(";", 2)[0];
      assertEquals(204, post(server, "add", "{\"name\":\"apples\",\"n\":2}", cookie).statusCode());
      awaitBody("2", server, "live/count?name=apples", cookie);
      awaitBody("2", server, "live/mine", cookie);

      var refused = post(server, "add", "{\"name\":\"apples\",\"n\":0}", cookie);
      assertEquals(
          "{\"type\":\"refused\",\"title\":\"Unprocessable Entity\",\"status\":422,"
              + "\"detail\":\"Add 1 or more, not 0.\"}",
          refused.body());
    }
  }

  /** A plain GET may give the former result for a moment. */
  private void awaitBody(String expected, WebServer server, String path, String cookie)
      throws IOException, InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    var body = get(server, path, cookie).body();
    while (!body.equals(expected) && System.nanoTime() < deadline) {
      body = get(server, path, cookie).body();
    }
    assertEquals(expected, body);
  }

  private HttpResponse<String> get(WebServer server, String path, String cookie)
      throws IOException, InterruptedException {
    return http.send(request(server, path, cookie).build(), BodyHandlers.ofString());
  }

  private HttpResponse<String> post(WebServer server, String command, String body, String cookie)
      throws IOException, InterruptedException {
    return http.send(
        request(server, "commands/" + command, cookie)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  private static HttpRequest.Builder request(WebServer server, String path, String cookie) {
    return HttpRequest.newBuilder(URI.create(server.uri() + path)).header("Cookie", cookie);
  }
}
