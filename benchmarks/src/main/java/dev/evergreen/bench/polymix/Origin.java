package dev.evergreen.bench.polymix;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Has all things, and thinks before it answers. A connection serves some requests only, and is
 * ended after fifteen seconds without one.
 */
final class Origin implements AutoCloseable {
  /** Says when an answer was made, so that whoever gets it sees whether that was for it. */
  static final String MADE = "X-Made";

  private static final int MOST_A_CONNECTION = 16;
  private static final Duration THINK = Duration.ofMillis(2500);
  private static final Duration DEVIATION = Duration.ofSeconds(1);

  private static final DateTimeFormatter DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.ENGLISH)
          .withZone(ZoneOffset.UTC);

  static {
    System.setProperty("sun.net.httpserver.idleInterval", "15");
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  /** How many requests each connection has left. */
  private final Map<InetSocketAddress, Integer> left = new ConcurrentHashMap<>();

  private volatile double pace;

  Origin() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 4096);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  /** How long it thinks from now on: this part of what Polymix-3 says. */
  void think(double pace) {
    this.pace = pace;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var random = new SplittableRandom();
      think(random);
      var path = exchange.getRequestURI().getPath();
      var nature = Thing.named(path.substring(path.lastIndexOf('/') + 1)).nature();
      long now = Instant.now().getEpochSecond();
      var fields = exchange.getResponseHeaders();
      fields.set("Last-Modified", date(nature.modified(now)));
      if (nature.kept()) {
        fields.set("Expires", date(nature.expires(now)));
      } else {
        fields.set("Cache-Control", "no-store");
      }
      fields.set(MADE, Long.toString(System.nanoTime()));
      if (isLast(exchange.getRemoteAddress(), random)) {
        fields.set("Connection", "close");
      }
      var since = exchange.getRequestHeaders().getFirst("If-Modified-Since");
      if (since != null && seconds(since) >= nature.modified(now)) {
        exchange.sendResponseHeaders(304, -1);
        return;
      }
      exchange.sendResponseHeaders(200, nature.size());
      exchange.getResponseBody().write(new byte[nature.size()]);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void think(SplittableRandom random) throws InterruptedException {
    double millis = THINK.toMillis() + DEVIATION.toMillis() * random.nextGaussian();
    Thread.sleep(Duration.ofNanos((long) (1e6 * pace * Math.max(0, millis))));
  }

  private boolean isLast(InetSocketAddress client, SplittableRandom random) {
    var now =
        left.compute(
            client,
            (address, before) -> {
              int still = (before == null ? Zipf.draw(MOST_A_CONNECTION, random) : before) - 1;
              return still > 0 ? still : null;
            });
    return now == null;
  }

  static String date(long seconds) {
    return DATE.format(Instant.ofEpochSecond(seconds));
  }

  private static long seconds(String date) {
    return Instant.from(DATE.parse(date)).getEpochSecond();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.close();
  }
}
