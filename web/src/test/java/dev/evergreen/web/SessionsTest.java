package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a session that is over can still do: nothing, on no connection and no server. */
final class SessionsTest {

  record SignIn(String name) {}

  private final Node node =
      EmbeddedNode.builder()
          .grain(LiveGrainTest.Board.class, LiveGrainTest.BoardGrain::new)
          .grains(SignedSessions.grains())
          .start();

  @AfterEach
  void close() {
    node.close();
  }

  private SignedSessions sessions(Duration validFor) {
    return SignedSessions.withRandomKey(node.grains(), validFor);
  }

  private WebServer serve(SignedSessions sessions) {
    var grains = node.grains();
    return WebServer.builder(node)
        .port(0)
        .authenticator(sessions)
        .view(
            LiveView.perCaller(
                "mine",
                LiveView.NoParams.class,
                Authorisation.signedIn(),
                (caller, none) ->
                    () -> grains.get(LiveGrainTest.Board.class, caller.name()).notes()))
        .command(
            "write",
            SignIn.class,
            Authorisation.signedIn(),
            (caller, note) ->
                grains.get(LiveGrainTest.Board.class, caller.name()).write(note.name()))
        .commandWithResult(
            "sign-in",
            SignIn.class,
            Authorisation.everyone(),
            (caller, person) -> sessions.signIn(new Caller(person.name(), Set.of("author"))))
        .route("POST", "/sign-out", sessions::signOut)
        .start();
  }

  private static String signIn(WebServer server) {
    var answer = Http.post(server, "/commands/sign-in", "{\"name\":\"ada\"}");
    return Http.header(answer, "Set-Cookie").split(";", 2)[0];
  }

  private static Browser watch(WebServer server, String cookie) {
    var browser = Browser.open(server, "Cookie", cookie);
    browser.subscribe(1, "mine", "{}", null);
    assertEquals("result", browser.next().path("type").asText());
    return browser;
  }

  @Test
  void signingOutEndsWhatTheSessionHasOpenEverywhereAndItsCookieOpensNothing() throws Exception {
    var sessions = sessions(Duration.ofHours(1));
    try (var server = serve(sessions);
        var other = serve(sessions)) {
      var cookie = signIn(server);
      var stays = signIn(server);
      try (var here = watch(server, cookie);
          var there = watch(other, cookie);
          var anotherSession = watch(other, stays);
          var stream = new RawClient(server)) {
        stream.send(
            RawClient.lines(
                "GET /live/mine HTTP/1.1",
                "Accept: text/event-stream",
                "Cookie: " + cookie,
                "",
                ""));
        assertEquals(200, stream.status());
        assertEquals(204, Http.post(server, "/sign-out", "", "Cookie", cookie).statusCode());
        for (var browser : new Browser[] {here, there}) {
          assertEquals("disconnected", browser.next().path("reason").asText());
          assertEquals(1012, browser.closeCode());
        }
        Await.until("no stream", () -> server.counts().liveConnections() == 0);

        var write = "{\"name\":\"after\"}";
        assertEquals(
            401, Http.post(other, "/commands/write", write, "Cookie", cookie).statusCode());
        assertEquals(401, Http.get(server, "/live/mine", "Cookie", cookie).statusCode());
        assertEquals(
            204, Http.post(server, "/commands/write", write, "Cookie", stays).statusCode());
        assertEquals("[\"after\"]", anotherSession.next().path("value").toString());
      }
      Await.until("all given back", () -> other.counts().liveConnections() == 0);
    }
    Await.until("nothing followed", () -> node.counts().computations() == 0);
  }

  @Test
  void aLiveConnectionEndsWithTheTimeOfItsSession() {
    var sessions = sessions(Duration.ofSeconds(2));
    try (var server = serve(sessions);
        var browser = watch(server, signIn(server))) {
      assertEquals("bye", browser.next().path("type").asText());
      assertEquals(1012, browser.closeCode());
    }
  }

  @Test
  void allSessionsOfANameCanBeEnded() {
    var sessions = sessions(Duration.ofHours(1));
    try (var server = serve(sessions);
        var browser = watch(server, signIn(server))) {
      sessions.endAll("ada");
      assertEquals("disconnected", browser.next().path("reason").asText());
    }
  }

  /** Times cannot tell them apart: one millisecond has many, and the clocks of two nodes differ. */
  @Test
  void aSessionBegunRightAfterAllWereEndedIsNoneOfThose() {
    var sessions = sessions(Duration.ofHours(1));
    try (var server = serve(sessions)) {
      for (int i = 0; i < 200; i++) {
        var ended = signIn(server);
        sessions.endAll("ada");
        var begun = signIn(server);
        assertEquals(200, Http.get(server, "/live/mine", "Cookie", begun).statusCode());
        assertEquals(401, Http.get(server, "/live/mine", "Cookie", ended).statusCode());
      }
    }
  }

  @Test
  void whatIsRememberedOfEndedSessionsIsBounded() {
    var ends = node.grains().get(SessionEnds.class, "ada");
    var soon = Instant.now().plusSeconds(3600);
    for (int i = 0; i < SessionEnds.Ends.MOST; i++) {
      ends.end("s" + i, soon);
    }
    assertTrue(ends.ended("s0"));
    assertFalse(ends.ended("another"));
    ends.end("one more", soon);
    assertTrue(ends.ended("another"));
    assertFalse(ends.ended(ends.generation() + ".another"));
    ends.end(ends.generation() + ".over already", Instant.now());
    ends.end(ends.generation() + ".later", soon);
    assertFalse(ends.ended(ends.generation() + ".over already"));
  }

  /** Seen: whoever had signed in by many names held a grain for each as long as for any grain. */
  @Test
  void namesAreNotRememberedLongAfterTheirRequests() {
    var settings =
        NodeSettings.DEFAULT
            .withRenewEvery(Duration.ofMillis(100))
            .withLeaseFor(Duration.ofMillis(300));
    try (var other =
        EmbeddedNode.builder().grains(SignedSessions.grains()).settings(settings).start()) {
      var sessions = SignedSessions.withRandomKey(other.grains(), Duration.ofHours(1));
      try (var server =
          WebServer.builder(other)
              .port(0)
              .authenticator(sessions)
              .commandWithResult(
                  "sign-in",
                  SignIn.class,
                  Authorisation.everyone(),
                  (caller, person) -> sessions.signIn(person.name()))
              .route("GET", "/who", request -> Reply.json(sessions.authenticate(request).name()))
              .route("POST", "/sign-out", sessions::signOut)
              .start()) {
        var cookie = signIn(server);
        assertEquals(204, Http.post(server, "/sign-out", "{}", "Cookie", cookie).statusCode());
        assertTrue(other.counts().activations() > 0);
        Await.until("nobody is remembered", () -> other.counts().activations() == 0);
        assertEquals("\"\"", Http.get(server, "/who", "Cookie", cookie).body(), "it is kept");
      }
    }
  }
}
