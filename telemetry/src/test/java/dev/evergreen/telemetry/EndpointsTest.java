package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.web.WebServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Metrics and health as a web server serves them. */
final class EndpointsTest {

  private final Node node = EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start();
  private final Prometheus prometheus = Prometheus.of(node);
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void close() {
    client.close();
    prometheus.close();
    node.close();
  }

  private HttpResponse<String> get(WebServer server, String path) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(server.uri() + path.substring(1))).build(),
        BodyHandlers.ofString());
  }

  @Test
  void areNotThereUnlessAskedFor() throws Exception {
    try (var server = WebServer.builder(node).port(0).start()) {
      for (var path : new String[] {"/metrics", "/health/live", "/health/ready"}) {
        assertEquals(404, get(server, path).statusCode(), path);
      }
    }
  }

  @Test
  void metricsAreTextForThoseWhoMaySeeThem() throws Exception {
    var allowed = new AtomicBoolean();
    try (var server =
        WebServer.builder(node)
            .port(0)
            .metrics("/metrics", (caller, params) -> allowed.get(), prometheus::scrape)
            .start()) {
      assertEquals(401, get(server, "/metrics").statusCode());
      allowed.set(true);
      node.grains().get(Counter.class, "c").add(1);
      assertEquals(200, get(server, "/metrics").statusCode());
      node.grains().get(Counter.class, "c").add(1);
      var answer = get(server, "/metrics");
      assertEquals(
          Prometheus.CONTENT_TYPE, answer.headers().firstValue("Content-Type").orElseThrow());
      assertTrue(answer.body().contains("\nevergreen_calls_seconds_count "), answer.body());
      assertTrue(answer.body().contains("\nevergreen_reads_total{cache=\"hit\"} "), answer.body());
      assertTrue(
          answer.body().contains("\nevergreen_calls_latency_seconds{quantile=\"0.99\"} "),
          answer.body());
      assertFalse(answer.body().contains("NaN"), answer.body());
    }
  }

  @Test
  void newGrainTypesAreInTheNextScrape() {
    node.grains().get(Counter.class, "c").add(1);
    var fresh = Prometheus.of(node);
    try (fresh) {
      assertTrue(
          fresh.scrape().contains("\nevergreen_grains_active{type=\"Counter\"} 1.0"),
          fresh.scrape());
    }
  }

  @Test
  void aProcessIsReadyWhileAllItsChecksHold() throws Exception {
    var joined = new AtomicBoolean();
    var health =
        Health.of(node)
            .and("cluster", joined::get)
            .and(
                "storage",
                () -> {
                  if (!joined.get()) {
                    throw new IllegalStateException("no connection");
                  }
                  return true;
                });
    try (var server =
        WebServer.builder(node)
            .port(0)
            .health("/health/live", Optional::empty)
            .health("/health/ready", health::trouble)
            .start()) {
      assertEquals(200, get(server, "/health/live").statusCode());
      var answer = get(server, "/health/ready");
      assertEquals(503, answer.statusCode());
      assertEquals("not ready: cluster, storage\n", answer.body());
      joined.set(true);
      answer = get(server, "/health/ready");
      assertEquals(200, answer.statusCode());
      assertEquals("ok\n", answer.body());
      node.close();
      assertEquals("not ready: node\n", get(server, "/health/ready").body());
      assertEquals(200, get(server, "/health/live").statusCode());
    }
    assertThrows(IllegalArgumentException.class, () -> health.and("node", () -> true));
  }
}
