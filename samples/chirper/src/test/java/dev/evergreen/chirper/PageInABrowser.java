package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Locator.FilterOptions;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.GetByRoleOptions;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import com.microsoft.playwright.options.AriaRole;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * Chirper as people use it: a browser, and a server in a process of its own. Needs the page, which
 * npm builds, and a Chromium of the system.
 */
abstract class PageInABrowser extends InABrowser {

  @TempDir Path data;
  final List<ChirperProcess> started = new ArrayList<>();
  String address = "";

  @BeforeAll
  static void needsAPage() {
    assumeTrue(
        PageInABrowser.class.getResource("/page/index.html") != null,
        "the page is not built: npm ci && npm run build in samples/chirper/page");
    PlaywrightAssertions.setDefaultAssertionTimeout(PATIENCE_MILLIS);
  }

  @AfterEach
  void stop() {
    closeWindows();
    started.forEach(ChirperProcess::close);
  }

  ChirperProcess start(int port, String... more) throws IOException {
    var chirper = ChirperProcess.start(port, data, more);
    started.add(chirper);
    address = chirper.address();
    return chirper;
  }

  Page signedIn(String name) {
    return signedIn(browser.newContext(), name);
  }

  Page signedIn(BrowserContext context, String name) {
    return signIn(open(context.newPage(), "/"), name);
  }

  Page signedIn(ChirperProcess.Node node, String name) {
    var page = browser.newContext().newPage();
    page.onConsoleMessage(message -> faults.add(message.text()));
    page.navigate(node.address());
    return signIn(page, name);
  }

  static Page signIn(Page page, String name) {
    page.getByLabel("Your name").fill(name);
    page.getByRole(AriaRole.BUTTON, named("Sign in")).click();
    assertThat(page.getByRole(AriaRole.HEADING, named("Home"))).isVisible();
    return page;
  }

  /** Opens an address; what the browser complains of, as a breach of the page's policy, is kept. */
  Page open(Page page, String path) {
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

  static void write(Page page, String text) {
    page.getByLabel("New post").fill(text);
    page.getByRole(AriaRole.BUTTON, named("Post").setExact(true)).click();
  }

  static void remove(Page page, String text) {
    var post = page.getByRole(AriaRole.ARTICLE).filter(new FilterOptions().setHasText(text));
    post.getByText("Remove").click();
    post.getByText("Really remove?").click();
  }

  /** Waits until the page has these posts, from the newest to the oldest, and no others. */
  static void assertPosts(Page page, String... texts) {
    assertThat(posts(page)).hasText(texts);
  }

  static Locator posts(Page page) {
    return page.locator(".post:not(.failed) .text");
  }

  static Locator live(Page page) {
    return page.locator(".live");
  }

  static GetByRoleOptions named(String name) {
    return new GetByRoleOptions().setName(name);
  }
}
