package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A storage that is far too small, and what is evicted while it still arrives or is read. */
@Timeout(120)
class EvictionTest {
  private static final int PIECE = 10_000;
  private static final int PIECES = 40;
  private static final int SLOW = 4;
  private static final int FOLLOWERS = 4;

  /** What comes between two pieces of each slow response. */
  private static final int FILLS_PER_PIECE = 2;

  private final AtomicInteger fills = new AtomicInteger();

  /** Each piece waits until others have come that take its place. */
  private void answer(ScriptedOrigin.Received request, ScriptedOrigin.Wire wire)
      throws IOException, InterruptedException {
    var path = request.line().split(" ", -1)[1];
    wire.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n"
            .formatted(PIECE * PIECES));
    var body = body(path).getBytes(ISO_8859_1);
    for (int i = 0; i < PIECES; i++) {
      while (path.startsWith("/slow") && fills.get() < i * FILLS_PER_PIECE) {
        Thread.sleep(1);
      }
      wire.out().write(Arrays.copyOfRange(body, i * PIECE, (i + 1) * PIECE));
    }
    wire.out().flush();
  }

  /** No part of which is like another one, nor like any of another path. */
  private static String body(String path) {
    var text = new StringBuilder();
    for (int i = 0; text.length() < PIECE * PIECES; i++) {
      text.append(path).append(' ').append(i).append('\n');
    }
    return text.substring(0, PIECE * PIECES);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 4, 8})
  void whoFollowsGetsAllWhateverIsEvictedMeanwhile(int mebibytes) throws Exception {
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
            .withProcessors(2)
            .withStorage(StorageOptions.memory((long) mebibytes << 20));
    try (var origin = new ScriptedOrigin();
        var proxy = Proxy.start(settings.withOrigins(List.of(origin.origin())))) {
      origin.then(this::answer);
      var clients = new ArrayList<Future<?>>();
      for (int i = 0; i < PIECES * FILLS_PER_PIECE; i++) {
        // Some come at first, some amid the response.
        if (i % (PIECES * FILLS_PER_PIECE / FOLLOWERS) == 0) {
          for (int j = 0; j < SLOW; j++) {
            var path = "/slow" + j;
            clients.add(begin(() -> get(proxy, path)));
            clients.add(begin(() -> leave(proxy, path)));
          }
        }
        get(proxy, "/fill" + i);
        fills.incrementAndGet();
      }
      for (var client : clients) {
        client.get();
      }
      for (int i = 0; i < SLOW; i++) {
        get(proxy, "/slow" + i);
      }
      var stats = proxy.storage().stats();
      // In the smallest there is no room for one of them: it is passed on only.
      assertTrue(stats.evictedMemory() > 0 || mebibytes == 2, stats::toString);
    }
  }

  private static <T> Future<T> begin(Callable<T> action) {
    var task = new FutureTask<>(action);
    Thread.startVirtualThread(task);
    return task;
  }

  /** Has gone before the response has come. */
  private static boolean leave(Proxy proxy, String path) throws IOException {
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      browser.ask("GET", path);
      assertEquals("HTTP/1.1 200 OK", browser.line());
      return true;
    }
  }

  private static boolean get(Proxy proxy, String path) throws IOException {
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      var answer = browser.get(path);
      assertEquals(200, answer.status());
      assertEquals(body(path), answer.body());
      return true;
    }
  }
}
