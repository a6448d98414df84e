package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.microsoft.playwright.Browser.NewContextOptions;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Locator.FilterOptions;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.GetByRoleOptions;
import com.microsoft.playwright.Page.ScreenshotOptions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.CoreRuntime;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.dashboard.Dashboard;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.reports.Reporter;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.WebServer;
import dev.evergreen.web.WebSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The dashboard in a real browser, over nodes that host Chirper's grains. Needs a Chromium. */
final class DashboardBrowserTest extends InABrowser {

  /** Where to put pictures of the page, for people to look at; none by default. */
  private static final String PICTURES = System.getProperty("evergreen.pictures", "");

  private final RealTime time = RealTime.create();
  private final List<Node> nodes = new CopyOnWriteArrayList<>();
  private WebServer server;

  @BeforeEach
  void start() {
    nodes.add(node("alpha.example:7070"));
    nodes.add(node("beta.example:7070"));
    server =
        WebServer.builder(nodes.getFirst())
            .port(0)
            .add(Dashboard.at("/dashboard", Authorisation.everyone(), this::reports))
            .start();
  }

  @AfterEach
  void stop() {
    closeWindows();
    server.close();
    nodes.forEach(Node::close);
    time.close();
  }

  private List<NodeReport> reports() {
    return nodes.stream().map(NodeReport::of).toList();
  }

  private Node node(String address) {
    var self = new NodeId(address, 1);
    var types =
        GrainTypes.create()
            .add(User.class, UserGrain::new)
            .add(NameIndex.class, NameIndexGrain::new)
            .add(Archive.class, ArchiveGrain::new);
    return CoreRuntime.start(
        new Engine(
            self,
            time,
            time,
            (to, message) -> false,
            new Placement.AllAt(self, self),
            new MemoryStorage(),
            (RandomGenerator) () -> ThreadLocalRandom.current().nextLong()),
        types,
        NodeSettings.DEFAULT,
        Tracing.NONE,
        view -> new Reporter(view, System.Logger.Level.DEBUG));
  }

  private Page open(NewContextOptions options) {
    var page = browser.newContext(options).newPage();
    page.onConsoleMessage(
        message -> {
          if (List.of("error", "warning").contains(message.type())) {
            faults.add(message.type() + ": " + message.text());
          }
        });
    page.onPageError(error -> faults.add("uncaught: " + error));
    page.navigate(server.uri() + "dashboard");
    assertThat(page.locator("#state")).hasText("Live", within(PATIENCE_MILLIS));
    return page;
  }

  private static Locator row(Page page, String text) {
    return page.getByRole(AriaRole.ROW).filter(new FilterOptions().setHasText(text));
  }

  private static Locator fact(Page page, String name) {
    return page.locator("#facts div").filter(new FilterOptions().setHasText(name)).locator("dd");
  }

  @Test
  void numbersMoveWhenCallsAreMadeAndANodeThatGoesAwayIsShown() {
    var page = open(new NewContextOptions());
    assertThat(page.locator("#nodes tbody tr")).hasCount(2);
    assertThat(fact(page, "Calls")).hasText("0", within(PATIENCE_MILLIS));
    var alice = nodes.getFirst().grains().get(User.class, "alice");
    try (var timeline = nodes.getFirst().reactive(() -> alice.timeline(5));
        var tracker = timeline.tracker()) {
      tracker.next(Duration.ofSeconds(20));
      for (int i = 0; i < 40; i++) {
        alice.post(Instant.EPOCH.plusSeconds(i), "number " + i);
      }
      var calls = NodeReport.of(nodes.getFirst()).calls().ended();
      assertTrue(calls >= 40, calls + " calls");
      assertThat(fact(page, "Calls")).hasText("" + calls, within(PATIENCE_MILLIS));
      var operation = row(page, "timeline(5)");
      assertThat(operation).containsText("alice");
      assertThat(operation).containsText("alpha.example:7070");
      assertThat(page.locator("#types tbody tr")).containsText(new String[] {"User"});
      assertThat(row(page, "alpha.example:7070").first().locator(".badge"))
          .hasText(Pattern.compile("up \\d+ s"));

      try (var gone = nodes.removeLast()) {
        var beta = row(page, "beta.example:7070");
        assertThat(beta.locator(".badge"))
            .hasText(Pattern.compile("no answer for \\d+ s"), within(PATIENCE_MILLIS));
        assertThat(page.locator("#nodes-count")).hasText("1 of 2 answer");
        assertThat(page.locator("#news")).hasText("Node beta.example:7070 does not answer.");
        nodes.add(gone);
        assertThat(page.locator("#nodes-count")).hasText("2", within(PATIENCE_MILLIS));
        assertThat(page.locator("#news")).hasText("Node beta.example:7070 answers again.");
        nodes.removeLast();
      }
    }
    assertEquals(List.of(), faults);
  }

  @Test
  void pausesAtTheKeyboardAndComesBackAfterTheServerWasAway() {
    var page = open(new NewContextOptions());
    var pause = page.getByRole(AriaRole.BUTTON, new GetByRoleOptions().setName("Pause"));
    page.keyboard().press("Tab");
    assertThat(pause).isFocused();
    page.keyboard().press("Enter");
    assertThat(page.locator("#state")).hasText("Paused");
    assertEquals("true", pause.getAttribute("aria-pressed"));
    page.keyboard().press("Enter");
    assertThat(page.locator("#state")).hasText("Live", within(PATIENCE_MILLIS));
    int port = server.port();
    server.close();
    assertThat(page.locator("#state"))
        .hasText(Pattern.compile("Not connected|Reconnecting…"), within(PATIENCE_MILLIS));
    server =
        WebServer.builder(nodes.getFirst())
            .port(port)
            .add(Dashboard.at("/dashboard", Authorisation.everyone(), this::reports))
            .start();
    assertThat(page.locator("#state")).hasText("Live", within(2 * PATIENCE_MILLIS));
  }

  @Test
  void isNotLiveWhenNothingComesAndIsAgainWhenSomethingDoes() {
    try (var quick =
        WebServer.builder(nodes.getFirst())
            .port(0)
            .settings(WebSettings.DEFAULT.withHeartbeatEvery(Duration.ofSeconds(1)))
            .add(Dashboard.at("/dashboard", Authorisation.everyone(), this::reports))
            .start()) {
      var page = browser.newPage();
      // As in a network that swallows all: the browser takes the connection for an open one.
      page.addInitScript(
          """
          const Real = window.EventSource;
          window.EventSource = class extends Real {
            set onmessage(listener) {
              super.onmessage = (event) => window.swallows || listener(event);
            }
          };
          """);
      page.navigate(quick.uri() + "dashboard");
      assertThat(page.locator("#state")).hasText("Live", within(PATIENCE_MILLIS));
      page.evaluate("window.swallows = true");
      assertThat(page.locator("#state")).hasText("Not connected", within(PATIENCE_MILLIS));
      page.evaluate("window.swallows = false");
      assertThat(page.locator("#state")).hasText("Live", within(PATIENCE_MILLIS));
    }
  }

  @Test
  void fitsEveryWidthInLightAndDarkAndHelpersOfPeopleCanReadIt() throws Exception {
    for (int width : new int[] {320, 768, 1280}) {
      var page = open(new NewContextOptions().setViewportSize(width, 900));
      assertThat(page.locator("#nodes tbody tr")).hasCount(2);
      var overflow =
          page.evaluate(
              "document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assertEquals(0, overflow, "the page is wider than " + width);
      Axe.check(
          page,
          scheme -> {
            if (!PICTURES.isEmpty()) {
              picture(page, scheme, width);
            }
          });
      page.context().close();
    }
    assertEquals(List.of(), faults);
    assertTrue(
        NodeReport.of(nodes.getFirst()).counts().computations() == 0, "it is no computation");
  }

  private void picture(Page page, ColorScheme scheme, int width) {
    var grains = nodes.getFirst().grains();
    var alice = grains.get(User.class, "alice");
    var bob = nodes.getLast().grains().get(User.class, "bob");
    try (var timeline = nodes.getFirst().reactive(() -> alice.timeline(20));
        var other = nodes.getLast().reactive(() -> bob.messages(5));
        var tracker = timeline.tracker();
        var second = other.tracker()) {
      tracker.next(Duration.ofSeconds(20));
      second.next(Duration.ofSeconds(20));
      for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 20 + 15 * Math.sin(i / 4.0); j++) {
          alice.profile();
          bob.profile();
        }
        alice.post(Instant.EPOCH.plusSeconds(i), "number " + i);
        page.waitForTimeout(150);
      }
      var gone = nodes.removeLast();
      assertThat(page.locator("#nodes-count")).hasText("1 of 2 answer", within(PATIENCE_MILLIS));
      page.screenshot(
          new ScreenshotOptions()
              .setFullPage(true)
              .setPath(Path.of(PICTURES, scheme + "-" + width + ".png")));
      nodes.add(gone);
    }
  }
}
