package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Readers that take nothing, or little, of results that are large. */
final class SlowReaderTest {

  private static final String FILLER = "x".repeat(200_000);
  private static final Pattern RESULT = Pattern.compile("\\[(\\d+),\"x");
  private static final String SUBSCRIBE =
      "{\"type\":\"subscribe\",\"id\":1,\"view\":\"value\",\"params\":{}}";

  private final HandNode node = new HandNode();
  private final AtomicInteger version = new AtomicInteger();
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .settings(
              WebSettings.DEFAULT
                  .withStallAfter(Duration.ofMillis(800))
                  .withSilenceAfter(Duration.ofMinutes(1))
                  .withMaxMessagesPerSecond(1_000_000))
          .view(
              LiveView.of(
                  "value",
                  LiveView.NoParams.class,
                  Authorisation.everyone(),
                  params -> () -> List.of(version.get(), version.get() == 0 ? "" : FILLER)))
          .start();

  @AfterEach
  void close() {
    server.close();
  }

  private void change() {
    version.incrementAndGet();
    node.changed();
  }

  @Test
  void aReaderThatNeverReadsIsCutAndHarmsNobody() throws Exception {
    var deaf = new ArrayList<RawClient>();
    for (int i = 0; i < 10; i++) {
      var client = new RawClient(server, 4096);
      client.send(RawClient.UPGRADE);
      assertEquals(101, client.status());
      client.send(RawClient.text(SUBSCRIBE));
      deaf.add(client);
    }
    try (var stream = new RawClient(server, 4096);
        var browser = Browser.open(server)) {
      stream.send(
          "GET /live/value HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
      browser.subscribe(1, "value", "{}", null);
      assertEquals(0, browser.next().path("value").path(0).asInt());
      Await.until("all subscribed", () -> server.counts().subscriptions() == 12);
      for (int i = 1; i <= 20; i++) {
        change();
        assertEquals(i, browser.next().path("value").path(0).asInt());
      }
      Await.until(
          "the deaf are cut", () -> server.counts().cut().getOrDefault("stalled", 0L) == 11);
      Await.until("one is left", () -> server.counts().liveConnections() == 1);
      change();
      assertEquals(21, browser.next().path("value").path(0).asInt());
      assertEquals(1, server.counts().subscriptions());
    }
    for (var client : deaf) {
      client.close();
    }
  }

  @Test
  void aSlowReaderSkipsResultsAndGetsTheLatest() throws Exception {
    try (var slow = new RawClient(server, 4096)) {
      slow.send("GET /live/value HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
      Await.until("subscribed", () -> server.counts().subscriptions() == 1);
      for (int i = 1; i <= 200; i++) {
        change();
      }
      Await.until("serialised", () -> server.counts().resultsSerialised() > 0);
      var seen = new ArrayList<Integer>();
      var text = new StringBuilder();
      while (seen.isEmpty() || seen.getLast() != 200) {
        text.append(slow.some());
        var matcher = RESULT.matcher(text);
        int parsed = 0;
        while (matcher.find()) {
          seen.add(Integer.valueOf(matcher.group(1)));
          parsed = matcher.end();
        }
        // Keeps what may be the beginning of the next one.
        text.delete(0, Math.max(parsed, text.length() - 20));
      }
      for (int i = 1; i < seen.size(); i++) {
        assertTrue(seen.get(i) > seen.get(i - 1), seen.toString());
      }
      assertTrue(seen.size() < 100, seen.toString());
    }
  }

  @Test
  void whoTakesAnAnswerABitAtATimeIsCut() throws Exception {
    var large = "x".repeat(8 << 20);
    try (var patient =
            WebServer.builder(node)
                .port(0)
                .settings(
                    WebSettings.DEFAULT
                        .withStallAfter(Duration.ofMillis(1500))
                        .withMinBytesPerSecond(1 << 30))
                .route("GET", "/large", request -> Reply.text(large))
                .start();
        var drop = new RawClient(patient, 4096)) {
      drop.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
      var cut = new AtomicBoolean();
      var sipping = Thread.ofVirtual().start(() -> sip(drop, cut));
      Await.until("it is cut", () -> patient.counts().cut().containsKey("stalled"));
      cut.set(true);
      sipping.join();
    }
  }

  /** Takes something more often than a respite is long. */
  private static void sip(RawClient client, AtomicBoolean enough) {
    try {
      while (!enough.get()) {
        client.some();
        Thread.sleep(10);
      }
    } catch (IOException | InterruptedException e) {
      // Cut, as it should be.
    }
  }

  @Test
  void aClientThatCausesAnswersButTakesNoneIsNotReadAnyMore() throws Exception {
    try (var rude = new RawClient(server, 4096)) {
      rude.send(RawClient.UPGRADE);
      assertEquals(101, rude.status());
      var refused = RawClient.text("{\"type\":\"subscribe\",\"id\":1,\"view\":\"nothing\"}");
      long sent = 0;
      try {
        while (sent < 1_000_000) {
          rude.send(refused);
          sent++;
        }
      } catch (SocketException cut) {
        // As it should be.
      }
      long answers = server.counts().refused().getOrDefault("no-such-view", 0L);
      assertTrue(answers < 50_000, answers + " answers to " + sent);
      Await.until("it is cut", () -> server.counts().liveConnections() == 0);
      assertEquals(Map.of("stalled", 1L), server.counts().cut());
    }
  }
}
