package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.web.WebServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class WatchingTest {

  @Test
  void servesDashboardMetricsAndHealth() throws Exception {
    try (var node = ChirperServer.node(new MemoryStorage());
        var client = HttpClient.newHttpClient()) {
      node.grains().get(User.class, "alice").profile();
      var builder = WebServer.builder(node).port(0);
      // Only now, as metrics may be a second old.
      var watching = new Watching(node);
      watching.addAllTo(builder);
      try (watching;
          var server = builder.start()) {
        var parts =
            Map.of(
                "dashboard", "<title>Evergreen dashboard</title>",
                "live/evergreen.dashboard", "\"User\":1",
                "metrics", "evergreen_grains_active{type=\"User\"} 1.0",
                "health/live", "ok",
                "health/ready", "ok");
        for (var part : parts.entrySet()) {
          var request = HttpRequest.newBuilder(URI.create(server.uri() + part.getKey())).build();
          var answer = client.send(request, BodyHandlers.ofString());
          assertEquals(200, answer.statusCode(), part.getKey());
          assertTrue(answer.body().contains(part.getValue()), answer.body());
        }
      }
    }
  }
}
