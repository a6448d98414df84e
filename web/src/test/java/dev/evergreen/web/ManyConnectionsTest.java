package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Thousands of browsers on one view of a server in a process of its own. {@code
 * -Devergreen.web.connections=<n>} changes how many; the open-files limit of both processes must be
 * above that.
 */
final class ManyConnectionsTest {

  private static final int CONNECTIONS = Integer.getInteger("evergreen.web.connections", 5_000);
  private static final int DEAF = 10;
  private static final int WARM_UP = 300;
  private static final int POSTS = 5;
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** A post whose arrival everywhere is awaited. */
  private record Round(String marker, CountDownLatch arrived, ConcurrentLinkedQueue<Long> nanos) {}

  private volatile Round round =
      new Round("\"value\"", new CountDownLatch(0), new ConcurrentLinkedQueue<>());
  private final HttpClient http = HttpClient.newHttpClient();
  private int port;

  @Test
  void aPostReachesAllAndTheMemoryOfEachIsSmall() throws Exception {
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                BoardServer.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (var out = process.inputReader()) {
      port = Integer.parseInt(out.readLine());
      run();
    } finally {
      process.getOutputStream().close();
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    }
  }

  private void run() throws Exception {
    post("x".repeat(1000));
    var warm = open(WARM_UP);
    close(warm);
    var before = memory();
    var deaf = new ArrayList<Socket>();
    for (int i = 0; i < DEAF; i++) {
      deaf.add(connect());
    }
    long opening = System.nanoTime();
    var clients = open(CONNECTIONS);
    long opened = System.nanoTime() - opening;
    var after = memory();
    var report = new StringBuilder();
    report.append(
        "%d connections opened in %d ms; per connection %d bytes of heap, %d bytes resident%n"
            .formatted(
                CONNECTIONS,
                opened / 1_000_000,
                grown(before, after, "heapBytes"),
                grown(before, after, "residentBytes")));
    for (int i = 0; i < POSTS; i++) {
      report.append(postToAll("note " + i, clients.size())).append('\n');
    }
    System.out.print(report);
    assertEquals(CONNECTIONS, clients.size());
    assertTrue(grown(before, after, "heapBytes") < 40_000, report.toString());
    close(clients);
    close(deaf);
  }

  private static long grown(JsonNode before, JsonNode after, String what) {
    return (after.path(what).asLong() - before.path(what).asLong()) / (CONNECTIONS + DEAF);
  }

  private String postToAll(String note, int expected) throws Exception {
    var next = new Round(note, new CountDownLatch(expected), new ConcurrentLinkedQueue<>());
    round = next;
    long start = System.nanoTime();
    post(note);
    assertTrue(
        next.arrived().await(20, TimeUnit.SECONDS),
        () -> note + " did not reach " + next.arrived().getCount());
    var sorted = next.nanos().stream().map(at -> (at - start) / 1_000_000).sorted().toList();
    return "a post reached all %d: half after %d ms, all after %d ms"
        .formatted(expected, sorted.get(sorted.size() / 2), sorted.getLast());
  }

  /** Connects, subscribes and reads on virtual threads; returns when each has a first result. */
  private List<Socket> open(int count) throws InterruptedException {
    var sockets = new ConcurrentLinkedQueue<Socket>();
    var first = new CountDownLatch(count);
    var atOnce = new Semaphore(100);
    for (int i = 0; i < count; i++) {
      atOnce.acquire();
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  var socket = connect();
                  sockets.add(socket);
                  read(socket, first, atOnce);
                } catch (IOException e) {
                  // Counted by its absence.
                }
              });
    }
    assertTrue(first.await(60, TimeUnit.SECONDS), () -> first.getCount() + " got no first result");
    return List.copyOf(sockets);
  }

  private Socket connect() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    var out = socket.getOutputStream();
    out.write(RawClient.UPGRADE.getBytes(StandardCharsets.US_ASCII));
    out.write(
        RawClient.text(
            "{\"type\":\"subscribe\",\"id\":1,\"view\":\"board\",\"params\":{\"name\":\"b\"}}"));
    return socket;
  }

  private void read(Socket socket, CountDownLatch first, Semaphore atOnce) throws IOException {
    var in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 512));
    for (int ends = 0; ends < 4; ) {
      // The head of the answer ends with two line ends.
      int b = in.readByte();
      ends = b == '\r' || b == '\n' ? ends + 1 : 0;
    }
    boolean waiting = true;
    while (true) {
      var message = message(in);
      if (waiting && message.contains("\"value\"")) {
        waiting = false;
        first.countDown();
        atOnce.release();
      }
      var current = round;
      if (message.contains(current.marker())) {
        current.nanos().add(System.nanoTime());
        current.arrived().countDown();
      }
    }
  }

  /** One message, whose frames the server does not mask. */
  private static String message(DataInputStream in) throws IOException {
    var text = new StringBuilder();
    boolean last = false;
    while (!last) {
      last = (in.readByte() & 0x80) != 0;
      int length = in.readByte();
      if (length == 126) {
        length = in.readUnsignedShort();
      }
      text.append(new String(in.readNBytes(length), StandardCharsets.UTF_8));
    }
    return text.toString();
  }

  private void post(String note) throws Exception {
    var body = "{\"board\":\"b\",\"note\":\"" + note + "\"}";
    var request =
        HttpRequest.newBuilder(uri("/commands/write"))
            .header("Content-Type", "application/json")
            .timeout(Duration.ofSeconds(20))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    assertEquals(204, http.send(request, BodyHandlers.discarding()).statusCode());
  }

  private JsonNode memory() throws Exception {
    var request = HttpRequest.newBuilder(uri("/memory")).build();
    return MAPPER.readTree(http.send(request, BodyHandlers.ofString()).body());
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  private static void close(List<Socket> sockets) throws IOException {
    for (var socket : sockets) {
      socket.close();
    }
  }
}
