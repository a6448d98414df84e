package dev.evergreen.server;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Browser.NewContextOptions;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.BrowserType.LaunchOptions;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.GetByRoleOptions;
import com.microsoft.playwright.Page.ScreenshotOptions;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.provenance.TracePage;
import dev.evergreen.shims.Address;
import dev.evergreen.shims.redis.RedisShim;
import dev.evergreen.shims.redis.RedisShimSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page of a trace in a real browser, while a real Redis is recorded. Needs a Chromium. */
@Timeout(120)
final class TracePageBrowserTest {
  private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
  private static final StoreKind REDIS = StoreKind.named("redis").orElseThrow();
  private static final double PATIENCE_MILLIS = 15_000;

  /** What would run, or break out of an element or attribute, if it were taken for markup. */
  private static final List<String> HOSTILE =
      List.of(
          "<img src=x onerror=window.pwned=1>",
          "\"><script>window.pwned=1</script>",
          "'><svg/onload=window.pwned=1>",
          "javascript:window.pwned=1",
          "${window.pwned=1}",
          "</title></textarea><b onmouseover=window.pwned=1>",
          "\u202Egnp.exe",
          "a\u0000b\u001B[31m",
          "line\nbreak\r\n");

  /** Where to put pictures of the page, for people to look at; none by default. */
  private static final String PICTURES = System.getProperty("evergreen.pictures", "");

  @TempDir private Path folder;
  private final List<String> faults = new ArrayList<>();
  private RedisProcess redis;
  private Recording recording;
  private RedisShim shim;
  private TracePage traces;

  private static @Nullable Playwright playwright;
  private static @Nullable Browser browser;

  @BeforeAll
  static void startBrowser() {
    assumeTrue(Files.isExecutable(CHROMIUM), "there is no " + CHROMIUM);
    playwright =
        Playwright.create(
            new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
    browser =
        playwright
            .chromium()
            .launch(
                new LaunchOptions()
                    .setExecutablePath(CHROMIUM)
                    .setArgs(List.of("--no-sandbox", "--disable-gpu", "--disable-sync")));
  }

  @AfterAll
  static void endBrowser() {
    if (playwright != null) {
      playwright.close();
    }
  }

  @BeforeEach
  void start() throws Exception {
    redis = RedisProcess.start(folder);
    var directory = folder.resolve("trace");
    recording =
        Recording.open(
            directory,
            "",
            SpoolSettings.DEFAULT,
            Redactor.open(directory, List.of()),
            Retention.ALL);
    shim =
        RedisShim.start(
            RedisShimSettings.of(Address.of("127.0.0.1:0"), Address.of(redis.address()))
                .withSpool(recording.spool())
                .withRedactor(recording.redactor()));
    traces =
        TracePage.start(
            directory.toString(),
            new TracePage.Settings(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "token", List.of()));
  }

  @AfterEach
  void stop() throws Exception {
    requireNonNull(browser).contexts().forEach(BrowserContext::close);
    traces.close();
    shim.close();
    recording.close();
    redis.close();
  }

  /** A client's connection to the shim. */
  private final class RedisClient implements AutoCloseable {
    private final Socket socket;

    RedisClient(String name) throws IOException {
      int port = ((InetSocketAddress) shim.address()).getPort();
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      ask("CLIENT", "SETNAME", name);
    }

    /** The line with which the reply begins. */
    final String ask(String... words) throws IOException {
      var request = REDIS.recorded(Stream.of(words).map(Bytes::of).toList());
      socket.getOutputStream().write(request.toArray());
      var reply = line();
      if (reply.startsWith("$") && !reply.equals("$-1")) {
        socket.getInputStream().readNBytes(Integer.parseInt(reply.substring(1)) + 2);
      }
      return reply;
    }

    private String line() throws IOException {
      var line = new StringBuilder();
      for (int next = socket.getInputStream().read();
          next != '\n';
          next = socket.getInputStream().read()) {
        assertTrue(next >= 0, "the shim has closed the connection");
        line.append((char) next);
      }
      return line.toString().strip();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private void awaitLoaded() {
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
  }

  private Page open(int width) {
    var page =
        requireNonNull(browser)
            .newContext(new NewContextOptions().setViewportSize(width, 900))
            .newPage();
    page.setDefaultTimeout(PATIENCE_MILLIS);
    page.onConsoleMessage(
        message -> {
          if (List.of("error", "warning").contains(message.type())) {
            faults.add(message.type() + ": " + message.text());
          }
        });
    page.onPageError(error -> faults.add(error));
    page.onDialog(
        dialog -> {
          faults.add("a dialog: " + dialog.message());
          dialog.dismiss();
        });
    page.navigate(traces.url());
    assertThat(page.locator("#state")).hasText("Live");
    return page;
  }

  private static void picture(Page page, String name) {
    if (!PICTURES.isEmpty()) {
      page.screenshot(
          new ScreenshotOptions()
              .setPath(Path.of(PICTURES, name + "-" + page.viewportSize().width + ".png"))
              .setFullPage(true));
    }
  }

  private static void assertFits(Page page) {
    assertEquals(
        true,
        page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"),
        "the page is wider than its window");
  }

  private static Locator button(Page page, String name) {
    return page.getByRole(AriaRole.BUTTON, new GetByRoleOptions().setName(name).setExact(true));
  }

  private static void ask(Page page, String request) {
    page.getByLabel("Command").fill(request);
    page.keyboard().press("Enter");
  }

  private void recordCarts() throws IOException {
    try (var web = new RedisClient("web-1");
        var batch = new RedisClient("batch")) {
      web.ask("SET", "cart:41", "1");
      web.ask("SET", "price", "7");
      batch.ask("GET", "price");
      batch.ask("SET", "cart:42", "3");
      web.ask("INCRBY", "cart:42", "4");
      web.ask("SETNX", "cart:42", "9");
      web.ask("COPY", "cart:42", "cart:43");
      web.ask("GET", "cart:43");
      web.ask("DEL", "cart:41");
    }
    awaitLoaded();
  }

  @Test
  void findsAKeyAndItsHistoryAndWalksFromAnAnswerToWhatItsWriterHadRead() throws Exception {
    recordCarts();
    for (int width : new int[] {1280, 320}) {
      var page = open(width);
      page.getByLabel("Begins with").fill("cart:");
      button(page, "Search").click();
      assertThat(page.locator("#keys li")).hasCount(3);
      button(page, "cart:42").click();
      assertThat(page.locator("#timeline-title")).hasText("History of cart:42");
      var history = page.locator("#history tr:not(.mark)");
      assertThat(history).hasCount(3);
      assertThat(history.nth(0)).containsText("SETNX cart:42 9");
      assertThat(history.nth(0)).containsText("no effect");
      assertThat(history.nth(1)).containsText("changed it");
      assertThat(history.nth(2)).containsText("batch");
      assertThat(page.locator("#history tr.epoch")).hasCount(1);
      assertFits(page);
      picture(page, "history");

      ask(page, "GET cart:43");
      assertThat(page.locator("#asked")).hasText("GET cart:43 → 7");
      assertThat(page.locator("#certainty")).hasText("certain");
      var nodes = page.locator("#nodes > li");
      assertThat(nodes).hasCount(4);
      assertThat(nodes.nth(1)).containsText("COPY cart:42 cart:43");
      assertThat(nodes.nth(3)).containsText("SET cart:42 3");
      assertThat(page.locator("#lines path")).hasCount(3);
      nodes.nth(3).locator(".choose").click();
      button(page, "What had its sender read before?").click();
      assertThat(nodes).hasCount(5);
      var read = page.locator("#nodes > li", new Page.LocatorOptions().setHasText("GET price"));
      assertThat(read).containsText("batch");
      read.locator(".choose").click();
      read.getByText("Why this reply?").click();
      assertThat(nodes).hasCount(6);
      assertThat(nodes.last()).containsText("SET price 7");
      assertThat(read.locator(".because")).containsText("because of");
      assertFits(page);
      picture(page, "walk");

      // Back is where one was.
      page.goBack();
      assertThat(page.locator("#timeline-title")).hasText("History of cart:42");
      page.reload();
      assertThat(page.locator("#timeline-title")).hasText("History of cart:42");
      assertTrue(!page.url().contains("token"), page.url());
    }
    assertEquals(List.of(), faults);
  }

  @Test
  void showsWhatPassesWithRepliesAndPauses() throws Exception {
    try (var client = new RedisClient("web-1")) {
      var page = open(1280);
      client.ask("SET", "a", "1");
      client.ask("INCR", "a");
      var live = page.locator("#live tr");
      assertThat(live.first()).containsText("INCR a");
      assertThat(live.first()).containsText("2");
      page.getByLabel("Only with").fill("set a");
      assertThat(page.locator("#live tr:visible")).hasCount(1);
      page.getByLabel("Only with").fill("");
      button(page, "Pause").click();
      client.ask("INCR", "a");
      awaitLoaded();
      assertThat(page.locator("#state")).hasText("Paused");
      button(page, "Resume").click();
      assertThat(page.locator("#state")).hasText("Live");
      client.ask("SET", "b", "1");
      assertThat(live.first()).containsText("SET b 1");
      live.first().getByText("Why").click();
      assertThat(page.locator("#asked")).containsText("SET b 1");
      picture(page, "live");
    }
    assertEquals(List.of(), faults);
  }

  @Test
  void tellsHowCertainItIsAndShowsAlternatives() throws Exception {
    try (var one = new RedisClient("one")) {
      one.ask("SET", "a", "1");
      one.ask("DEL", "a");
      one.ask("DEL", "a");
      one.ask("RANDOMKEY");
    }
    awaitLoaded();
    var page = open(1280);
    page.getByLabel("every cause, not one").check();
    ask(page, "GET a");
    assertThat(page.locator("#asked")).hasText("GET a → (nil)");
    assertThat(page.locator("#alternatives button")).hasCount(2);
    button(page, "or 2").click();
    assertThat(button(page, "or 2")).hasAttribute("aria-pressed", "true");
    ask(page, "RANDOMKEY");
    assertThat(page.locator("#asked")).hasText("RANDOMKEY → (not known)");
    assertThat(page.locator("#certainty")).hasText("no-specification");
    assertThat(page.locator("#certainty")).hasClass(Pattern.compile("doubt"));
    recording.spool().gap("somebody has cut it");
    awaitLoaded();
    ask(page, "GET b");
    assertThat(page.locator("#certainty")).hasText("gap");
    assertThat(page.locator("#meaning")).containsText("Operations are missing");
    assertEquals(List.of(), faults);
  }

  @Test
  void takesNothingForMarkup() throws Exception {
    try (var client = new RedisClient("<b>anna</b>")) {
      for (var text : HOSTILE) {
        client.ask("SET", text, text);
        client.ask("GET", text);
      }
      awaitLoaded();
      var page = open(320);
      assertThat(page.locator("#keys li")).hasCount(HOSTILE.size());
      for (int i = 0; i < HOSTILE.size(); i++) {
        var key = page.locator("#keys li button").nth(i);
        key.click();
        assertThat(page.locator("#timeline-key")).hasText(key.textContent());
        assertThat(page.locator("#history tr:not(.mark)")).hasCount(1);
        page.locator("#history button").first().click();
        assertThat(page.locator("#asked")).containsText(key.textContent());
        assertThat(page.locator("#nodes > li.asked")).hasCount(1);
        page.locator("#nodes > li .choose").first().click();
        assertThat(page.locator(".panel:visible")).containsText("<b>anna</b>");
        page.locator("#nodes > li .choose").first().click();
      }
      assertThat(page.locator("#keys")).containsText("<img src=x onerror=window.pwned=1>");
      assertThat(page.locator("#keys")).containsText("\\u{202e}gnp.exe");
      for (var text : HOSTILE) {
        client.ask("GET", text);
      }
      assertThat(page.locator("#live tr").first()).containsText("GET");
      assertEquals(true, page.evaluate("window.pwned === undefined"));
      assertEquals(
          0, page.locator("main img, main script, main b, main iframe, svg[onload]").count());
      assertFits(page);
      picture(page, "hostile");
    }
    assertEquals(List.of(), faults);
  }

  /** Seen: the history that came last was shown, not that of the key that was chosen last. */
  @Test
  void anAnswerThatWasOvertakenIsNotShown() throws Exception {
    recordCarts();
    var page = open(1280);
    var late = new ArrayList<Route>();
    var ended = new ArrayList<String>();
    page.onRequestFinished(request -> ended.add(request.url()));
    page.onRequestFailed(request -> ended.add(request.url()));
    page.route(
        "**/api/timeline?*",
        route -> {
          if (late.isEmpty()) {
            late.add(route);
          } else {
            route.resume();
          }
        });
    button(page, "cart:41").click();
    page.waitForCondition(() -> !late.isEmpty());
    button(page, "cart:42").click();
    assertThat(page.locator("#timeline-title")).hasText("History of cart:42");
    var overtaken = late.getFirst().request().url();
    if (!ended.contains(overtaken)) {
      late.getFirst().resume();
    }
    page.waitForCondition(() -> ended.contains(overtaken));
    page.evaluate("new Promise((shown) => setTimeout(shown))");
    assertThat(page.locator("#timeline-title")).hasText("History of cart:42");
    assertEquals(List.of(), faults);
  }

  @Test
  void isUsedByTheKeyboardAlone() throws Exception {
    recordCarts();
    var page = open(1280);
    page.getByLabel("Begins with").focus();
    page.keyboard().type("cart:42");
    page.keyboard().press("Enter");
    assertThat(page.locator("#keys li")).hasCount(1);
    tabTo(page, "cart:42");
    page.keyboard().press("Enter");
    assertThat(page.locator("#timeline")).isFocused();
    tabTo(page, "Why");
    page.keyboard().press("Enter");
    assertThat(page.locator("#answer")).isFocused();
    page.keyboard().press("Tab");
    page.keyboard().press("Space");
    assertThat(page.locator("#nodes > li .choose").first()).hasAttribute("aria-expanded", "true");
    tabTo(page, "row");
    var link = page.evaluate("document.activeElement.textContent");
    page.keyboard().press("Enter");
    assertThat(page.locator("#nodes > li .choose:focus .sub")).containsText(link.toString());
    assertEquals(List.of(), faults);
  }

  /** Goes on until something whose text begins so has the focus. */
  private static void tabTo(Page page, String text) {
    for (int i = 0; i < 40; i++) {
      page.keyboard().press("Tab");
      var focused = page.evaluate("document.activeElement.textContent.trim()").toString();
      if (focused.startsWith(text)) {
        return;
      }
    }
    throw new AssertionError("nothing that begins with " + text + " can be reached");
  }

  @Test
  void asksForATokenThatIsMissing() {
    var page = requireNonNull(browser).newContext().newPage();
    page.navigate(traces.url().replaceFirst("#.*", ""));
    assertThat(page.locator("#main")).isHidden();
    page.getByLabel("Token").fill("wrong");
    button(page, "Open").click();
    assertThat(page.locator("#state")).hasText("Locked");
    page.getByLabel("Token").fill("token");
    button(page, "Open").click();
    assertThat(page.locator("#state")).hasText("Live");
  }
}
