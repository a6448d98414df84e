package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.microsoft.playwright.Locator.FilterOptions;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What people see when servers are killed, and that nothing of theirs is lost. */
final class KilledServersBrowserTest extends PageInABrowser {

  /** A page that lost its server tries again in longer and longer pauses. */
  private static final double RECONNECT_MILLIS = 20_000;

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
}
