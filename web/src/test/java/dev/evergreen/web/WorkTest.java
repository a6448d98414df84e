package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.live.HandNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;

/**
 * Who has had much work done waits; nobody else does, and nothing is refused or lost. The tests
 * wait as well, rather than work, and so at the same time.
 */
final class WorkTest {

  private static final String ADA = "192.0.2.1";
  private static final String BOB = "192.0.2.2";
  private static final int SECONDS = 20;

  record Note(String what, String text) {}

  record SignIn(String name) {}

  private final Node accounts = EmbeddedNode.builder().grains(SignedSessions.grains()).start();
  private final HandNode node = new HandNode();
  private final AtomicInteger value = new AtomicInteger();
  private final List<String> handled = new CopyOnWriteArrayList<>();

  private WebServer server = start(1, WebSettings.DEFAULT);

  /** What is saved up is ten times the work of a second. */
  private WebServer start(int workPerSecond, WebSettings settings) {
    if (server != null) {
      server.close();
    }
    var sessions = SignedSessions.withRandomKey(accounts.grains(), Duration.ofHours(1));
    server =
        WebServer.builder(node)
            .port(0)
            .behind(Proxies.xForwardedFor("127.0.0.1"))
            .settings(settings.withMaxWorkPerSecond(workPerSecond))
            .view(
                LiveView.of(
                    "value", LiveView.NoParams.class, Authorisation.everyone(), none -> value::get))
            .command(
                "note",
                Note.class,
                Authorisation.everyone(),
                (caller, note) -> handled.add(note.what()))
            .commandWithResult(
                "sign-in",
                SignIn.class,
                Authorisation.everyone(),
                (caller, person) -> sessions.signIn(person.name()))
            .start();
    return server;
  }

  @AfterEach
  void close() {
    server.close();
    accounts.close();
  }

  private Browser from(String address) {
    return Browser.open(server, "X-Forwarded-For", address);
  }

  private int post(String address, String what, int kibibytes) {
    var body = "{\"what\":\"%s\",\"text\":\"%s\"}".formatted(what, "x".repeat(kibibytes * 1024));
    return Http.post(server, "/commands/note", body, "X-Forwarded-For", address).statusCode();
  }

  private int signIn(String address, String name) {
    var body = "{\"name\":\"%s\"}".formatted(name);
    return Http.post(server, "/commands/sign-in", body, "X-Forwarded-For", address).statusCode();
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
  @Execution(CONCURRENT)
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

  private static String pings(int count) {
    return "[" + String.join(",", Collections.nCopies(count, "{\"type\":\"ping\"}")) + "]";
  }

  /** Seen: all of them were paid for by one rest of a second. */
  @Test
  @Execution(CONCURRENT)
  void manyMessagesInOneHaveSeveralTurns() {
    start(20, WebSettings.DEFAULT);
    try (var ada = from(ADA)) {
      ada.send(pings(300));
      for (int i = 0; i < 300; i++) {
        assertNotNull(ada.poll(Browser.PATIENCE));
      }
      // For 110 it waits. A thread that is woken late may have some saved up, too.
      long waits = server.counts().waits();
      assertTrue(waits > 5, "they waited " + waits + " times");
    }
  }

  /** One who asks for little has a turn after each piece of what the others ask for. */
  @Test
  @Execution(CONCURRENT)
  void whoAsksForLittleIsServedAmidWhoAsksForMuch() {
    start(20, WebSettings.DEFAULT);
    var others = new ArrayList<Browser>();
    try (var ada = from(ADA)) {
      for (int i = 0; i < 5; i++) {
        others.add(from(ADA));
        others.getLast().send(pings(300));
      }
      ada.subscribe(1, "value", "{}", null);
      assertEquals("result", ada.next().path("type").asText());
      for (var other : others) {
        int answers = 0;
        while (other.poll(Duration.ZERO) != null) {
          answers++;
        }
        assertTrue(answers < 300, "somebody had all done before");
        assertFalse(other.isClosed());
      }
    } finally {
      others.forEach(Browser::close);
    }
  }

  /** What a client asks lies behind what it sent before; it must not take the server to be gone. */
  @Test
  @Execution(CONCURRENT)
  void whoWaitsForLongHearsThatTheServerIsAlive() {
    try (var ada = from(ADA)) {
      var another = asked(() -> from(ADA));
      Await.until("it waits", () -> server.counts().waits() > 0);
      ada.subscribe(1, "value", "{}", null);
      var first = Objects.requireNonNull(ada.poll(Browser.PATIENCE));
      assertEquals("heartbeat", first.path("type").asText());
      assertFalse(another.isDone(), "it was its turn already");
    }
  }

  @Test
  @Execution(CONCURRENT)
  void aPingIsAnsweredBeforeItWaits() {
    try (var ada = from(ADA)) {
      var another = asked(() -> from(ADA));
      Await.until("it waits", () -> server.counts().waits() > 0);
      ada.send("{\"type\":\"ping\"}");
      assertNotNull(ada.poll(Browser.PATIENCE));
      assertFalse(another.isDone(), "it was answered in its turn only");
    }
  }

  @Test
  @Execution(CONCURRENT)
  void theViewsOfAStreamHaveTheirTurns() throws Exception {
    start(10, WebSettings.DEFAULT);
    try (var stream = new RawClient(server)) {
      var views =
          IntStream.range(0, 140)
              .mapToObj("{\"id\":%d,\"view\":\"value\"}"::formatted)
              .collect(Collectors.joining(",", "{\"subscribe\":[", "]}"));
      stream.send(
          RawClient.lines(
              "POST /live HTTP/1.1",
              "X-Forwarded-For: " + ADA,
              "Content-Type: application/json",
              "Content-Length: " + views.length(),
              "",
              views));
      var heard = new StringBuilder();
      while (!heard.toString().contains("\"id\":139,")) {
        heard.append(stream.some());
      }
      long waits = server.counts().waits();
      // For fifty of them, in turns as long as an opening's, of which each may tell of two waits.
      assertTrue(waits > 2, "they waited " + waits + " times");
      assertTrue(waits < 20, "each waits for a turn of its own: " + waits);
    }
  }

  @Test
  @Execution(CONCURRENT)
  void whoComesByAnotherConnectionHasNoMoreDone() throws Exception {
    try (var _ = from(ADA)) {
      var second = asked(() -> from(ADA));
      from(BOB).close();
      assertFalse(second.isDone(), "it was opened at once");
      second.get(SECONDS, TimeUnit.SECONDS).close();
    }
  }

  @Test
  @Execution(CONCURRENT)
  void longBodiesAreTakenLaterAndShortOnesAreNot() throws Exception {
    assertEquals(204, post(ADA, "long", 9));
    var second = asked(() -> post(ADA, "longer", 11));
    assertEquals(204, post(BOB, "bob's", 9));
    assertEquals(204, post(ADA, "short", 0));
    assertEquals(List.of("long", "bob's", "short"), handled);
    assertEquals(204, second.get(SECONDS, TimeUnit.SECONDS));
    assertEquals("longer", handled.getLast());
  }

  @Test
  @Execution(CONCURRENT)
  void whoWaitsIsAnsweredWhenTheServerEnds() throws Exception {
    assertEquals(204, post(ADA, "long", 9));
    var second = asked(() -> post(ADA, "longer", 11));
    Await.until("it waits", () -> server.counts().waits() > 0);
    server.close();
    assertEquals(503, second.get(SECONDS, TimeUnit.SECONDS));
    assertEquals(List.of("long"), handled);
  }

  /** Seen: each name that a stranger makes up is a grain, kept for ten minutes. */
  @Test
  @Execution(CONCURRENT)
  void whoSignsInByEverOtherNamesHasItsTurns() throws Exception {
    assertEquals(200, signIn(ADA, "ann"));
    var second = asked(() -> signIn(ADA, "eve"));
    assertEquals(200, signIn(BOB, "bob"));
    assertEquals(204, post(ADA, "short", 0));
    assertFalse(second.isDone(), "it was answered at once");
    assertEquals(200, second.get(SECONDS, TimeUnit.SECONDS));
  }

  /** It has been carried out, so it is no refusal. */
  @Test
  @Execution(CONCURRENT)
  void whoWaitsToBeSignedInIsSoWhenTheServerEnds() throws Exception {
    assertEquals(200, signIn(ADA, "ann"));
    var second = asked(() -> signIn(ADA, "eve"));
    Await.until("it waits", () -> server.counts().waits() > 0);
    server.close();
    assertEquals(200, second.get(SECONDS, TimeUnit.SECONDS));
  }

  @Test
  @Execution(CONCURRENT)
  void theLatestResultComesInTheEnd() {
    start(2, WebSettings.DEFAULT);
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
