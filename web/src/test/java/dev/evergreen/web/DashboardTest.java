package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.web.LiveGrainTest.Board;
import dev.evergreen.web.LiveGrainTest.BoardGrain;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class DashboardTest {

  private static final String DATA = "/live/" + Dashboard.VIEW;

  private final Node node = EmbeddedNode.builder().grain(Board.class, BoardGrain::new).start();
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicReference<List<NodeReport>> reports = new AtomicReference<>(List.of());
  private final Dashboard dashboard = new Dashboard(reports::get, nanos::get);

  @AfterEach
  void close() {
    node.close();
  }

  private WebServer.Builder server() {
    return WebServer.builder(node).port(0);
  }

  /** A report of another node, so much after its last. */
  private NodeReport report(String address, long incarnation, Duration later) {
    var now = NodeReport.of(node);
    return new NodeReport(
        new NodeId(address, incarnation),
        now.upSince(),
        now.upSince().plus(later),
        now.serving(),
        now.counts(),
        now.activations(),
        now.hottest(),
        now.queues(),
        now.calls(),
        now.life(),
        now.computing(),
        now.pushes(),
        now.subscribing(),
        now.saving(),
        now.links());
  }

  private Dashboard.Look look(long atSeconds, NodeReport... present) {
    nanos.set(Duration.ofSeconds(atSeconds).toNanos());
    reports.set(List.of(present));
    return dashboard.look();
  }

  @Test
  void isNotThereUnlessAskedFor() {
    try (var plain = server().start()) {
      assertEquals(404, Http.get(plain, "/dashboard").statusCode());
      assertEquals(404, Http.get(plain, DATA).statusCode());
    }
  }

  @Test
  void showsPageFilesAndNumbersToWhomeverMaySeeThemOnly() {
    var allowed = new AtomicBoolean();
    try (var server =
        server()
            .dashboard(
                "/ops/dashboard",
                (caller, params) -> allowed.get(),
                () -> List.of(NodeReport.of(node)))
            .start()) {
      var paths = List.of("/ops/dashboard", "/ops/dashboard/dashboard.js", DATA);
      for (var path : paths) {
        assertEquals(401, Http.get(server, path).statusCode(), path);
      }
      allowed.set(true);
      for (var path : paths) {
        assertEquals(200, Http.get(server, path).statusCode(), path);
      }
      assertEquals(404, Http.get(server, "/ops/dashboard/../secret").statusCode());
      assertEquals(404, Http.get(server, "/ops/dashboard/index.html").statusCode());
      for (var headers :
          List.of(
              List.of("Origin", "https://evil.example"), List.of("Sec-Fetch-Site", "cross-site"))) {
        assertEquals(403, Http.get(server, DATA, headers.toArray(String[]::new)).statusCode());
      }
    }
  }

  @Test
  void itsPageLoadsNothingFromElsewhereAndNothingInline() {
    try (var server =
        server()
            .contentSecurityPolicy("default-src *")
            .dashboard("/ops/dashboard", Authorisation.everyone(), reports::get)
            .start()) {
      var page = Http.get(server, "/ops/dashboard");
      assertTrue(Http.header(page, "Content-Security-Policy").startsWith("default-src 'none';"));
      assertFalse(Http.header(page, "Content-Security-Policy").contains("unsafe"));
      assertTrue(page.body().contains("data-live=\"../live/evergreen.dashboard\""), page.body());
      assertTrue(page.body().contains("src=\"dashboard/dashboard.js\""), page.body());
      assertFalse(page.body().contains("style="), page.body());
      assertFalse(page.body().contains("://"), page.body());
    }
  }

  @Test
  void numbersComeEverySecondWhileSomebodyLooksAndOnceForAll() {
    var asked = new AtomicInteger();
    try (var server =
        server()
            .settings(WebSettings.builder().keepViewFor(Duration.ofMillis(1)).build())
            .dashboard(
                "/dashboard",
                Authorisation.everyone(),
                () -> {
                  asked.incrementAndGet();
                  return List.of(NodeReport.of(node));
                })
            .start()) {
      assertEquals(0, asked.get());
      try (var one = Browser.open(server);
          var two = Browser.open(server)) {
        one.subscribe(1, Dashboard.VIEW, "{}", null);
        two.subscribe(1, Dashboard.VIEW, "{}", null);
        node.grains().get(Board.class, "b").write("hello");
        while (calls(one.next()) == 0) {
          // The next second may show it.
        }
        while (calls(two.next()) == 0) {
          // As above.
        }
        assertEquals(1, server.counts().views());
      }
      Await.until("the view is closed", () -> server.counts().views() == 0);
    }
  }

  private static int calls(JsonNode message) {
    return message.at("/value/nodes/0/totals/calls").asInt();
  }

  @Test
  void makesRatesOfTheLastTwoReports() {
    var board = node.grains().get(Board.class, "b");
    var first = look(0, report("a", 1, Duration.ofSeconds(10))).nodes().getFirst();
    assertTrue(first.rates().isEmpty(), first.toString());
    for (int i = 0; i < 30; i++) {
      board.notes();
    }
    var second = look(2, report("a", 1, Duration.ofSeconds(12))).nodes().getFirst();
    var rates = second.rates().orElseThrow();
    assertEquals(15, rates.calls(), 1e-6);
    assertTrue(rates.p50() > 0 && rates.p50() <= rates.p99(), rates.toString());
    assertTrue(rates.p99() <= rates.longest(), rates.toString());
    assertEquals(30, second.totals().calls());
    var late = look(100, report("a", 1, Duration.ofSeconds(110))).nodes().getFirst();
    assertTrue(late.rates().isEmpty(), "nobody looked meanwhile: " + late);
  }

  @Test
  void aNodeThatIsMissingOrSaysNothingNewIsSilentAfterAWhile() {
    var a = report("a", 1, Duration.ofSeconds(1));
    look(0, a, report("b", 1, Duration.ofSeconds(1)));
    var soon = look(2, a).nodes();
    assertEquals(List.of(0L, 0L), soon.stream().map(Dashboard.NodeLook::silentSeconds).toList());
    var later = look(5, a, report("b", 1, Duration.ofSeconds(6))).nodes();
    assertEquals(List.of(5L, 0L), later.stream().map(Dashboard.NodeLook::silentSeconds).toList());
    var back = look(6, report("a", 1, Duration.ofSeconds(7))).nodes();
    assertEquals(0, back.getFirst().silentSeconds());
  }

  @Test
  void aNewLifeTakesThePlaceOfTheOldAndTheLongSilentAreForgotten() {
    look(0, report("a", 1, Duration.ofSeconds(1)), report("b", 1, Duration.ofSeconds(1)));
    var restarted = look(1, report("a", 2, Duration.ofSeconds(1))).nodes();
    assertEquals(
        List.of("a 2", "b 1"),
        restarted.stream().map(node -> node.address() + " " + node.incarnation()).toList());
    var much = look(3600, report("a", 2, Duration.ofSeconds(3601))).nodes();
    assertEquals(List.of("a"), much.stream().map(Dashboard.NodeLook::address).toList());
  }
}
