package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class GuardTest {

  private static final String FRIEND = "https://friend.example";
  private static final String APP = "capacitor://localhost";

  record Nothing() {}

  private final WebServer server =
      WebServer.builder(new HandNode())
          .port(0)
          .allowedOrigins(FRIEND, APP)
          .allowedHosts("chirper.example")
          .view(
              LiveView.of(
                  "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1))
          .command("do", Nothing.class, Authorisation.everyone(), (caller, command) -> {})
          .start();

  @AfterEach
  void close() {
    server.close();
  }

  private String own() {
    return "http://127.0.0.1:" + server.port();
  }

  @Test
  void putsSecurityHeadersOnEveryAnswer() {
    for (var response :
        List.of(
            Http.get(server, "/live/value"),
            Http.get(server, "/nothing"),
            Http.get(server, "/live/nothing"),
            Http.post(server, "/commands/do", "{}"))) {
      assertTrue(Http.header(response, "Content-Security-Policy").startsWith("default-src 'self'"));
      assertEquals("nosniff", Http.header(response, "X-Content-Type-Options"));
      assertEquals("DENY", Http.header(response, "X-Frame-Options"));
      assertEquals("same-origin", Http.header(response, "Referrer-Policy"));
      assertEquals("same-origin", Http.header(response, "Cross-Origin-Opener-Policy"));
      assertEquals("", Http.header(response, "Server"));
    }
  }

  @Test
  void refusesPagesOfForeignOrigins() {
    for (var origin : List.of("https://evil.example", "null", own() + "0", "", "127.0.0.1")) {
      assertEquals(403, Http.get(server, "/live/value", "Origin", origin).statusCode(), origin);
      assertEquals(
          403, Http.post(server, "/commands/do", "{}", "Origin", origin).statusCode(), origin);
      assertThrows(CompletionException.class, () -> Browser.open(server, "Origin", origin));
    }
    assertEquals(403, Http.get(server, "/live/value", "Sec-Fetch-Site", "cross-site").statusCode());
    assertEquals(16, server.counts().refused().get("foreign-origin"));
  }

  /** Those of apps, extensions and files; also where their host is called as this server is. */
  @Test
  void originsThatAreNoPagesOfTheWebAreServedOnlyWhereTheyAreNamed() {
    var same = own().replace("http:", "app:");
    for (var origin : List.of("null", "ionic://localhost", "chrome-extension://abcdef", same)) {
      var refused = Http.get(server, "/live/value", "Origin", origin);
      assertEquals(403, refused.statusCode(), origin);
      var said = Http.json(refused).path("detail").asText();
      assertTrue(said.contains("'" + origin + "'") && said.contains("allowed-origins"), said);
    }
    var answer = Http.get(server, "/live/value", "Origin", APP);
    assertEquals(200, answer.statusCode());
    assertEquals(APP, Http.header(answer, "Access-Control-Allow-Origin"));
    Browser.open(server, "Origin", APP).close();
    try (var open =
        WebServer.builder(new HandNode())
            .port(0)
            .allowedOrigins("null")
            .command("do", Nothing.class, Authorisation.everyone(), (caller, command) -> {})
            .start()) {
      assertEquals(204, Http.post(open, "/commands/do", "{}", "Origin", "null").statusCode());
    }
  }

  @Test
  void anOriginThatNoBrowserWritesSoIsRefusedAtOnce() {
    var builder = WebServer.builder(new HandNode());
    for (var origin :
        List.of("https://a.example/", "a.example", "https://A.example", "*", "https://", "NULL")) {
      var refused =
          assertThrows(IllegalArgumentException.class, () -> builder.allowedOrigins(origin));
      assertTrue(String.valueOf(refused.getMessage()).contains("'" + origin + "'"));
    }
    builder.allowedOrigins("file://", "http://[::1]:8080", "safari-web-extension://ABC-1");
  }

  @Test
  void servesItsOwnPagesAndProgramsThatAreNoBrowser() {
    for (var headers : List.of(new String[0], new String[] {"Origin", own()})) {
      assertEquals(200, Http.get(server, "/live/value", headers).statusCode());
      assertEquals(204, Http.post(server, "/commands/do", "{}", headers).statusCode());
      Browser.open(server, headers).close();
    }
  }

  @Test
  void letsPagesOfConfiguredOriginsReadAndCommand() {
    var get = Http.get(server, "/live/value", "Origin", FRIEND);
    assertEquals(200, get.statusCode());
    assertEquals(FRIEND, Http.header(get, "Access-Control-Allow-Origin"));
    assertEquals("true", Http.header(get, "Access-Control-Allow-Credentials"));
    assertEquals(204, Http.post(server, "/commands/do", "{}", "Origin", FRIEND).statusCode());
    Browser.open(server, "Origin", FRIEND).close();
    var preflight = preflight(FRIEND);
    assertEquals(204, preflight.statusCode());
    assertTrue(Http.header(preflight, "Access-Control-Allow-Headers").contains("Content-Type"));
    var refused = preflight("https://evil.example");
    assertEquals(405, refused.statusCode());
    assertEquals("", Http.header(refused, "Access-Control-Allow-Origin"));
  }

  @Test
  void pagesOfPeersMayUseThisServerAndItsPagesThem() {
    try (var one =
        WebServer.builder(new HandNode())
            .port(0)
            .peers("http://127.0.0.1:8081", "https://two.example")
            .command("do", Nothing.class, Authorisation.everyone(), (caller, command) -> {})
            .start()) {
      var answer = Http.post(one, "/commands/do", "{}", "Origin", "https://two.example");
      assertEquals(204, answer.statusCode());
      assertTrue(
          Http.header(answer, "Content-Security-Policy")
              .endsWith(
                  "; connect-src 'self' http://127.0.0.1:8081 ws://127.0.0.1:8081"
                      + " https://two.example wss://two.example"));
    }
  }

  private java.net.http.HttpResponse<String> preflight(String origin) {
    return Http.send(
        Http.request(server, "/commands/do", "Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .method("OPTIONS", BodyPublishers.noBody())
            .build());
  }

  @Test
  void isKnownByItsNamesOnly() throws Exception {
    record Case(String host, int status) {}
    for (var one :
        List.of(
            new Case("127.0.0.1", 200),
            new Case("localhost:8080", 200),
            new Case("LOCALHOST", 200),
            new Case("[::1]:99", 200),
            new Case("chirper.example", 200),
            new Case("evil.example", 421),
            new Case("127.0.0.1.evil.example:8080", 421),
            new Case("10.0.0.1", 421))) {
      try (var raw = new RawClient(server)) {
        raw.send("GET /live/value HTTP/1.1\r\nHost: " + one.host() + "\r\n\r\n");
        assertEquals(one.status(), raw.status(), one.host());
      }
    }
    try (var raw = new RawClient(server)) {
      raw.send("GET /live/value HTTP/1.1\r\n\r\n");
      assertEquals(400, raw.status());
    }
  }

  @Test
  void onAnAddressOfTheNetworkNoNameIsKnownThatIsNotSaid() throws Exception {
    try (var open =
        WebServer.builder(new HandNode())
            .port(0)
            .bind("0.0.0.0")
            .command("do", Nothing.class, Authorisation.everyone(), (caller, command) -> {})
            .view(
                LiveView.of(
                    "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1))
            .start()) {
      record Case(String host, int status) {}
      for (var one :
          List.of(
              new Case("10.0.0.7:8080", 200),
              new Case("[fd00::7]:8080", 200),
              new Case("evil.example", 421),
              new Case("localhost", 421),
              new Case("1.2.3.4.evil.example", 421))) {
        try (var raw = new RawClient(open)) {
          raw.send("GET /live/value HTTP/1.1\r\nHost: " + one.host() + "\r\n\r\n");
          assertEquals(one.status(), raw.status(), one.host());
        }
      }
    }
  }
}
