package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.microsoft.playwright.Browser.NewContextOptions;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.ScreenshotOptions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ReducedMotion;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The page of one server: at all widths, by keyboard, in several tabs. */
final class BrowserTest extends PageInABrowser {

  /** Where to put pictures of the pages, for people to look at; none by default. */
  private static final String PICTURES = System.getProperty("evergreen.pictures", "");

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
}
