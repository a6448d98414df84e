package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.GetByRoleOptions;
import com.microsoft.playwright.Page.ScreenshotOptions;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.LocatorAssertions.IsVisibleOptions;
import com.microsoft.playwright.options.AriaRole;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * The page of a project that {@code ./evergreen new} has made and whose page is built, served by
 * its own command. {@code ./test --only new} runs it, as it needs the project's folder: {@code
 * -Devergreen.new=DIR}.
 */
final class NewProjectPage {

  private static final Path PROJECT =
      Path.of(Objects.requireNonNull(System.getProperty("evergreen.new"), "-Devergreen.new=DIR"));

  /** Where to put a picture of the page; none by default. */
  private static final String PICTURES = System.getProperty("evergreen.pictures", "");

  private static final String ANNOUNCEMENT = "It is at ";

  private final List<String> faults = new ArrayList<>();

  @Test
  void aClickInOneWindowShowsInTheOther() throws Exception {
    var server =
        new ProcessBuilder("mvn", "-B", "-ntp", "-q", "compile", "exec:java", "-Dexec.args=0")
            .directory(PROJECT.toFile())
            .redirectErrorStream(true)
            .start();
    try (Playwright playwright = Chromium.playwright();
        Browser browser = Chromium.launch(playwright)) {
      var address = address(server);
      var one = open(browser, address);
      var two = open(browser, address);
      assertThat(one.getByText("0 apples")).isVisible(PATIENCE);
      assertThat(two.getByText("0 pears")).isVisible(PATIENCE);
      one.getByRole(AriaRole.BUTTON, new GetByRoleOptions().setName("Add one of the apples"))
          .click();
      assertThat(two.getByText("1 apples")).isVisible(PATIENCE);
      assertThat(one.getByText("1 apples")).isVisible(PATIENCE);
      assertThat(two.getByText("0 pears")).isVisible(PATIENCE);
      if (!PICTURES.isEmpty()) {
        two.screenshot(new ScreenshotOptions().setPath(Path.of(PICTURES, "new.png")));
      }
      Axe.check(one, scheme -> {});
      assertEquals(List.of(), faults);
    } finally {
      server.descendants().forEach(ProcessHandle::destroy);
      server.destroy();
    }
  }

  private static final IsVisibleOptions PATIENCE = new IsVisibleOptions().setTimeout(20_000);

  private static String address(Process server) throws IOException {
    var output = server.inputReader();
    var said = new ArrayList<String>();
    for (var line = output.readLine(); line != null; line = output.readLine()) {
      if (line.startsWith(ANNOUNCEMENT)) {
        return line.substring(ANNOUNCEMENT.length());
      }
      said.add(line);
    }
    throw new IOException("The project ended and said: " + said);
  }

  private Page open(Browser browser, String address) {
    var page = browser.newContext().newPage();
    page.onConsoleMessage(
        message -> {
          if (List.of("error", "warning").contains(message.type())) {
            faults.add(message.type() + ": " + message.text());
          }
        });
    page.onPageError(error -> faults.add("uncaught: " + error));
    page.navigate(address);
    return page;
  }
}
