package dev.evergreen.provenance;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.evergreen.pages.PageFiles;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Shows a trace to people: a page, and the answers that its script asks for, over HTTP.
 *
 * <p>Who may read the page may read the data, so each answer asks for a token. It is in the part of
 * the page's address that browsers send nowhere; the script sends it in a header, which no page of
 * others can do. Names of the host that are not known are refused, so that no name of others can be
 * made to lead here.
 */
public final class TracePage implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(TracePage.class.getName());
  private static final PageFiles FILES =
      PageFiles.of(TracePage.class, "index.html", "trace.css", "trace.js");
  private static final String JSON = "application/json";
  private static final String BEARER = "Bearer ";
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);

  /** So many operations are shown at a time; if more have come, the oldest are left out. */
  private static final int MOST_TOLD = 100;

  private static final int MOST_TAILS = 16;

  /** It is over after so many rounds of questions, or when this time is. */
  private static final int MOST_WARM_UPS = 20;

  private static final Duration WARM_UP = Duration.ofSeconds(2);

  private final HttpServer http;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final TraceReaders readers;
  private final byte[] token;
  private final String address;
  private final Set<String> hosts;
  private final Semaphore tails = new Semaphore(MOST_TAILS);
  private volatile boolean closed;

  private TracePage(HttpServer http, TraceReaders readers, Settings settings) {
    this.http = http;
    this.readers = readers;
    token = settings.token().getBytes(StandardCharsets.UTF_8);
    int port = http.getAddress().getPort();
    var host = settings.listen().getHostString();
    address = "http://%s:%d/".formatted(host.contains(":") ? "[" + host + "]" : host, port);
    hosts =
        Stream.concat(Stream.of("127.0.0.1", "localhost", "[::1]", host), settings.hosts().stream())
            .flatMap(name -> Stream.of(name, name + ":" + port))
            .map(name -> name.toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * How a page is served.
   *
   * @param listen the address, with the port 0 for any that is free
   * @param token what whoever reads must know
   * @param hosts names, beside that address and the loopback's, by which browsers may call it
   */
  public record Settings(InetSocketAddress listen, String token, List<String> hosts) {}

  /**
   * Serves the page of a trace until it is closed.
   *
   * @param place the trace's directory, or the URL of its database
   * @throws IOException if the address cannot be had
   */
  public static TracePage start(String place, Settings settings) throws IOException {
    var http = HttpServer.create(settings.listen(), 0);
    var page = new TracePage(http, new TraceReaders(place), settings);
    http.setExecutor(page.threads);
    http.createContext("/", page::serve);
    http.start();
    page.threads.execute(page::warmUp);
    return page;
  }

  /**
   * Asks a few questions of each kind, about what was recorded last. The first ones take a fresh
   * JVM some hundred milliseconds, of whoever asks them. Nobody waits for these.
   */
  private void warmUp() {
    long end = System.nanoTime() + WARM_UP.toNanos();
    try {
      for (int i = 0; i < MOST_WARM_UPS && !closed && System.nanoTime() < end; i++) {
        var _ = TraceView.json(readers.ask(trace -> new TraceExplorer(trace).samples()));
      }
    } catch (RuntimeException | OutOfMemoryError e) {
      // Whoever asks is told.
      LOG.log(System.Logger.Level.DEBUG, "There is nothing to ask yet, or no more", e);
    }
  }

  /** Its address, with the token. */
  public String url() {
    return address + "#" + new String(token, StandardCharsets.UTF_8);
  }

  /** Something is asked for that there is not, or in a wrong way. */
  @SuppressWarnings("serial") // it goes no farther than this class
  private static final class RefusedException extends RuntimeException {
    final int status;

    RefusedException(int status, String message) {
      super(message, null, false, false);
      this.status = status;
    }
  }

  private void serve(HttpExchange exchange) throws IOException {
    try (exchange) {
      try {
        check(exchange);
        var path = exchange.getRequestURI().getPath();
        if (path.startsWith("/api/")) {
          checkToken(exchange);
          api(exchange, path.substring("/api/".length()), Parameters.of(exchange));
        } else {
          var file =
              FILES
                  .find(path.equals("/") ? "index.html" : path.substring(1))
                  .orElseThrow(() -> new RefusedException(404, "There is no such page."));
          send(exchange, 200, file.contentType(), bytes(file.text()));
        }
      } catch (RefusedException e) {
        fail(exchange, e.status, String.valueOf(e.getMessage()));
      } catch (IllegalArgumentException | DateTimeException e) {
        LOG.log(System.Logger.Level.DEBUG, "a request that cannot be understood", e);
        fail(exchange, 400, "The request cannot be understood.");
      } catch (TraceException e) {
        fail(exchange, 503, String.valueOf(e.getMessage()));
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.ERROR, "A question of the page failed", e);
        fail(exchange, 500, "The question failed; the log says more.");
      } catch (OutOfMemoryError | StackOverflowError e) {
        // The next question may take less.
        LOG.log(System.Logger.Level.ERROR, "A question of the page took too much memory", e);
        fail(exchange, 503, "The question takes more memory than the page has.");
      }
    }
  }

  private void check(HttpExchange exchange) {
    var host = exchange.getRequestHeaders().getFirst("Host");
    if (host == null || !hosts.contains(host.toLowerCase(Locale.ROOT))) {
      throw new RefusedException(421, "The page is not known by this name of the host.");
    }
    if (!exchange.getRequestMethod().equals("GET")) {
      throw new RefusedException(405, "The page can only be read.");
    }
  }

  private void checkToken(HttpExchange exchange) {
    var given = exchange.getRequestHeaders().getFirst("Authorization");
    if (given == null
        || !given.startsWith(BEARER)
        || !MessageDigest.isEqual(
            given.substring(BEARER.length()).getBytes(StandardCharsets.UTF_8), token)) {
      exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
      throw new RefusedException(401, "The token is missing or wrong.");
    }
  }

  /** What a request's address says behind the question mark. */
  private record Parameters(Map<String, String> values) {
    static Parameters of(HttpExchange exchange) {
      var values = new HashMap<String, String>();
      var query = exchange.getRequestURI().getRawQuery();
      for (var pair : query == null ? new String[0] : query.split("&", -1)) {
        int equals = pair.indexOf('=');
        if (equals > 0) {
          values.put(pair.substring(0, equals), decoded(pair.substring(equals + 1)));
        }
      }
      return new Parameters(values);
    }

    private static String decoded(String text) {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    String text(String name) {
      return values.getOrDefault(name, "");
    }

    /** Null if it is not there or empty. */
    @Nullable String optional(String name) {
      var value = text(name);
      return value.isEmpty() ? null : value;
    }

    long number(String name, long otherwise) {
      var value = optional(name);
      return value == null ? otherwise : Long.parseLong(value);
    }
  }

  private void api(HttpExchange exchange, String what, Parameters wanted) throws IOException {
    if (what.equals("tail")) {
      tail(exchange);
      return;
    }
    Optional<? extends Object> answer =
        readers.ask(
            trace -> {
              var explorer = new TraceExplorer(trace);
              return switch (what) {
                case "about" -> Optional.of(explorer.about());
                case "keys" ->
                    Optional.of(
                        explorer.keys(
                            wanted.text("space"), wanted.text("prefix"), wanted.optional("after")));
                case "timeline" ->
                    Optional.of(
                        explorer.timeline(
                            wanted.text("cell"), wanted.number("before", Long.MAX_VALUE)));
                case "operation" -> explorer.operation(wanted.number("row", 0));
                case "before" ->
                    explorer.before(
                        wanted.number("row", 0), wanted.number("before", Long.MAX_VALUE));
                case "why" -> why(explorer, wanted);
                default -> Optional.empty();
              };
            });
    if (answer.isEmpty()) {
      throw new RefusedException(404, "There is nothing of that on record.");
    }
    send(exchange, 200, JSON, bytes(TraceView.json(answer.get())));
  }

  private static Optional<Map<String, @Nullable Object>> why(
      TraceExplorer explorer, Parameters wanted) {
    boolean all = wanted.optional("all") != null;
    long row = wanted.number("row", 0);
    if (row > 0) {
      return explorer.why(row, (int) wanted.number("part", -1), all);
    }
    var at = wanted.optional("at");
    return explorer.why(
        wanted.text("request"), wanted.text("space"), at == null ? null : Instant.parse(at), all);
  }

  /** The operations that come from now on, as server-sent events, until the reader goes. */
  private void tail(HttpExchange exchange) throws IOException {
    if (!tails.tryAcquire()) {
      throw new RefusedException(503, "Too many follow the trace already.");
    }
    try {
      var last = readers.ask(trace -> trace.last(1));
      var tail = new TraceTail(last.isEmpty() ? 0 : last.getFirst().row());
      head(exchange, "text/event-stream");
      exchange.sendResponseHeaders(200, 0);
      follow(tail, exchange.getResponseBody());
    } finally {
      tails.release();
    }
  }

  private void follow(TraceTail tail, OutputStream out) throws IOException {
    long told = System.nanoTime();
    var said = Map.<String, @Nullable Object>of();
    while (!closed) {
      long skipped = readers.ask(trace -> tail.skipTo(trace, MOST_TOLD));
      var operations =
          readers.ask(
              trace -> {
                var explorer = new TraceExplorer(trace);
                return tail.next(trace, MOST_TOLD).stream().map(explorer::element).toList();
              });
      var about = readers.ask(trace -> new TraceExplorer(trace).about());
      if (!operations.isEmpty() || !about.equals(said)) {
        var event = new HashMap<String, @Nullable Object>();
        event.put("about", about);
        event.put("skipped", skipped);
        event.put("operations", new ArrayList<>(operations));
        out.write(bytes("data: " + TraceView.json(event) + "\n\n"));
        out.flush();
        said = about;
        told = System.nanoTime();
      } else if (System.nanoTime() - told > KEEP_ALIVE.toNanos()) {
        // Else a reader that has gone would never be noticed.
        out.write(bytes(":\n\n"));
        out.flush();
        told = System.nanoTime();
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
  }

  private static void fail(HttpExchange exchange, int status, String message) throws IOException {
    if (exchange.getResponseCode() < 0) {
      send(exchange, status, JSON, bytes(TraceView.json(Map.of("error", message))));
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void send(HttpExchange exchange, int status, String type, byte[] body)
      throws IOException {
    head(exchange, type);
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }

  private static void head(HttpExchange exchange, String type) {
    var headers = exchange.getResponseHeaders();
    headers.set("Content-Type", type);
    headers.set("Content-Security-Policy", PageFiles.CONTENT_SECURITY_POLICY);
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Referrer-Policy", "no-referrer");
    headers.set("Cache-Control", "no-store");
  }

  @Override
  public void close() {
    closed = true;
    http.stop(0);
    // What is asked ends now, also by the threads that wait for it.
    readers.close();
    threads.close();
  }
}
