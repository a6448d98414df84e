package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Browser.NewContextOptions;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Locator.FilterOptions;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.GetByRoleOptions;
import com.microsoft.playwright.Page.ScreenshotOptions;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.LocatorAssertions.HasTextOptions;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ReducedMotion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Chirper as people use it: a browser, two windows, a server in a process of its own. Needs the
 * page, which npm builds, and a Chromium of the system.
 */
final class BrowserTest {

  private static final double PATIENCE_MILLIS = 15_000;

  /** A page that lost its server tries again in longer and longer pauses. */
  private static final double RECONNECT_MILLIS = 20_000;

  /** Where to put pictures of the pages, for people to look at; none by default. */
  private static final String PICTURES = System.getProperty("evergreen.pictures", "");

  @TempDir private Path data;
  private final List<String> faults = new ArrayList<>();
  private final List<ChirperProcess> started = new ArrayList<>();
  private String address = "";
  private Playwright playwright;
  private Browser browser;

  @BeforeAll
  static void needsAPageAndABrowser() {
    assumeTrue(
        BrowserTest.class.getResource("/page/index.html") != null,
        "the page is not built: npm ci && npm run build in samples/chirper/page");
    Chromium.assumeInstalled();
    PlaywrightAssertions.setDefaultAssertionTimeout(PATIENCE_MILLIS);
  }

  @BeforeEach
  void open() {
    playwright = Chromium.playwright();
    browser = Chromium.launch(playwright);
  }

  @AfterEach
  void stop() {
    browser.close();
    playwright.close();
    started.forEach(ChirperProcess::close);
  }

  @Test
  void whatOnePersonDoesAppearsInTheOthersWindowAlsoAfterTheServerWasKilled() throws Exception {
    var chirper = start(0);
    var alice = signedIn("alice");
    var bob = signedIn("bob");
    assertThat(alice.getByText("It is quiet here.")).isVisible();

    write(bob, "Hello from bob");
    assertPosts(bob, "Hello from bob");

    alice.getByRole(AriaRole.LINK, named("Search")).click();
    alice.getByLabel("Names that begin with").fill("bo");
    alice.getByRole(AriaRole.BUTTON, named("Follow bob")).click();
    assertThat(alice.getByText("Following")).isVisible();
    alice.getByRole(AriaRole.LINK, named("Home").setExact(true)).click();
    assertPosts(alice, "Hello from bob");

    write(bob, "A second one");
    assertPosts(alice, "A second one", "Hello from bob");
    remove(bob, "Hello from bob");
    assertPosts(alice, "A second one");
    assertThat(live(alice)).hasText("Live");
    assertEquals(List.of(), faults);

    int port = chirper.port();
    chirper.kill();
    assertThat(live(alice)).hasText("Not live");
    assertThat(live(bob)).hasText("Not live");
    assertPosts(alice, "A second one");
    write(bob, "Written while nobody listened");
    assertThat(bob.getByText("This may not have been posted.")).isVisible();

    start(port);
    assertThat(live(alice)).hasText("Live", within(RECONNECT_MILLIS));
    assertThat(live(bob)).hasText("Live", within(RECONNECT_MILLIS));
    bob.getByRole(AriaRole.BUTTON, named("Send again")).click();
    assertPosts(alice, "Written while nobody listened", "A second one");
    assertThat(bob.getByText("This may not have been posted.")).isHidden();

    alice.navigate(address + "/@bob");
    alice.getByRole(AriaRole.BUTTON, named("Follow bob")).click();
    assertThat(alice.getByText("0 followers")).isVisible();
    alice.getByRole(AriaRole.LINK, named("Home").setExact(true)).click();
    assertThat(alice.getByText("It is quiet here.")).isVisible();
  }

  @Test
  void aPhoneAndAKeyboardAreEnough() throws Exception {
    start(0);
    var context =
        browser.newContext(new NewContextOptions().setViewportSize(320, 640).setHasTouch(true));
    var page = open(context.newPage(), "/");
    assertThat(page.getByLabel("Your name")).isFocused();
    page.keyboard().type("carol");
    page.keyboard().press("Enter");
    assertThat(page.getByRole(AriaRole.HEADING, named("Home"))).isVisible();
    page.keyboard().press("n");
    assertThat(page.getByLabel("New post")).isFocused();
    page.keyboard().type("Thumbs and keys " + "x".repeat(100));
    page.keyboard().press("Control+Enter");
    assertThat(posts(page)).hasCount(1);
    for (var path : List.of("/", "/search", "/@carol", "/@carol/followers", "/nowhere")) {
      page.navigate(address + path);
      assertThat(page.locator("h1")).isVisible();
      assertEquals(320, page.evaluate("document.scrollingElement.scrollWidth"), path);
    }
    page.navigate(address + "/@carol");
    page.getByRole(AriaRole.MAIN)
        .getByRole(AriaRole.BUTTON, new Locator.GetByRoleOptions().setName("Sign out"))
        .click();
    page.getByRole(AriaRole.LINK, named("Home").setExact(true)).click();
    assertThat(page.getByLabel("Your name")).isVisible();
    assertEquals(List.of(), faults);
  }

  @Test
  void everyPageFitsEveryWidthAndHelpersOfPeopleCanReadIt() throws Exception {
    start(0);
    var writer = signedIn("ida");
    write(writer, "What is shown " + "and more ".repeat(20));
    assertThat(posts(writer)).hasCount(1);
    for (int width : new int[] {320, 768, 1280}) {
      var context =
          browser.newContext(
              new NewContextOptions()
                  .setViewportSize(width, 900)
                  .setReducedMotion(ReducedMotion.REDUCE));
      var page = open(context.newPage(), "/");
      look(page, "sign-in", width);
      signIn(page, "kim" + width);
      assertThat(page.getByRole(AriaRole.CHECKBOX, named("Single keys"))).isVisible();
      look(page, "home", width);
      for (var path : List.of("search", "@ida", "@ida/followers", "nowhere")) {
        page.navigate(address + "/" + path);
        assertThat(page.locator("h1")).isVisible();
        look(page, path.replace('/', '-'), width);
      }
      context.close();
    }
    assertEquals(List.of(), faults);
  }

  /** Checks a page as it is now. */
  private static void look(Page page, String name, int width) throws IOException {
    page.waitForFunction("!document.querySelector('[aria-busy=true]')");
    assertEquals(width, page.evaluate("document.scrollingElement.scrollWidth"), name);
    assertEquals(0, page.evaluate("document.getAnimations().length"), name + " moves");
    Axe.check(
        page,
        scheme -> {
          if (!PICTURES.isEmpty()) {
            page.screenshot(
                new ScreenshotOptions()
                    .setFullPage(true)
                    .setPath(Path.of(PICTURES, name + "-" + width + "-" + scheme + ".png")));
          }
        });
  }

  @Test
  void theFocusStaysWherePeopleAre() throws Exception {
    start(0);
    signedIn("gus");
    var page = signedIn("hal");
    assertThat(page.getByRole(AriaRole.HEADING, named("Home"))).isFocused();

    for (var text : List.of("First", "Second", "Third")) {
      write(page, text);
    }
    assertPosts(page, "Third", "Second", "First");
    remove(page, "Second");
    assertPosts(page, "Third", "First");
    assertThat(page.locator("li:has-text('First')")).isFocused();
    remove(page, "First");
    assertThat(page.locator("li:has-text('Third')")).isFocused();
    remove(page, "Third");
    assertThat(page.getByRole(AriaRole.HEADING, named("Home"))).isFocused();

    page.navigate(address + "/@gus");
    var follow = page.getByRole(AriaRole.BUTTON, named("Follow gus"));
    follow.press("Enter");
    assertThat(page.getByText("1 follower")).isVisible();
    assertThat(follow).isFocused();

    page.getByRole(AriaRole.CHECKBOX, named("Single keys")).uncheck();
    page.keyboard().press("/");
    page.getByRole(AriaRole.CHECKBOX, named("Single keys")).check();
    assertThat(page).hasURL(address + "/@gus");
    page.keyboard().press("/");
    assertThat(page).hasURL(address + "/search");
    assertThat(page.getByLabel("Names that begin with")).isFocused();
    assertEquals(List.of(), faults);
  }

  @Test
  void olderPostsAreReachedByKeyboardAndStayWhenNewOnesCome() throws Exception {
    start(0);
    var page = signedIn("ivy");
    page.evaluate(
        """
        async () => {
          for (let i = 0; i <= 100; i++) {
            await fetch("/commands/post", {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify({ text: `No. ${i}.` }),
            });
          }
        }""");
    assertThat(posts(page)).hasCount(50);
    var older = page.getByRole(AriaRole.BUTTON, named("Show older posts"));
    older.press("Enter");
    assertThat(posts(page)).hasCount(100);
    assertThat(page.locator("li:has-text('No. 50.')")).isFocused();
    older.press("Enter");
    assertThat(posts(page)).hasCount(101);
    assertThat(page.locator("li:has-text('No. 0.')")).isFocused();
    assertThat(older).isHidden();
    write(page, "A new one");
    assertThat(posts(page)).hasCount(102);
    assertThat(posts(page).first()).hasText("A new one");
    assertThat(posts(page).last()).hasText("No. 0.");
    assertEquals(List.of(), faults);
  }

  @Test
  void theTabsOfABrowserAgreeOnWhoIsSignedIn() throws Exception {
    start(0);
    var context = browser.newContext();
    var first = signedIn(context, "dan");
    var second = open(context.newPage(), "/");
    second.getByRole(AriaRole.BUTTON, named("Sign out")).click();
    assertThat(first.getByLabel("Your name")).isVisible();
    second.getByLabel("Your name").fill("erin");
    second.getByRole(AriaRole.BUTTON, named("Sign in")).click();
    assertThat(first.locator(".who")).hasText("@erin");
    write(first, "As who I look");
    assertPosts(first, "As who I look");
    assertThat(first.locator(".post .author")).hasText("@erin");
    assertPosts(second, "As who I look");
    assertEquals(List.of(), faults);
  }

  /** A browser has six connections to a server, for all tabs together. */
  @Test
  void manyTabsAreLiveAlsoWhereThereAreNoWebSockets() throws Exception {
    start(0);
    var context = browser.newContext();
    context.addInitScript("delete globalThis.WebSocket");
    var tabs = new ArrayList<>(List.of(signedIn(context, "fay")));
    for (int i = 0; i < 4; i++) {
      tabs.add(open(context.newPage(), "/"));
    }
    write(tabs.getFirst(), "To all tabs");
    for (var tab : tabs) {
      assertPosts(tab, "To all tabs");
      assertThat(live(tab)).hasText("Live");
    }
    assertEquals(List.of(), faults);
  }

  @Test
  void pagesStayLiveAndRightWhileNodesAreKilled() throws Exception {
    var chirper = start(0, "--nodes=3");
    var alice = signedIn(chirper.node(1), "alice");
    var bob = signedIn(chirper.node(2), "bob");
    alice.navigate(chirper.node(1).address() + "/@bob");
    alice.getByRole(AriaRole.BUTTON, named("Follow bob")).click();
    assertThat(alice.getByText("1 follower")).isVisible();
    alice.getByRole(AriaRole.LINK, named("Home").setExact(true)).click();
    writeUntilTaken(bob, "One");
    assertPosts(alice, "One");
    watchForPostsThatVanish(alice);
    watchForPostsThatVanish(bob);

    // One that serves neither of them, but has a third of all grains.
    chirper.node(3).kill();
    writeUntilTaken(bob, "Two");
    assertPosts(alice, "Two", "One");
    assertThat(live(alice)).hasText("Live");
    assertThat(live(bob)).hasText("Live");

    // Bob's, so that his page must go elsewhere. Two that die together would be a majority.
    awaitLogged(1, "event=death-agreed");
    chirper.node(2).kill();
    writeUntilTaken(bob, "Three");
    assertPosts(alice, "Three", "Two", "One");
    assertThat(live(alice)).hasText("Live");
    assertThat(live(bob)).hasText("Live");
    writeUntilTaken(alice, "Four");
    assertPosts(alice, "Four", "Three", "Two", "One");
    for (var page : List.of(alice, bob)) {
      assertEquals(List.of(), page.evaluate("vanished"), "posts that vanished");
    }
    assertPosts(signedIn(chirper.node(1), "alice"), "Four", "Three", "Two", "One");
    assertEquals(
        List.of(), faults.stream().filter(fault -> fault.contains("Content Security")).toList());
    assertEquals(0, chirper.end());
  }

  private ChirperProcess start(int port, String... more) throws IOException {
    var chirper = ChirperProcess.start(port, data, more);
    started.add(chirper);
    address = chirper.address();
    return chirper;
  }

  private Page signedIn(String name) {
    return signedIn(browser.newContext(), name);
  }

  private Page signedIn(BrowserContext context, String name) {
    return signIn(open(context.newPage(), "/"), name);
  }

  private Page signedIn(ChirperProcess.Node node, String name) {
    var page = browser.newContext().newPage();
    page.onConsoleMessage(message -> faults.add(message.text()));
    page.navigate(node.address());
    return signIn(page, name);
  }

  private static Page signIn(Page page, String name) {
    page.getByLabel("Your name").fill(name);
    page.getByRole(AriaRole.BUTTON, named("Sign in")).click();
    assertThat(page.getByRole(AriaRole.HEADING, named("Home"))).isVisible();
    return page;
  }

  /** Opens an address; what the browser complains of, as a breach of the page's policy, is kept. */
  private Page open(Page page, String path) {
    page.onPageError(faults::add);
    page.onConsoleMessage(
        message -> {
          if (message.type().equals("error")) {
            faults.add(message.text());
          }
        });
    page.navigate(address + path);
    return page;
  }

  private static void write(Page page, String text) {
    page.getByLabel("New post").fill(text);
    page.getByRole(AriaRole.BUTTON, named("Post").setExact(true)).click();
  }

  /** As somebody who sends it again when told that it may not have been posted. */
  private static void writeUntilTaken(Page page, String text) {
    write(page, text);
    var answered =
        page.locator(".post.failed, .post:not(.sending)")
            .filter(new FilterOptions().setHasText(text));
    var again = page.getByRole(AriaRole.BUTTON, named("Send again"));
    answered.waitFor();
    while (again.isVisible()) {
      again.click();
      answered.waitFor();
    }
  }

  /** Collects in the page's variable "vanished" what is shown at one moment and not at a later. */
  private static void watchForPostsThatVanish(Page page) {
    page.evaluate(
        """
        () => {
          const shown = new Set();
          window.vanished = [];
          const look = () => {
            const texts = document.querySelectorAll(".post:not(.sending):not(.failed) .text");
            const now = new Set([...texts].map((text) => text.textContent));
            shown.forEach((text) => now.has(text) || window.vanished.push(text));
            now.forEach((text) => shown.add(text));
          };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
          look();
        }""");
  }

  /** Waits until a node has told so. */
  private void awaitLogged(int node, String event) throws Exception {
    var log = data.resolve("node-%d.log".formatted(node));
    for (int i = 0; !Files.readString(log).contains(event); i++) {
      assertTrue(i < 600, () -> log + " does not tell of " + event);
      Thread.sleep(100);
    }
  }

  private static void remove(Page page, String text) {
    var post = page.getByRole(AriaRole.ARTICLE).filter(new FilterOptions().setHasText(text));
    post.getByText("Remove").click();
    post.getByText("Really remove?").click();
  }

  /** Waits until the page has these posts, from the newest to the oldest, and no others. */
  private static void assertPosts(Page page, String... texts) {
    assertThat(posts(page)).hasText(texts);
  }

  private static Locator posts(Page page) {
    return page.locator(".post:not(.failed) .text");
  }

  private static Locator live(Page page) {
    return page.locator(".live");
  }

  private static GetByRoleOptions named(String name) {
    return new GetByRoleOptions().setName(name);
  }

  private static HasTextOptions within(double millis) {
    return new HasTextOptions().setTimeout(millis);
  }
}
