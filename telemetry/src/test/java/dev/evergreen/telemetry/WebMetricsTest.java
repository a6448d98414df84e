package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.WebCounts;
import dev.evergreen.web.WebServer;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A web server's counts as metrics. */
final class WebMetricsTest {

  private static final Pattern ROW =
      Pattern.compile("^\\| `(evergreen\\.web[a-z.]+)` \\|([^|]*)\\|");

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  @AfterEach
  void close() {
    registry.close();
  }

  private static WebCounts counts(Map<String, Long> refused) {
    return new WebCounts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 11, Map.of("stalled", 12L), refused);
  }

  @Test
  void areThoseThatTheManualLists() throws Exception {
    WebMetrics.of(() -> counts(Map.of("views", 1L))).bindTo(registry);
    var actual = new TreeMap<String, String>();
    for (var meter : registry.getMeters()) {
      var tags = meter.getId().getTags().stream().map(Tag::getKey).collect(Collectors.joining());
      actual.put(meter.getId().getName(), tags);
    }
    var listed = new TreeMap<String, String>();
    for (var line : Files.readAllLines(Path.of("../docs/operations.md"))) {
      var row = ROW.matcher(line);
      if (row.find()) {
        var tag = Pattern.compile("`([a-z]+)`").matcher(row.group(2));
        listed.put(row.group(1), tag.find() ? tag.group(1) : "");
      }
    }
    assertEquals(actual, listed);
  }

  @Test
  void eachNumberIsUnderItsName() {
    var now = new AtomicReference<>(counts(Map.of()));
    var metrics = WebMetrics.of(now::get);
    metrics.bindTo(registry);
    var gauges = Map.of("connections", 1, "live", 2, "subscriptions", 3, "views", 4);
    gauges.forEach(
        (name, value) ->
            assertEquals(
                value.doubleValue(), registry.get("evergreen.web." + name).gauge().value(), name));
    assertEquals(5, registry.get("evergreen.web.held.bytes").gauge().value());
    assertEquals(6, registry.get("evergreen.web.requests").functionCounter().count());
    var results = Map.of("written", 7, "sent", 8, "skipped", 9, "unchanged", 10);
    results.forEach(
        (what, value) ->
            assertEquals(
                value.doubleValue(),
                registry.get("evergreen.web.results").tag("what", what).functionCounter().count(),
                what));
    assertEquals(13, registry.get("evergreen.web.waits").functionCounter().count());
    assertEquals(11, registry.get("evergreen.web.malformed").functionCounter().count());
    assertEquals(
        12, registry.get("evergreen.web.cut").tag("reason", "stalled").functionCounter().count());
    // A reason that is new, and then counts on.
    now.set(counts(Map.of("views", 1L)));
    metrics.refresh();
    now.set(counts(Map.of("views", 2L)));
    metrics.refresh();
    assertEquals(
        2, registry.get("evergreen.web.refused").tag("reason", "views").functionCounter().count());
  }

  @Test
  void aServersAreScrapedWithTheNodes() throws Exception {
    try (Node node = EmbeddedNode.builder().start();
        var prometheus = Prometheus.of(node);
        var server =
            WebServer.builder(node)
                .port(0)
                .view(
                    LiveView.of(
                        "one", LiveView.NoParams.class, Authorisation.everyone(), none -> () -> 1))
                .metrics("/metrics", Authorisation.everyone(), prometheus::scrape)
                .start();
        var client = HttpClient.newHttpClient()) {
      prometheus.add(WebMetrics.of(server::counts));
      assertTrue(get(client, server, "live/one").equals("1"));
      get(client, server, "live/none");
      var text = get(client, server, "metrics");
      assertTrue(text.contains("evergreen_web_views 1.0"), text);
      assertTrue(text.contains("evergreen_web_requests_total 3.0"), text);
      assertTrue(text.contains("evergreen_web_refused_total{reason=\"no-such-view\"} 1.0"), text);
      assertTrue(text.contains("evergreen_serving 1.0"), text);
    }
  }

  private static String get(HttpClient client, WebServer server, String path) throws Exception {
    return client
        .send(
            HttpRequest.newBuilder(URI.create(server.uri() + path)).build(),
            BodyHandlers.ofString())
        .body();
  }
}
