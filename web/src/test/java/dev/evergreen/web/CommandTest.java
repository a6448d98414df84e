package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class CommandTest {

  record Post(String text, List<String> tags) {
    Post {
      if (text.isBlank()) {
        throw new IllegalArgumentException("a post must say something");
      }
    }
  }

  record SignIn(String name) {}

  private final List<String> posts = new CopyOnWriteArrayList<>();
  private final AtomicInteger posters = new AtomicInteger();
  private final Node node = EmbeddedNode.builder().grains(SignedSessions.grains()).start();
  private final SignedSessions sessions =
      SignedSessions.withRandomKey(node.grains(), Duration.ofHours(1));
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .settings(WebSettings.DEFAULT.withMaxMessageBytes(500))
          .authenticator(
              request -> {
                var caller = sessions.authenticate(request);
                if (request.path().equals("/commands/post")) {
                  posters.incrementAndGet();
                }
                return caller;
              })
          .command(
              "post",
              Post.class,
              Authorisation.signedIn(),
              (caller, post) -> posts.add(caller.name() + ": " + post.text()))
          .commandWithResult(
              "sign-in",
              SignIn.class,
              Authorisation.everyone(),
              (caller, signIn) -> sessions.signIn(signIn.name()))
          .command("deep", Deep.class, Authorisation.everyone(), (caller, c) -> {})
          .commandWithResult(
              "count", SignIn.class, Authorisation.everyone(), (caller, c) -> Map.of("n", 3))
          .command(
              "fail",
              SignIn.class,
              Authorisation.everyone(),
              (caller, c) -> {
                throw new WebException(409, "taken", "The name " + c.name() + " is taken.");
              })
          .route("POST", "/sign-out", sessions::signOut)
          .route("GET", "/hello/*", request -> Reply.text(request.pathRest() + request.query("q")))
          .start();

  /** RFC 8259, 8.1; what Jackson takes by itself is UTF-16, and halves of characters. */
  @Test
  void takesNoBodyThatIsNotUtf8() {
    var good = "{\"name\":\"\u00e9\"}";
    var bad =
        List.of(
            good.getBytes(StandardCharsets.UTF_16LE),
            good.getBytes(StandardCharsets.UTF_16),
            good.getBytes(Charset.forName("UTF-32")),
            good.getBytes(StandardCharsets.ISO_8859_1),
            HexFormat.of().parseHex("7b226e616d65223a22eda080227d"),
            HexFormat.of().parseHex("7b226e616d65223a22c1a1227d"));
    for (var body : bad) {
      var refused = count(body);
      assertEquals(400, refused.statusCode(), HexFormat.of().formatHex(body));
      assertEquals("malformed", Http.json(refused).path("type").asText());
    }
    assertTrue(count(bad.get(3)).body().contains("UTF-8"));
    assertEquals(200, count(good.getBytes(StandardCharsets.UTF_8)).statusCode());
    assertEquals(200, count(("\ufeff" + good).getBytes(StandardCharsets.UTF_8)).statusCode());
  }

  private HttpResponse<String> count(byte[] body) {
    return Http.send(
        Http.request(server, "/commands/count", "Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(body))
            .build());
  }

  @Test
  void namesTheMethodsThatAPathAnswers() {
    var response = Http.post(server, "/hello/you", "{}");
    assertEquals(405, response.statusCode());
    assertEquals("GET, HEAD", Http.header(response, "Allow"));
  }

  /** Somewhere deep in a command. */
  record Deep(Map<String, List<Inner>> inner) {}

  record Inner(Instant at, Optional<LocalDate> day, List<Instant> times, int n) {}

  @Test
  void readsAsStrictlyInsideAsOutside() {
    record Case(String inner, String detail) {}
    var path = "Field 'inner.a[0]";
    var noText = "must be a string of type Instant.";
    var at = "\"at\":\"2026-01-02T03:04:05Z\"";
    for (var one :
        List.of(
            new Case("{\"at\":1700000000,\"times\":[],\"n\":1}", path + ".at' " + noText),
            new Case("{\"at\":\"1700000000\",\"times\":[],\"n\":1}", path + ".at' " + noText),
            new Case("{" + at + ",\"times\":[1],\"n\":1}", path + ".times[0]' " + noText),
            new Case(
                "{" + at + ",\"times\":[],\"n\":1,\"day\":20000}",
                path + ".day' must be a string of type LocalDate."),
            new Case("{" + at + ",\"times\":[null],\"n\":1}", path + ".times"),
            new Case("{" + at + ",\"times\":null,\"n\":1}", path + ".times' is missing"),
            new Case("{" + at + ",\"times\":[]}", path + ".n' is missing"),
            new Case("{" + at + ",\"times\":[],\"n\":null}", path + ".n"),
            new Case("{\"times\":[],\"n\":1}", path + ".at' is missing"),
            new Case("null", "Field 'inner.a"))) {
      var answer = Http.post(server, "/commands/deep", "{\"inner\":{\"a\":[" + one.inner() + "]}}");
      assertEquals(400, answer.statusCode(), one.inner());
      var detail = Http.json(answer).path("detail").asText();
      assertTrue(detail.startsWith(one.detail()), one.inner() + " -> " + detail);
    }
    var good = "{" + at + ",\"times\":[\"2026-01-02T03:04:05Z\"],\"n\":1%s}";
    for (var day : List.of("", ",\"day\":null", ",\"day\":\"2026-01-02\"")) {
      var answer =
          Http.post(server, "/commands/deep", "{\"inner\":{\"a\":[" + good.formatted(day) + "]}}");
      assertEquals(204, answer.statusCode(), answer.body());
    }
  }

  @AfterEach
  void close() {
    server.close();
    node.close();
  }

  private String signIn(String name) {
    var response = Http.post(server, "/commands/sign-in", "{\"name\":\"" + name + "\"}");
    assertEquals(200, response.statusCode());
    return Http.header(response, "Set-Cookie");
  }

  @Test
  void carriesOutWhatASignedInCallerCommands() {
    var cookie = signIn("ann");
    assertTrue(cookie.contains("; HttpOnly; SameSite=Strict"), cookie);
    var response =
        Http.post(
            server,
            "/commands/post",
            "{\"text\":\"hi\",\"tags\":[]}",
            "Cookie",
            cookie.split(";", 2)[0]);
    assertEquals(204, response.statusCode());
    assertEquals(List.of("ann: hi"), posts);
    assertEquals("{\"n\":3}", Http.post(server, "/commands/count", "{\"name\":\"x\"}").body());
  }

  @Test
  void refusesWhoHasNotSignedInAndWhoHasForgedACookie() {
    var body = "{\"text\":\"hi\",\"tags\":[]}";
    assertEquals(401, Http.post(server, "/commands/post", body).statusCode());
    var forged =
        signIn("ann").split(";", 2)[0].replace("evergreen-session=", "evergreen-session=A");
    assertEquals(401, Http.post(server, "/commands/post", body, "Cookie", forged).statusCode());
    assertTrue(posts.isEmpty());
    var out = Http.post(server, "/sign-out", "");
    assertEquals(204, out.statusCode());
    assertTrue(Http.header(out, "Set-Cookie").contains("Max-Age=0"));
  }

  @Test
  void refusesWhoSignsOutBeforeTheCommandHasAllArrived() throws Exception {
    var cookie = signIn("ann").split(";", 2)[0];
    try (var client = new RawClient(server)) {
      client.send(
          RawClient.lines(
              "POST /commands/post HTTP/1.1",
              "Cookie: " + cookie,
              "Content-Type: application/json",
              "Content-Length: 23",
              "",
              "{\"text\":\"hi\""));
      Await.until("authenticated", () -> posters.get() == 1);
      assertEquals(204, Http.post(server, "/sign-out", "", "Cookie", cookie).statusCode());
      client.send(",\"tags\":[]}");
      assertEquals(401, client.status());
    }
    assertTrue(posts.isEmpty());
  }

  @Test
  void refusesWhatIsNotTheCommand() {
    var cookie = signIn("ann").split(";", 2)[0];
    record Case(String body, int status, String detail) {}
    for (var one :
        List.of(
            new Case("", 400, "This is not JSON: it is empty."),
            new Case("{", 400, "This is not JSON: error in line 1"),
            new Case("{} {}", 400, "This is not JSON: error in line 1"),
            new Case("[]", 400, "Expected an object with the fields [text, tags], got an array."),
            new Case("{\"text\":\"a\"}", 400, "Field 'tags' is missing; expected an array."),
            new Case("{\"text\":\"a\",\"tags\":{}}", 400, "Field 'tags' must be an array."),
            new Case("{\"text\":\"a\",\"tags\":[1]}", 400, "Field 'tags[0]' must be a string."),
            new Case("{\"text\":\"a\",\"tags\":null}", 400, "Field 'tags' is missing"),
            new Case("{\"text\":5,\"tags\":[]}", 400, "Field 'text' must be a string."),
            new Case("{\"text\":\" \",\"tags\":[]}", 400, "a post must say something"),
            new Case("{\"text\":\"a\",\"tags\":[],\"x\":1}", 400, "Field 'x' is unknown"),
            new Case(
                "{\"text\":\"" + "a".repeat(500) + "\",\"tags\":[]}", 413, "A body is at most"))) {
      var response = Http.post(server, "/commands/post", one.body(), "Cookie", cookie);
      assertEquals(one.status(), response.statusCode(), one.body());
      var detail = Http.json(response).path("detail").asText();
      assertTrue(detail.startsWith(one.detail()), one.body() + " gave " + detail);
    }
    assertTrue(posts.isEmpty());
  }

  @Test
  void takesJsonOnly() {
    var form =
        Http.request(server, "/commands/count")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString("{\"name\":\"x\"}"))
            .build();
    assertEquals(415, Http.send(form).statusCode());
    var none =
        Http.request(server, "/commands/count").POST(BodyPublishers.ofString("{\"name\":\"x\"}"));
    assertEquals(415, Http.send(none.build()).statusCode());
    var chunked =
        Http.request(server, "/commands/count")
            .header("Content-Type", "application/json; charset=utf-8")
            .POST(BodyPublishers.fromPublisher(BodyPublishers.ofString("{\"name\":\"x\"}")))
            .build();
    assertEquals(200, Http.send(chunked).statusCode());
  }

  @Test
  void answersTheApplicationsOwnRefusal() {
    var response = Http.post(server, "/commands/fail", "{\"name\":\"bob\"}");
    assertEquals(409, response.statusCode());
    assertEquals("taken", Http.json(response).path("type").asText());
    assertEquals("The name bob is taken.", Http.json(response).path("detail").asText());
  }

  @Test
  void knowsPathsAndMethods() {
    assertEquals(404, Http.post(server, "/commands/nothing", "{}").statusCode());
    var get = Http.get(server, "/commands/post");
    assertEquals(405, get.statusCode());
    assertEquals("POST", Http.header(get, "Allow"));
    assertEquals("a/bOptional[1]", Http.get(server, "/hello/a/b?q=1").body());
    assertEquals(404, Http.get(server, "/hell").statusCode());
    assertEquals(405, Http.post(server, "/hello/a", "{}").statusCode());
    assertEquals(405, Http.post(server, "/elsewhere", "{}").statusCode());
    assertFalse(server.counts().refused().isEmpty());
  }

  @Test
  void aRefusalThatDoesNotWaitForTheBodySaysThatTheConnectionEnds() throws Exception {
    try (var client = new RawClient(server)) {
      client.send(RawClient.lines("POST /hello/a HTTP/1.1", "Content-Length: 10", "", ""));
      var answer = client.rest();
      assertTrue(answer.startsWith("HTTP/1.1 405"), answer);
      assertTrue(answer.contains("Connection: close"), answer);
    }
  }
}
