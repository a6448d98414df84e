package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.live.HandNode;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who has had much work done waits; nobody else does, and nothing is refused or lost. */
final class WorkTest {

  private static final String ADA = "192.0.2.1";
  private static final String BOB = "192.0.2.2";
  private static final int SECONDS = 20;

  record Note(String what, String text) {}

  private final HandNode node = new HandNode();
  private final AtomicInteger value = new AtomicInteger();
  private final List<String> handled = new CopyOnWriteArrayList<>();

  /** What is saved up is ten times this. */
  private WebServer server = start(WebSettings.DEFAULT);

  private WebServer start(WebSettings settings) {
    if (server != null) {
      server.close();
    }
    server =
        WebServer.builder(node)
            .port(0)
            .behind(Proxies.xForwardedFor("127.0.0.1"))
            .settings(settings.withMaxWorkPerSecond(2))
            .view(
                LiveView.of(
                    "value", LiveView.NoParams.class, Authorisation.everyone(), none -> value::get))
            .command(
                "note",
                Note.class,
                Authorisation.everyone(),
                (caller, note) -> handled.add(note.what()))
            .start();
    return server;
  }

  @AfterEach
  void close() {
    server.close();
  }

  private Browser from(String address) {
    return Browser.open(server, "X-Forwarded-For", address);
  }

  private int post(String address, String what, int kibibytes) {
    var body = "{\"what\":\"%s\",\"text\":\"%s\"}".formatted(what, "x".repeat(kibibytes * 1024));
    return Http.post(server, "/commands/note", body, "X-Forwarded-For", address).statusCode();
  }

  private <T> CompletableFuture<T> asked(Supplier<T> request) {
    long before = server.counts().requests();
    var answer = new CompletableFuture<T>();
    Thread.startVirtualThread(
        () -> {
          try {
            answer.complete(request.get());
          } catch (Throwable e) {
            answer.completeExceptionally(e);
          }
        });
    Await.until("asked", () -> server.counts().requests() > before);
    return answer;
  }

  @Test
  void messagesAreReadLater() {
    int sent = 50;
    try (var ada = from(ADA)) {
      for (int i = 0; i < sent; i++) {
        ada.send("{\"type\":\"ping\"}");
      }
      try (var bob = from(BOB)) {
        bob.subscribe(1, "value", "{}", null);
        assertEquals("result", bob.next().path("type").asText());
      }
      int answers = 0;
      while (ada.poll(Duration.ZERO) != null) {
        answers++;
      }
      assertTrue(answers < sent, "all were answered");
      assertNotNull(ada.poll(Browser.PATIENCE), "the others are never answered");
      assertFalse(ada.isClosed());
    }
  }

  /** Who is made to wait must not be cut for being silent meanwhile. */
  @Test
  void whoWaitsIsNotSilent() {
    start(WebSettings.DEFAULT.withSilenceAfter(Duration.ofMillis(500)));
    try (var ada = from(ADA)) {
      ada.send("[" + String.join(",", Collections.nCopies(20, "{\"type\":\"ping\"}")) + "]");
      assertNotNull(ada.poll(Browser.PATIENCE), "it was cut: " + server.counts());
      assertFalse(ada.isClosed());
    }
  }

  @Test
  void whoComesByAnotherConnectionHasNoMoreDone() throws Exception {
    try (var _ = from(ADA);
        var _ = from(ADA)) {
      var third = asked(() -> from(ADA));
      from(BOB).close();
      assertFalse(third.isDone(), "it was opened at once");
      third.get(SECONDS, TimeUnit.SECONDS).close();
    }
  }

  @Test
  void longBodiesAreTakenLaterAndShortOnesAreNot() throws Exception {
    assertEquals(204, post(ADA, "long", 15));
    var second = asked(() -> post(ADA, "longer", 14));
    assertEquals(204, post(BOB, "bob's", 15));
    assertEquals(204, post(ADA, "short", 0));
    assertEquals(List.of("long", "bob's", "short"), handled);
    assertEquals(204, second.get(SECONDS, TimeUnit.SECONDS));
    assertEquals("longer", handled.getLast());
  }

  @Test
  void theLatestResultComesInTheEnd() {
    try (var ada = from(ADA)) {
      ada.subscribe(1, "value", "{}", null);
      var shown = ada.next();
      for (int i = 0; shown.path("freshness").asText().equals("current"); i++) {
        assertTrue(i < 1_000, "it is followed for ever");
        value.incrementAndGet();
        node.changed();
        shown = ada.next();
      }
      value.set(-1);
      node.changed();
      while (!isLast(shown)) {
        shown = ada.next();
      }
      assertEquals("current", freshnessAfter(ada, shown.path("freshness").asText()));
    }
  }

  private static boolean isLast(JsonNode message) {
    return message.path("type").asText().equals("result") && message.path("value").asInt() == -1;
  }

  private static String freshnessAfter(Browser browser, String shown) {
    var freshness = shown;
    while (!freshness.equals("current")) {
      freshness = browser.next().path("freshness").asText();
    }
    return freshness;
  }
}
