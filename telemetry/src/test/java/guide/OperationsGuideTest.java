package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.dashboard.Dashboard;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.telemetry.Health;
import dev.evergreen.telemetry.Prometheus;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.WebServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What {@code docs/operations.md} shows. */
class OperationsGuideTest {

  private static WebServer watched(Node node) {
    // snippet watching
    var prometheus = Prometheus.of(node);
    var health = Health.of(node);
    var server =
        WebServer.builder(node)
            .port(0)
            .metrics("/metrics", Authorisation.role("operator"), prometheus::scrape)
            .health("/health/live", Optional::empty)
            .health("/health/ready", health::trouble)
            .add(
                Dashboard.at(
                    "/dashboard",
                    Authorisation.role("operator"),
                    () -> List.of(NodeReport.of(node))))
            .start();
    // end
    return server;
  }

  @Test
  void operatorsSeeAndOthersOnlyLearnWhetherAllIsWell() throws Exception {
    try (var node = EmbeddedNode.builder().start();
        var server = watched(node);
        var client = HttpClient.newHttpClient()) {
      for (var path : List.of("metrics", "dashboard", "health/live", "health/ready")) {
        var answer =
            client.send(
                HttpRequest.newBuilder(URI.create(server.uri() + path)).build(),
                BodyHandlers.ofString());
        assertEquals(path.startsWith("health") ? 200 : 401, answer.statusCode(), path);
      }
    }
  }
}
