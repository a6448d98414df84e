package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class EventStreamTest {

  private final HandNode node = new HandNode();
  private volatile String value = "one";
  private volatile boolean allowed = true;
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .settings(
              WebSettings.DEFAULT
                  .withHeartbeatEvery(Duration.ofMillis(100))
                  .withKeepViewFor(Duration.ofMillis(100))
                  .withMaxSubscriptions(3))
          .view(
              LiveView.of(
                  "value",
                  LiveView.NoParams.class,
                  (caller, params) -> allowed,
                  params -> () -> value))
          .start();

  @AfterEach
  void close() {
    server.close();
  }

  private HttpResponse<InputStream> open(String... headers) throws Exception {
    var request =
        Http.request(server, "/live/value", headers).header("Accept", "text/event-stream");
    return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofInputStream());
  }

  /** The next event that is neither hello nor a heartbeat, as {@code id|data}. */
  private static @Nullable String event(BufferedReader reader) throws IOException {
    var id = "";
    String line;
    while ((line = reader.readLine()) != null) {
      if (line.startsWith("id: ")) {
        id = line.substring(4);
      } else if (line.startsWith("data: ")
          && !line.contains("\"hello\"")
          && !line.contains("\"heartbeat\"")) {
        return id + "|" + line.substring(6);
      }
    }
    return null;
  }

  private static BufferedReader reader(HttpResponse<InputStream> response) {
    return new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  @Test
  void streamsManyViewsThatAreAskedForInABody() throws Exception {
    var body =
        """
        {"subscribe": [
          {"id": 7, "view": "value", "params": {}},
          {"id": 8, "view": "value", "have": "old"},
          {"id": 9, "view": "nothing"}]}""";
    try (var reader = watch(body)) {
      var events = new TreeSet<String>();
      for (int i = 0; i < 3; i++) {
        events.add(MessageId.of(event(reader)));
      }
      assertEquals(Set.of("end 9", "result 7", "result 8"), events);
      value = "next";
      node.changed();
      events.clear();
      events.add(MessageId.of(event(reader)));
      events.add(MessageId.of(event(reader)));
      assertEquals(Set.of("result 7", "result 8"), events);
    }
    Await.until("given back", () -> server.counts().subscriptions() == 0);
  }

  private BufferedReader watch(String body) throws Exception {
    var request =
        Http.request(server, "/live", "Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body));
    var response = HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofInputStream());
    assertEquals(200, response.statusCode());
    return reader(response);
  }

  @Test
  void oneStreamWatchesNoMoreViewsThanAConnectionMay() throws Exception {
    var body =
        IntStream.range(0, 5)
            .mapToObj("{\"id\": %d, \"view\": \"value\"}"::formatted)
            .collect(Collectors.joining(",", "{\"subscribe\": [", "]}"));
    try (var reader = watch(body)) {
      var events = new TreeSet<String>();
      for (int i = 0; i < 5; i++) {
        events.add(MessageId.of(event(reader)));
      }
      assertEquals(Set.of("result 0", "result 1", "result 2", "end 3", "end 4"), events);
      assertEquals(2, server.counts().refused().get("too-many-subscriptions"));
    }
  }

  /** Type and id of an event. */
  private static final class MessageId {
    private static final Pattern PARTS = Pattern.compile("\\{\"type\":\"(\\w+)\",\"id\":(\\d+)");

    static String of(@Nullable String event) {
      var matcher = PARTS.matcher(String.valueOf(event));
      return matcher.find() ? matcher.group(1) + " " + matcher.group(2) : String.valueOf(event);
    }
  }

  @Test
  void streamsThePresentResultAndThenEachThatDiffers() throws Exception {
    var response = open();
    assertEquals(200, response.statusCode());
    assertEquals("text/event-stream", Http.header(response, "Content-Type"));
    assertEquals("no-store", Http.header(response, "Cache-Control"));
    try (var reader = reader(response)) {
      var first = String.valueOf(event(reader));
      assertTrue(first.contains("\"freshness\":\"current\",\"value\":\"one\"}"), first);
      var tag = first.split("\\|", 2)[0];
      assertTrue(first.contains("\"tag\":\"" + tag + "\""), first);
      value = "line\nbreak";
      node.changed();
      assertTrue(String.valueOf(event(reader)).contains("\"value\":\"line\\nbreak\"}"));
      assertEquals(1, server.counts().subscriptions());
    }
    Await.until("the stream's end is noticed", () -> server.counts().liveConnections() == 0);
    Await.until("the computation is closed", () -> node.running() == 0);
  }

  @Test
  void resumesWithTheLatestOrWithTheNewsThatThereIsNone() throws Exception {
    String tag;
    try (var reader = reader(open())) {
      tag = String.valueOf(event(reader)).split("\\|", 2)[0];
    }
    try (var reader = reader(open("Last-Event-ID", tag))) {
      assertTrue(String.valueOf(event(reader)).contains("\"type\":\"unchanged\""));
    }
    value = "two";
    node.changed();
    try (var reader = reader(open("Last-Event-ID", tag))) {
      assertTrue(String.valueOf(event(reader)).contains("\"value\":\"two\""));
    }
  }

  @Test
  void endsWhenTheRightIsWithdrawnAndRefusesBeforeItBegins() throws Exception {
    try (var reader = reader(open())) {
      event(reader);
      allowed = false;
      value = "secret";
      node.changed();
      var end = String.valueOf(event(reader));
      assertTrue(end.contains("\"type\":\"end\"") && end.contains("forbidden"), end);
      assertTrue(String.valueOf(event(reader)).contains("\"type\":\"bye\""));
      assertEquals(null, event(reader));
    }
    assertEquals(401, open().statusCode());
  }

  /** Its connection takes no request any more: one that came by it would be lost. */
  @Test
  void endsWithItsConnectionAndHasSaidSo() throws Exception {
    try (var client = new RawClient(server)) {
      client.send(STREAM);
      var head = new StringBuilder();
      while (head.indexOf("\"one\"}") < 0) {
        head.append(client.some());
      }
      assertTrue(head.toString().contains("\r\nConnection: close\r\n"), head.toString());
      allowed = false;
      value = "two";
      node.changed();
      var rest = client.rest();
      assertTrue(rest.endsWith("\r\n0\r\n\r\n") || rest.endsWith("\n\n"), rest);
    }
  }

  @Test
  void saysGoodbyeWhenTheServerStops() throws Exception {
    try (var reader = reader(open())) {
      event(reader);
      server.close();
      assertTrue(String.valueOf(event(reader)).contains("\"reason\":\"stopping\""));
      assertEquals(null, event(reader));
    }
  }

  /** A server that writes nothing by itself for as long as a test runs. */
  private WebServer silent() {
    return WebServer.builder(node)
        .port(0)
        .settings(WebSettings.DEFAULT.withHeartbeatEvery(Duration.ofMinutes(5)))
        .view(
            LiveView.of(
                "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> value))
        .start();
  }

  private static final String STREAM =
      RawClient.lines("GET /live/value HTTP/1.1", "Accept: text/event-stream", "", "");

  private static void readUntil(RawClient client, String text) throws IOException {
    var read = new StringBuilder();
    while (read.indexOf(text) < 0) {
      read.append(client.some());
    }
  }

  @Test
  void isOverSoonAfterItsClientHasClosedThoughNothingIsWrittenToIt() throws Exception {
    try (var silent = silent()) {
      try (var client = new RawClient(silent)) {
        client.send(STREAM);
        readUntil(client, "\"one\"}");
      }
      Await.until("the stream's end is noticed", () -> silent.counts().liveConnections() == 0);
      Await.until("its connection is gone", () -> silent.counts().connections() == 0);
    }
  }

  @Test
  void goesOnForAClientThatHasOnlyFinishedSending() throws Exception {
    try (var silent = silent();
        var client = new RawClient(silent)) {
      client.send(STREAM);
      readUntil(client, "\"one\"}");
      client.finishSending();
      readUntil(client, "heartbeat");
      value = "two";
      node.changed();
      readUntil(client, "\"two\"}");
    }
  }

  @Test
  void endsWhenItsClientSendsAnotherRequestThatWouldWaitForEver() throws Exception {
    try (var silent = silent();
        var client = new RawClient(silent)) {
      client.send(STREAM);
      readUntil(client, "\"one\"}");
      client.send(STREAM);
      client.rest();
      assertEquals(1, silent.counts().cut().get("malformed"));
      Await.until("nothing is left", () -> silent.counts().liveConnections() == 0);
    }
  }
}
