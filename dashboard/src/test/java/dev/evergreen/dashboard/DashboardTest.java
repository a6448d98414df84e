package dev.evergreen.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Node;
import dev.evergreen.dashboard.Counting.Counter;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.WebServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class DashboardTest {

  private static final String DATA = "live/" + Dashboard.VIEW;

  private final Node node = Counting.node();
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void close() {
    client.close();
    node.close();
  }

  private WebServer.Builder server() {
    return WebServer.builder(node).port(0);
  }

  private List<NodeReport> reports() {
    return List.of(NodeReport.of(node));
  }

  private HttpResponse<String> get(WebServer server, String path) throws Exception {
    return get(HttpRequest.newBuilder(URI.create(server.uri() + path)));
  }

  private HttpResponse<String> get(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  @Test
  void showsPageFilesAndNumbersToWhomeverMaySeeThemOnly() throws Exception {
    var allowed = new AtomicBoolean();
    var page = Dashboard.at("/ops/dashboard", (caller, params) -> allowed.get(), this::reports);
    try (var server = server().add(page).start()) {
      var paths =
          List.of("ops/dashboard", "ops/dashboard/dashboard.js", "ops/dashboard/page.css", DATA);
      for (var path : paths) {
        assertEquals(401, get(server, path).statusCode(), path);
      }
      allowed.set(true);
      for (var path : paths) {
        assertEquals(200, get(server, path).statusCode(), path);
      }
      for (var path : List.of("ops/secret", "ops/dashboard/index.html", "ops/dashboard/")) {
        assertEquals(404, get(server, path).statusCode(), path);
      }
    }
  }

  @Test
  void itsNumbersAreNotForPagesOfOthers() throws Exception {
    var page = Dashboard.at("/dashboard", Authorisation.everyone(), this::reports);
    try (var server = server().add(page).start()) {
      var data = URI.create(server.uri() + DATA);
      for (var header :
          List.of(
              List.of("Origin", "https://evil.example"), List.of("Sec-Fetch-Site", "cross-site"))) {
        var request = HttpRequest.newBuilder(data).header(header.getFirst(), header.getLast());
        assertEquals(403, get(request).statusCode(), header.toString());
      }
    }
  }

  @Test
  void itsPageLoadsNothingFromElsewhereAndNothingInline() throws Exception {
    try (var server =
        server()
            .contentSecurityPolicy("default-src *")
            .add(Dashboard.at("/ops/dashboard", Authorisation.everyone(), this::reports))
            .start()) {
      for (var path : List.of("ops/dashboard", "ops/dashboard/page.js")) {
        var policy =
            get(server, path).headers().firstValue("Content-Security-Policy").orElseThrow();
        assertTrue(policy.startsWith("default-src 'none';"), policy);
        assertFalse(policy.contains("unsafe"), policy);
      }
      var page = get(server, "ops/dashboard").body();
      assertTrue(page.contains("data-live=\"../live/evergreen.dashboard\""), page);
      assertTrue(page.contains("src=\"dashboard/dashboard.js\""), page);
      assertFalse(page.contains("style="), page);
      assertFalse(page.contains("://"), page);
    }
  }

  @Test
  void itsNumbersAreThoseOfTheNodes() throws Exception {
    node.grains().get(Counter.class, "b").count();
    try (var server =
        server().add(Dashboard.at("/dashboard", Authorisation.everyone(), this::reports)).start()) {
      var numbers = get(server, DATA).body();
      assertTrue(numbers.contains("\"totals\":{\"calls\":1,"), numbers);
    }
  }
}
