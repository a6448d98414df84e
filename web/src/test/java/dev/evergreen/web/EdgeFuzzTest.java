package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.live.HandNode;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * Hostile input from seeds. Whatever comes, the server answers with an error or closes, keeps
 * serving others, and holds nothing afterwards.
 *
 * <p>{@code -Devergreen.web.fuzz.seed=<n>} repeats one run of {@code rounds}; {@code
 * -Devergreen.web.fuzz.seconds=<n>} fuzzes for longer.
 */
final class EdgeFuzzTest {

  record Params(String name, Optional<Integer> limit) {}

  private static final long SEED = Long.getLong("evergreen.web.fuzz.seed", 20_261_121);
  private static final Duration TIME =
      Duration.ofSeconds(Integer.getInteger("evergreen.web.fuzz.seconds", 8));
  private static final int CLIENTS = 4;

  private static final List<String> REQUESTS =
      List.of(
          RawClient.lines("GET /live/value?name=a HTTP/1.1", "Accept: text/event-stream", "", ""),
          RawClient.lines(
              "GET /live/value?name=a&limit=3 HTTP/1.1", "If-None-Match: \"x\"", "", ""),
          RawClient.lines(
              "POST /commands/do HTTP/1.1",
              "Content-Type: application/json",
              "Content-Length: 22",
              "",
              "{\"name\":\"a\",\"limit\":1}"),
          RawClient.lines(
              "POST /commands/do HTTP/1.1",
              "Content-Type: application/json",
              "Transfer-Encoding: chunked",
              "",
              "5",
              "{\"nam",
              "11",
              "e\":\"a\",\"limit\":1}",
              "0",
              "",
              ""),
          RawClient.lines("OPTIONS * HTTP/1.1", "", ""),
          RawClient.lines(
              "GET /live HTTP/1.1", "Origin: http://evil", "Upgrade: websocket", "", ""),
          RawClient.lines("GET http://localhost/live/value HTTP/1.1", "Cookie: a=b; x=\"", "", ""),
          RawClient.UPGRADE);

  private static final List<String> MESSAGES =
      List.of(
          "{\"type\":\"subscribe\",\"id\":1,\"view\":\"value\",\"params\":{\"name\":\"a\",\"limit\":5}}",
          "{\"type\":\"subscribe\",\"id\":2,\"view\":\"value\",\"params\":{\"name\":\"b\"},\"have\":\"x\"}",
          "{\"type\":\"unsubscribe\",\"id\":1}",
          "{\"type\":\"heartbeat\"}");

  private final HandNode node = new HandNode();
  private final Node sessionNode = EmbeddedNode.builder().grains(SignedSessions.grains()).start();
  private final AtomicLong connections = new AtomicLong();
  private final AtomicLong versions = new AtomicLong();

  @Test
  void survivesHostileInputAndHoldsNothingAfterwards() throws Exception {
    try (var server = start()) {
      long deadline = System.nanoTime() + TIME.toNanos();
      try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
        var attacks = new ArrayList<Future<?>>();
        for (int i = 0; i < CLIENTS; i++) {
          var random = new SplittableRandom(SEED + i);
          attacks.add(clients.submit(() -> attack(server, random, deadline)));
        }
        var browser = Browser.open(server);
        browser.subscribe(1, "value", "{\"name\":\"good\"}", null);
        while (System.nanoTime() - deadline < 0) {
          // An honest client is served in the meantime, over both ways.
          assertEquals(200, Http.get(server, "/live/value?name=good").statusCode());
          node.changed();
          assertEquals("result", browser.next().path("type").asText());
          browser.send("{\"type\":\"heartbeat\"}");
          Thread.sleep(50);
        }
        browser.close();
        for (var attack : attacks) {
          attack.get();
        }
      }
      assertTrue(connections.get() > 100, connections + " connections");
      assertTrue(server.counts().malformed() > connections.get() / 10, server.counts().toString());
      // No input leads to a failure that the code did not foresee.
      assertNull(server.counts().refused().get("failed"), server.counts().toString());
      Await.until("no live connection", () -> server.counts().liveConnections() == 0);
      Await.until("no computation", () -> node.running() == 0);
      assertEquals(0, server.counts().subscriptions());
    }
  }

  private WebServer start() {
    return WebServer.builder(node)
        .port(0)
        .settings(
            WebSettings.DEFAULT
                // The honest client has the address of the others.
                .withMaxWorkPerSecond(1_000_000)
                .withRequestWithin(Duration.ofMillis(500))
                .withSilenceAfter(Duration.ofSeconds(2))
                .withStallAfter(Duration.ofSeconds(2))
                .withKeepViewFor(Duration.ofMillis(100))
                .withMaxHeaderBytes(2000)
                .withMaxMessageBytes(2000))
        .authenticator(SignedSessions.withRandomKey(sessionNode.grains(), Duration.ofHours(1)))
        .view(
            LiveView.of(
                "value",
                Params.class,
                Authorisation.everyone(),
                params -> versions::incrementAndGet))
        .command("do", Params.class, Authorisation.everyone(), (caller, command) -> {})
        .start();
  }

  private void attack(WebServer server, SplittableRandom random, long deadline) {
    while (System.nanoTime() - deadline < 0) {
      try (var client = new RawClient(server)) {
        connections.incrementAndGet();
        client.impatient(Duration.ofMillis(20));
        if (random.nextBoolean()) {
          attackHttp(client, random);
        } else {
          attackSocket(client, random);
        }
      } catch (SocketException | SocketTimeoutException e) {
        // Closed by the server, or it has nothing to say to this.
      } catch (IOException e) {
        throw new AssertionError("seed " + SEED, e);
      }
    }
  }

  private static void attackHttp(RawClient client, SplittableRandom random) throws IOException {
    int requests = 1 + random.nextInt(3);
    for (int i = 0; i < requests; i++) {
      client.send(mutated(bytes(REQUESTS.get(random.nextInt(REQUESTS.size()))), random));
    }
    if (random.nextInt(4) > 0) {
      client.some();
    }
  }

  private static void attackSocket(RawClient client, SplittableRandom random) throws IOException {
    client.send(RawClient.UPGRADE);
    client.status();
    int frames = 1 + random.nextInt(6);
    for (int i = 0; i < frames; i++) {
      var message = bytes(MESSAGES.get(random.nextInt(MESSAGES.size())));
      switch (random.nextInt(6)) {
        case 0 -> client.send(RawClient.frame(random.nextInt(256), message));
        case 1 -> client.send(mutated(RawClient.frame(0x81, message), random));
        case 2 -> client.send(RawClient.frame(0x81, mutated(message, random)));
        case 3 -> {
          // Endless: a message in pieces that never ends.
          client.send(RawClient.frame(0x01, message));
          for (int piece = 0; piece < random.nextInt(40); piece++) {
            client.send(RawClient.frame(0x00, new byte[random.nextInt(200)]));
          }
        }
        case 4 -> {
          // A frame that promises more than comes, up to 2^63 bytes.
          var head = new byte[14];
          random.nextBytes(head);
          head[0] = (byte) 0x81;
          head[1] = (byte) 0xff;
          client.send(head);
        }
        default -> client.send(RawClient.frame(0x81, message));
      }
    }
    if (random.nextInt(4) > 0) {
      client.some();
    }
  }

  private static byte[] mutated(byte[] bytes, SplittableRandom random) {
    var out = bytes.clone();
    int changes = random.nextInt(6);
    for (int i = 0; i < changes && out.length > 2; i++) {
      int at = random.nextInt(out.length);
      switch (random.nextInt(5)) {
        case 0 -> out[at] = (byte) random.nextInt(256);
        case 1 -> out[at] ^= (byte) (1 << random.nextInt(8));
        case 2 -> out = java.util.Arrays.copyOf(out, at + 1);
        case 3 -> out = repeated(out, at, 1 + random.nextInt(64), random.nextInt(40));
        default -> out = repeated(out, at, random.nextInt(8), random.nextInt(3));
      }
    }
    return out;
  }

  /** The bytes with a part of them once more, several times. */
  private static byte[] repeated(byte[] bytes, int at, int length, int times) {
    int part = Math.min(length, bytes.length - at);
    var out = new byte[bytes.length + part * times];
    System.arraycopy(bytes, 0, out, 0, at);
    for (int i = 0; i < times; i++) {
      System.arraycopy(bytes, at, out, at + i * part, part);
    }
    System.arraycopy(bytes, at, out, at + times * part, bytes.length - at);
    return out;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }
}
