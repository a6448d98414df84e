package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.live.HandNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class LiveSocketTest {

  record Named(String name) {}

  private final HandNode node = new HandNode();
  private final Map<String, Object> values = new ConcurrentHashMap<>(Map.of("a", "one", "b", 2));
  private final java.util.Set<String> banned = ConcurrentHashMap.newKeySet();
  private @Nullable WebServer server;

  private WebServer start(WebSettings settings) {
    server =
        WebServer.builder(node)
            .port(0)
            .settings(settings)
            .authenticator(
                request -> request.header("X-User").map(Caller::named).orElse(Caller.ANONYMOUS))
            .view(
                LiveView.of(
                    "value",
                    Named.class,
                    (caller, params) -> !banned.contains(caller.name()),
                    params ->
                        () -> {
                          var value = values.get(params.name());
                          if (value == null) {
                            throw new WebException(404, "no-such-value", "No " + params.name());
                          }
                          return value;
                        }))
            .start();
    return server;
  }

  @AfterEach
  void close() {
    if (server != null) {
      server.close();
    }
  }

  private void change(String name, Object value) {
    values.put(name, value);
    node.changed();
  }

  private static void assertResult(JsonNode message, long id, String value) {
    assertEquals("result", message.path("type").asText(), message.toString());
    assertEquals(id, message.path("id").asLong());
    assertEquals(value, message.path("value").asText());
  }

  @Test
  void saysAtFirstHowManyMessagesItTakes() {
    var hello = Messages.hello(WebSettings.DEFAULT.withMaxMessagesPerSecond(7));
    assertEquals(7, Json.tree(hello.getBytes(StandardCharsets.UTF_8)).path("rate").asInt());
  }

  @Test
  void deliversThePresentResultAndThenEachThatDiffers() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT))) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      var first = browser.next();
      assertResult(first, 1, "one");
      assertEquals("current", first.path("freshness").asText());
      change("a", "two");
      var second = browser.next();
      assertResult(second, 1, "two");
      node.changed();
      change("a", "three");
      assertResult(browser.next(), 1, "three");
    }
  }

  private static List<String> posts(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "A post of some length, number " + i).toList();
  }

  @Test
  void sendsDeltasToWhomHasTheResultBeforeAndKnowsThem() {
    values.put("a", posts(0, 20));
    var running = start(WebSettings.DEFAULT);
    try (var browser = Browser.openForDeltas(running);
        var old = Browser.open(running)) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      old.subscribe(1, "value", "{\"name\":\"a\"}", null);
      var first = browser.next();
      assertEquals("result", first.path("type").asText());
      assertEquals(first, old.next());

      change("a", posts(0, 21));
      var delta = browser.next();
      assertEquals("delta", delta.path("type").asText());
      assertEquals(first.path("tag"), delta.path("from"));
      assertEquals(
          "{\"items\":[[0,20],{\"add\":[\"A post of some length, number 20\"]}]}",
          delta.path("delta").toString());
      var second = old.next();
      assertEquals("result", second.path("type").asText());
      assertEquals(second.path("tag"), delta.path("tag"));

      // Who comes back with the result before is told what is new, who has an older one, all of it.
      browser.subscribe(2, "value", "{\"name\":\"a\"}", first.path("tag").asText());
      assertEquals(delta.path("delta"), browser.next().path("delta"));
      change("a", posts(0, 22));
      assertEquals("delta", browser.next().path("type").asText());
      assertEquals("delta", browser.next().path("type").asText());
      browser.subscribe(3, "value", "{\"name\":\"a\"}", first.path("tag").asText());
      assertEquals(22, browser.next().path("value").size());

      assertTrue(running.counts().heldBytes() > 0);
      change("a", "short");
      assertEquals("short", browser.next().path("value").asText());
      assertEquals("\"short\"}\n\n".length(), running.counts().heldBytes());
    }
  }

  @Test
  void takesSeveralMessagesInOneAndAnswersAPingAtOnce() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT.withMaxMessagesPerSecond(1)))) {
      var subscribe =
          "{\"type\":\"subscribe\",\"id\":%d,\"view\":\"value\",\"params\":{\"name\":\"a\"}}";
      var all =
          IntStream.range(0, 50).mapToObj(subscribe::formatted).collect(Collectors.joining(","));
      browser.send("[" + all + ",{\"type\":\"ping\"}]");
      var types = new TreeMap<String, Integer>();
      for (int i = 0; i < 51; i++) {
        var message = Objects.requireNonNull(browser.poll(Browser.PATIENCE));
        types.merge(message.path("type").asText(), 1, Integer::sum);
      }
      assertEquals(Map.of("result", 50, "heartbeat", 1), types);
    }
  }

  /** Seen: each of its pieces counted, and the server below makes pieces where networks do. */
  @Test
  void aMessageInSeveralPiecesCountsOnce() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT.withMaxMessagesPerSecond(1)))) {
      for (int i = 0; i < 8; i++) {
        for (var piece : List.of("{", " \"type\"", " :", " \"ping\"", " ", " ", " ", "}")) {
          browser.socket().sendText(piece, false).join();
        }
        browser.socket().sendText(" ".repeat(1_000), false).join();
        browser.socket().sendText("", true).join();
        assertEquals("heartbeat", message(browser).path("type").asText());
      }
    }
  }

  @Test
  void aMessageInPiecesWithoutAnEndIsAFlood() {
    var settings = WebSettings.DEFAULT.withMaxMessagesPerSecond(1).withMaxMessageBytes(1_000);
    try (var browser = Browser.open(start(settings))) {
      while (!browser.isClosed()) {
        // Whether it still goes out does not matter.
        browser.socket().sendText("", false).exceptionally(e -> browser.socket()).join();
      }
      assertEquals(Map.of("flood", 1L), server().counts().cut());
    }
  }

  @Test
  void carriesManyViewsOverOneConnectionUntilEachIsUnsubscribed() {
    try (var browser =
        Browser.open(start(WebSettings.DEFAULT.withKeepViewFor(Duration.ofMillis(50))))) {
      // Results of two views come in any order.
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(browser.next(), 1, "one");
      browser.subscribe(2, "value", "{\"name\":\"b\"}", null);
      assertResult(browser.next(), 2, "2");
      Await.until("two subscriptions", () -> server().counts().subscriptions() == 2);
      browser.send("{\"type\":\"unsubscribe\",\"id\":1}");
      Await.until("one computation closed", () -> node.running() == 1);
      change("a", "unseen");
      change("b", 3);
      assertResult(browser.next(), 2, "3");
    }
    Await.until("all given back", () -> node.running() == 0);
    Await.until("connection gone", () -> server().counts().liveConnections() == 0);
    assertEquals(0, server().counts().subscriptions());
  }

  private WebServer server() {
    var started = server;
    if (started == null) {
      throw new AssertionError("not started");
    }
    return started;
  }

  @Test
  void serialisesAResultOnceHoweverManyWatch() {
    start(WebSettings.DEFAULT);
    var browsers = new ArrayList<Browser>();
    for (int i = 0; i < 20; i++) {
      var browser = Browser.open(server());
      browser.subscribe(i, "value", "{\"name\":\"a\"}", null);
      browsers.add(browser);
      assertResult(browser.next(), i, "one");
    }
    change("a", "two");
    for (int i = 0; i < 20; i++) {
      assertResult(browsers.get(i).next(), i, "two");
    }
    assertEquals(2, server().counts().resultsSerialised());
    assertEquals(40, server().counts().resultsSent());
    assertEquals(1, server().counts().views());
    browsers.forEach(Browser::close);
  }

  @Test
  void tellsAReconnectingClientThatItHasTheLatestOrGivesItTheLatest() {
    start(WebSettings.DEFAULT);
    String tag;
    try (var browser = Browser.open(server())) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      tag = browser.next().path("tag").asText();
    }
    try (var browser = Browser.open(server())) {
      browser.subscribe(7, "value", "{\"name\":\"a\"}", tag);
      var unchanged = browser.next();
      assertEquals("unchanged", unchanged.path("type").asText());
      assertEquals(7, unchanged.path("id").asLong());
      assertEquals(tag, unchanged.path("tag").asText());
      assertEquals("current", unchanged.path("freshness").asText());
      change("a", "two");
      assertResult(browser.next(), 7, "two");
    }
    try (var browser = Browser.open(server())) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", tag);
      assertResult(browser.next(), 1, "two");
    }
    assertEquals(1, server().counts().unchanged());
  }

  @Test
  void deliversFailuresAsResultsAndGoesOn() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT))) {
      browser.subscribe(1, "value", "{\"name\":\"z\"}", null);
      var error = browser.next();
      assertEquals("error", error.path("type").asText());
      assertEquals("no-such-value", error.path("error").path("type").asText());
      assertEquals(404, error.path("error").path("status").asInt());
      assertEquals("No z", error.path("error").path("message").asText());
      change("z", "here");
      assertResult(browser.next(), 1, "here");
    }
  }

  @Test
  void saysWhenAResultComesIntoDoubtAndWhenItIsCurrentAgain() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT))) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      var tag = browser.next().path("tag").asText();
      node.freshness(Freshness.IN_DOUBT);
      var doubt = browser.next();
      assertEquals("freshness", doubt.path("type").asText());
      assertEquals("in-doubt", doubt.path("freshness").asText());
      assertEquals(tag, doubt.path("tag").asText());
      assertTrue(doubt.path("value").isMissingNode());
      node.freshness(Freshness.CURRENT);
      assertEquals("current", browser.next().path("freshness").asText());
    }
  }

  @Test
  void endsASubscriptionThatCannotBe() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT.withMaxSubscriptions(2)))) {
      browser.subscribe(1, "nothing", "{}", null);
      assertEnd(browser.next(), 1, "no-such-view", 404);
      browser.subscribe(2, "value", "{\"name\":1}", null);
      assertEnd(browser.next(), 2, "bad-params", 400);
      browser.subscribe(3, "value", "{\"name\":\"a\",\"more\":1}", null);
      assertEnd(browser.next(), 3, "bad-params", 400);
      browser.subscribe(4, "value", "[]", null);
      assertEnd(browser.next(), 4, "bad-params", 400);
      browser.subscribe(5, "value", "{\"name\":\"a\"}", null);
      assertResult(browser.next(), 5, "one");
      browser.subscribe(6, "value", "{\"name\":\"b\"}", null);
      assertResult(browser.next(), 6, "2");
      browser.subscribe(7, "value", "{\"name\":\"c\"}", null);
      assertEnd(browser.next(), 7, "too-many-subscriptions", 429);
      browser.send("{\"type\":\"unsubscribe\",\"id\":5}");
      browser.subscribe(8, "value", "{\"name\":\"a\"}", null);
      assertResult(browser.next(), 8, "one");
    }
  }

  private static void assertEnd(JsonNode message, long id, String type, int status) {
    assertEquals("end", message.path("type").asText(), message.toString());
    assertEquals(id, message.path("id").asLong());
    assertEquals(type, message.path("error").path("type").asText());
    assertEquals(status, message.path("error").path("status").asInt());
  }

  @Test
  void endsASubscriptionBeforeTheNextResultWhenTheRightIsWithdrawn() {
    start(WebSettings.DEFAULT);
    try (var ann = Browser.open(server(), "X-User", "ann");
        var bob = Browser.open(server(), "X-User", "bob")) {
      ann.subscribe(1, "value", "{\"name\":\"a\"}", null);
      bob.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(ann.next(), 1, "one");
      assertResult(bob.next(), 1, "one");
      banned.add("ann");
      change("a", "secret");
      assertEnd(ann.next(), 1, "forbidden", 403);
      assertResult(bob.next(), 1, "secret");
      ann.subscribe(2, "value", "{\"name\":\"a\"}", null);
      assertEnd(ann.next(), 2, "forbidden", 403);
    }
  }

  @Test
  void boundsTheNumberOfDistinctComputations() {
    start(WebSettings.DEFAULT.withMaxViews(2).withKeepViewFor(Duration.ofMinutes(1)));
    try (var browser = Browser.open(server())) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(browser.next(), 1, "one");
      browser.subscribe(2, "value", "{\"name\":\"b\"}", null);
      assertResult(browser.next(), 2, "2");
      browser.subscribe(3, "value", "{\"name\":\"c\"}", null);
      assertEnd(browser.next(), 3, "too-many-views", 503);
      // One that nobody watches makes room, although it would be kept for a minute.
      browser.send("{\"type\":\"unsubscribe\",\"id\":1}");
      browser.subscribe(4, "value", "{\"name\":\"c\"}", null);
      assertEquals("error", browser.next().path("type").asText());
      assertEquals(2, server().counts().views());
    }
  }

  @Test
  void answersPings() {
    try (var browser = Browser.open(start(WebSettings.DEFAULT))) {
      browser.socket().sendPing(ByteBuffer.wrap(new byte[] {1, 2, 3})).join();
      var pong = browser.next();
      assertEquals("pong", pong.path("type").asText());
      assertEquals(3, pong.path("bytes").asInt());
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(browser.next(), 1, "one");
    }
  }

  @Test
  void writesHeartbeatsAndCutsAClientThatAnswersNone() {
    start(
        WebSettings.DEFAULT
            .withHeartbeatEvery(Duration.ofMillis(50))
            // Longer than a busy machine keeps a thread from its answer.
            .withSilenceAfter(Duration.ofSeconds(3)));
    try (var silent = Browser.open(server());
        var alive = Browser.open(server())) {
      while (!silent.isClosed()) {
        assertEquals("heartbeat", message(alive).path("type").asText());
        alive.send("{\"type\":\"heartbeat\"}");
      }
      assertEquals(1006, silent.closeCode());
      assertEquals(1, server().counts().cut().get("silent"));
      alive.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(alive.next(), 1, "one");
    }
  }

  private static JsonNode message(Browser browser) {
    var message = browser.poll(Browser.PATIENCE);
    if (message == null) {
      throw new AssertionError("no message");
    }
    return message;
  }

  @Test
  void closesOnWhatIsNoMessageAndCountsIt() {
    record Case(String message, int code) {}
    start(WebSettings.DEFAULT.withMaxMessageBytes(1000));
    var cases =
        List.of(
            new Case("", 1008),
            new Case("hello", 1008),
            new Case("{}", 1008),
            new Case("[1,2]", 1008),
            new Case("null", 1008),
            new Case("{\"type\":\"dance\",\"id\":1}", 1008),
            new Case("{\"type\":\"subscribe\",\"id\":\"one\"}", 1008),
            new Case("{\"type\":\"subscribe\",\"id\":1e99}", 1008),
            new Case("{\"type\":\"heartbeat\",\"type\":\"heartbeat\"}", 1008),
            new Case("[".repeat(900), 1008),
            new Case("x".repeat(1001), 1009));
    for (var one : cases) {
      try (var browser = Browser.open(server())) {
        browser.send(one.message());
        assertEquals(one.code(), browser.closeCode(), one.message());
      }
    }
    try (var browser = Browser.open(server())) {
      browser.socket().sendBinary(ByteBuffer.wrap(new byte[5]), true).join();
      assertEquals(1003, browser.closeCode());
    }
    assertEquals(cases.size() + 1, server().counts().malformed());
    assertEquals(cases.size() + 1, server().counts().cut().get("malformed"));
    Await.until("all gone", () -> server().counts().liveConnections() == 0);
  }

  @Test
  void understandsAMessageInPiecesAndBoundsTheirSum() {
    start(WebSettings.DEFAULT.withMaxMessageBytes(200));
    try (var browser = Browser.open(server())) {
      for (var piece : "{\"type\":\"subscribe\",\"id\":1,\"view\":\"value\",".split("(?<=,)", -1)) {
        browser.socket().sendText(piece, false).join();
      }
      browser.socket().sendText("\"params\":{\"name\":\"a\"}}", true).join();
      assertResult(browser.next(), 1, "one");
      // What came after the end would let the system drop the code on its way back.
      for (int sum = 0; sum <= 200; sum += 10) {
        browser.socket().sendText("          ", false).join();
      }
      assertEquals(1009, browser.closeCode());
    }
  }

  @Test
  void cutsAFlood() {
    start(WebSettings.DEFAULT.withMaxMessagesPerSecond(5));
    try (var browser = Browser.open(server())) {
      try {
        for (int i = 0; i < 200; i++) {
          browser.send("{\"type\":\"heartbeat\"}");
        }
      } catch (RuntimeException e) {
        // Closed meanwhile, as it should be.
      }
      // The system drops the code on its way if more comes after it.
      assertTrue(List.of(1008, 1006).contains(browser.closeCode()));
      assertEquals(1, server().counts().cut().get("flood"));
    }
  }

  private static String all(int count, String message) {
    return IntStream.range(0, count)
        .mapToObj(i -> message)
        .collect(Collectors.joining(",", "[", "]"));
  }

  @Test
  void cutsAFloodThatComesInOneMessage() {
    start(WebSettings.DEFAULT);
    try (var browser = Browser.open(server())) {
      browser.send(all(1_000, "{\"type\":\"ping\"}"));
      assertEquals(1008, browser.closeCode());
      assertEquals(1, server().counts().cut().get("flood"));
    }
  }

  @Test
  void oneMessageHoldsOnlySoManyHoweverManyViewsMayBeWatched() {
    start(WebSettings.DEFAULT.withMaxSubscriptions(100_000).withMaxMessageBytes(1 << 20));
    try (var browser = Browser.open(server())) {
      browser.send(all(LiveSocket.MOST_IN_ONE, "{\"type\":\"heartbeat\"}"));
      browser.send("{\"type\":\"ping\"}");
      assertEquals("heartbeat", message(browser).path("type").asText());
      browser.send(all(LiveSocket.MOST_IN_ONE + 1, "{\"type\":\"heartbeat\"}"));
      assertEquals(1008, browser.closeCode());
    }
  }

  @Test
  void saysGoodbyeWhenTheServerStopsAndWhenTheNodeDoes() {
    start(WebSettings.DEFAULT);
    try (var browser = Browser.open(server())) {
      browser.subscribe(1, "value", "{\"name\":\"a\"}", null);
      browser.next();
      node.close();
      var bye = browser.next();
      assertEquals("bye", bye.path("type").asText());
      assertEquals("stopped", bye.path("reason").asText());
      assertEquals(1012, browser.closeCode());
    }
    try (var browser = Browser.open(server())) {
      server().close();
      assertEquals("stopping", browser.next().path("reason").asText());
      assertEquals(1001, browser.closeCode());
    }
  }

  @Test
  void disconnectsTheCallersThatAreNamed() {
    start(WebSettings.DEFAULT);
    try (var ann = Browser.open(server(), "X-User", "ann");
        var bob = Browser.open(server(), "X-User", "bob")) {
      assertEquals(1, server().disconnect(caller -> caller.name().equals("ann")));
      assertEquals("disconnected", ann.next().path("reason").asText());
      assertEquals(1012, ann.closeCode());
      bob.subscribe(1, "value", "{\"name\":\"a\"}", null);
      assertResult(bob.next(), 1, "one");
      assertNull(bob.poll(Duration.ZERO));
    }
  }
}
