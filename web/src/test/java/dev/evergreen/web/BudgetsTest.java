package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How many bytes whoever watches may have held and sent. */
final class BudgetsTest {

  private static final int LENGTH = 100_000;

  record Which(int n) {}

  private final HandNode node = new HandNode();
  private final AtomicInteger version = new AtomicInteger();
  private final AtomicInteger times = new AtomicInteger(1);
  private WebServer server = start(WebSettings.DEFAULT);

  private WebServer start(WebSettings settings) {
    if (server != null) {
      server.close();
    }
    server =
        WebServer.builder(node)
            .port(0)
            .behind(Proxies.xForwardedFor("127.0.0.1"))
            .settings(settings.withKeepViewFor(Duration.ofHours(1)))
            .authenticator(
                request -> request.header("Who").map(Caller::named).orElse(Caller.ANONYMOUS))
            .view(
                LiveView.of(
                    "text",
                    Which.class,
                    Authorisation.everyone(),
                    which -> () -> which.n() + "." + version + "x".repeat(LENGTH * times.get())))
            .view(
                LiveView.of(
                    "same",
                    Which.class,
                    Authorisation.everyone(),
                    which -> () -> "x".repeat(LENGTH)))
            .start();
    return server;
  }

  @AfterEach
  void close() {
    server.close();
  }

  private static String typeOfNext(Browser browser) {
    var message = browser.next();
    return message.path("type").asText() + message.path("error").path("type").asText();
  }

  @Test
  void equalResultsAreHeldOnce() {
    for (int n = 0; n < 20; n++) {
      assertEquals(200, Http.get(server, "/live/same?n=" + n).statusCode());
    }
    assertEquals(20, server.counts().views());
    assertTrue(server.counts().heldBytes() < 2 * LENGTH, server.counts().toString());
  }

  @Test
  void anAddressHasItsShareOfTheBytesAndWhatItHasLeftMakesRoom() {
    start(WebSettings.DEFAULT.withMaxHeldBytesPerAddress(10 * LENGTH));
    for (int n = 0; n < 30; n++) {
      assertEquals(200, Http.get(server, "/live/text?n=" + n).statusCode());
      assertTrue(server.counts().heldBytes() <= 10L * LENGTH, server.counts().toString());
    }
    try (var browser = Browser.open(server)) {
      for (int n = 0; n < 9; n++) {
        browser.subscribe(n, "text", "{\"n\":" + n + "}", null);
        assertEquals("result", typeOfNext(browser));
      }
      browser.subscribe(9, "text", "{\"n\":9}", null);
      assertEquals("endtoo-many-bytes", typeOfNext(browser));
      assertEquals(429, Http.get(server, "/live/text?n=10").statusCode());
      browser.send("{\"type\":\"unsubscribe\",\"id\":0}");
      Await.until("room", () -> Http.get(server, "/live/text?n=10").statusCode() == 200);
    }
  }

  @Test
  void whoHasSignedInHasAShareToo() {
    start(WebSettings.DEFAULT.withMaxHeldBytesPerAddress(10 * LENGTH).withMaxViewsPerAddress(3));
    try (var browser = Browser.open(server, "Who", "ada")) {
      for (int n = 0; n < 3; n++) {
        browser.subscribe(n, "same", "{\"n\":" + n + "}", null);
        assertEquals("result", typeOfNext(browser));
      }
      browser.subscribe(3, "same", "{\"n\":3}", null);
      assertEquals("endtoo-many-from-address", typeOfNext(browser));
    }
    Await.until(
        "all idle and evictable", () -> Http.get(server, "/live/same?n=4").statusCode() == 200);
    assertEquals(3, server.counts().views());
  }

  private Browser from(String address) {
    return Browser.open(server, "X-Forwarded-For", address);
  }

  /** Seen: a result was refused to all who watched it when the first of them had no room. */
  @Test
  void whoWatchesMuchTakesNothingFromWhoWatchesTheSame() {
    start(WebSettings.DEFAULT.withMaxHeldBytesPerAddress(4 * LENGTH));
    try (var ada = from("192.0.2.1");
        var bob = from("192.0.2.2")) {
      for (var browser : List.of(ada, bob)) {
        browser.subscribe(1, "text", "{\"n\":1}", null);
        assertEquals("result", typeOfNext(browser));
      }
      for (int n = 2; n < 4; n++) {
        ada.subscribe(n, "same", "{\"n\":" + n + "}", null);
        assertEquals("result", typeOfNext(ada));
      }
      times.set(3);
      node.changed();
      assertEquals("result", typeOfNext(ada));
      assertEquals("result", typeOfNext(bob));
    }
  }

  /** Seen: who had started what others watch could start nothing more. */
  @Test
  void whoHasLeftPaysForNothing() {
    start(WebSettings.DEFAULT.withMaxViewsPerAddress(1));
    try (var ada = from("192.0.2.1");
        var bob = from("192.0.2.2")) {
      for (var browser : List.of(ada, bob)) {
        browser.subscribe(1, "same", "{\"n\":1}", null);
        assertEquals("result", typeOfNext(browser));
      }
      ada.send("{\"type\":\"unsubscribe\",\"id\":1}");
      ada.subscribe(2, "same", "{\"n\":2}", null);
      assertEquals("result", typeOfNext(ada));
    }
  }

  @Test
  void aResultThatGrowsBeyondTheShareEndsItsView() {
    start(WebSettings.DEFAULT.withMaxHeldBytes(4 * LENGTH));
    try (var browser = Browser.open(server)) {
      browser.subscribe(1, "text", "{\"n\":1}", null);
      assertEquals("result", typeOfNext(browser));
      times.set(5);
      node.changed();
      assertEquals("endtoo-many-bytes", typeOfNext(browser));
      assertEquals(0, server.counts().heldBytes());
      times.set(2);
      browser.subscribe(2, "text", "{\"n\":1}", null);
      assertEquals("result", typeOfNext(browser));
    }
  }

  @Test
  void whoIsSentMuchSkipsWhatIsReplacedMeanwhile() {
    start(WebSettings.DEFAULT.withMaxBytesPerSecond(LENGTH / 2));
    try (var browser = Browser.open(server)) {
      browser.subscribe(1, "text", "{\"n\":1}", null);
      assertEquals("result", typeOfNext(browser));
      for (int i = 1; i <= 60; i++) {
        version.set(i);
        node.changed();
        long made = i + 1L;
        Await.until("made", () -> server.counts().resultsSerialised() == made);
      }
      var last = "";
      int seen = 0;
      while (!last.startsWith("1.60x")) {
        last = browser.next().path("value").asText();
        seen++;
      }
      assertTrue(seen < 40, seen + " of 60 were sent");
    }
  }
}
