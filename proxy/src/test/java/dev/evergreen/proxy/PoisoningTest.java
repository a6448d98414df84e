package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What one client says never shapes what another one gets, unless it is part of the key. */
@Timeout(60)
class PoisoningTest {
  private final ScriptedOrigin origin = new ScriptedOrigin();
  private @Nullable Proxy proxy;

  PoisoningTest() throws IOException {}

  @AfterEach
  void end() {
    origin.close();
    if (proxy != null) {
      proxy.close();
    }
  }

  private Browser start(ProxySettings settings) throws IOException {
    var started =
        Proxy.start(
            settings
                .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                .withOrigins(List.of(origin.origin()))
                .withStorage(StorageOptions.memory(16 << 20))
                .withProcessors(1));
    proxy = started;
    return new Browser(started.addresses().getFirst());
  }

  /** Answers by what a field of the request says, for everybody. */
  private void reflect(String field) {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(200, request.field(field), "Cache-Control: max-age=60")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Scheme",
        "X-Forwarded-Server",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Original-Host",
        "X-Host",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "X_Forwarded_Host",
        "X_Forwarded-Proto",
        "X_Original_URL",
        "x_http_method_override",
        "Proxy"
      })
  void whatSaysHowTheRequestWasIsTheProxysToSay(String field) throws Exception {
    reflect(field);
    try (var browser = start(ProxySettings.DEFAULT)) {
      assertFalse(browser.get("/a", field + ": evil").body().contains("evil"), field);
    }
  }

  /** All have one key. */
  @ParameterizedTest
  @ValueSource(strings = {"TEST", "test:80", "test:"})
  void howTheHostIsWrittenIsNotTheClientsToSay(String host) throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    request.field("X-Forwarded-Host") + " " + request.field("Forwarded"),
                    "Cache-Control: max-age=60")));
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.send("GET /a HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
      assertEquals("test for=127.0.0.1;proto=http;host=\"test\"", browser.receive().body());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Forwarded", "X-Forwarded-For", "X_Forwarded_For"})
  void whereTheRequestIsFromIsNotTheClientsToSay(String field) throws Exception {
    reflect(field);
    try (var browser = start(ProxySettings.DEFAULT.withForwarded(false))) {
      assertFalse(browser.get("/a", field + ": evil").body().contains("evil"), field);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"X-Forwarded-For", "Forwarded", "X-Original-URL", "X_Forwarded_Host"})
  void norIsItWhatComesBehindABody(String field) throws Exception {
    origin.then(
        (_, wire) -> {
          var came = new StringBuilder();
          while (came.indexOf("\r\n0\r\n") < 0 || !came.toString().endsWith("\r\n\r\n")) {
            came.append((char) wire.in().read());
          }
          wire.send(ScriptedOrigin.response(200, came.toString()));
        });
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.send(
          "POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "4\r\nbody\r\n0\r\nX-Sum: 1\r\n"
              + field
              + ": evil\r\n\r\n");
      var came = browser.receive().body();
      assertTrue(came.contains("X-Sum: 1"), came);
      assertFalse(came.contains("evil"), came);
    }
  }

  @Test
  void aHostThatIsNoPartOfTheKeyIsNotTold() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(ScriptedOrigin.response(200, request.head(), "Cache-Control: max-age=60")));
    try (var browser = start(ProxySettings.DEFAULT.withKeptHost(false))) {
      browser.send("GET /a HTTP/1.1\r\nHost: evil\r\n\r\n");
      assertFalse(browser.receive().body().contains("evil"), "others get the same answer");
      assertTrue(browser.get("/a").field("Cache-Status").contains("hit"));
    }
  }

  @ParameterizedTest
  @CsvSource({"X-Language,X-Language", "Accept-Encoding,'close-not, accept-encoding'"})
  void aVariantIsStoredForWhatTheOriginHasSeen(String field, String listed) throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    request.has(field) ? request.field(field) : "none",
                    "Cache-Control: max-age=60",
                    "Vary: " + field)));
    try (var browser = start(ProxySettings.DEFAULT)) {
      var poison = browser.get("/a", field + ": de", "Connection: " + listed);
      assertEquals("none", poison.body(), "as it belonged to the connection");
      assertEquals("de", browser.get("/a", field + ": de").body());
      assertEquals("none", browser.get("/a").body());
      assertEquals(2, origin.count());
    }
  }

  @Test
  void whereARequestHasBeenIsNotTheClientsToDrop() throws Exception {
    origin.then(200, "1");
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.get("/a", "Via: 1.1 before", "Connection: Via, X-Forwarded-For, Forwarded");
      var asked = origin.next();
      assertTrue(asked.field("Via").contains("before"));
      assertEquals("127.0.0.1", asked.field("X-Forwarded-For"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"h2c", "websocket, h2c", "HTTP/2.0", "TLS/1.2"})
  void nobodyUpgradesPastTheProxyToAnotherHttp(String protocol) throws Exception {
    origin.then(200, "1");
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.get(
          "/a",
          "Connection: Upgrade, HTTP2-Settings",
          "Upgrade: " + protocol,
          "HTTP2-Settings: AAMAAABkAAQAAP__");
      var asked = origin.next();
      assertFalse(asked.has("Upgrade"));
      assertFalse(asked.has("HTTP2-Settings"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"X-Forwarded-For", "Forwarded", "Via"})
  void whatVariesByWhatTheProxySaysOfTheClientIsNobodyElses(String field) throws Exception {
    origin.then(200, "yours", "Cache-Control: max-age=60", "Vary: Accept, " + field);
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.get("/a");
      assertFalse(browser.get("/a").field("Cache-Status").contains("hit"), field);
    }
  }

  @Test
  void clientsOfOldUpgradeToNothing() throws Exception {
    origin.then(200, "1");
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.send("GET /a HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
      assertEquals(200, browser.receive().status());
      assertFalse(origin.next().has("Upgrade"), "RFC 9110 §7.8");
    }
  }

  @Test
  void anAnswerToSomebodysCredentialsIsForThemAlone() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200, "for " + request.field("Authorization"), "Cache-Control: max-age=60")));
    try (var browser = start(ProxySettings.DEFAULT)) {
      assertEquals("for me", browser.get("/a", "Authorization: me").body());
      assertEquals("for you", browser.get("/a", "Authorization: you").body());
      assertEquals("for", browser.get("/a").body().strip());
    }
  }

  @Test
  void aPartIsNotTakenForTheWhole() throws Exception {
    origin
        .then(
            (_, wire) ->
                wire.send(
                    "HTTP/1.1 206 X\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n"
                        + "Cache-Control: max-age=60\r\n\r\npart"))
        .then(200, "the whole", "Cache-Control: max-age=60");
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.get("/a", "Range: bytes=0-3");
      assertEquals("the whole", browser.get("/a").body());
    }
  }

  @Test
  void aBodyOfAGetShapesNothingThatIsStored() throws Exception {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200, "[" + request.body() + "]", "Cache-Control: max-age=9")));
    try (var browser = start(ProxySettings.DEFAULT)) {
      browser.send("GET /a HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nevil");
      assertEquals("[evil]", browser.receive().body());
      assertEquals("[]", browser.get("/a").body());
    }
  }
}
