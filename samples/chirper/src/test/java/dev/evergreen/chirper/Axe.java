package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.Page.EmulateMediaOptions;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ReducedMotion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Deque's checker of accessibility, which npm brings with the packages of Chirper's page. */
final class Axe {

  private static final Path SOURCE = Path.of("page", "node_modules", "axe-core", "axe.min.js");

  private Axe() {}

  /**
   * Fails if it finds anything wrong with the page as it is now, in light and in dark; the message
   * says what and where. Both have the same elements, so in dark it looks at the colours only.
   *
   * @param seen called in either, as to take a picture
   */
  static void check(Page page, Consumer<ColorScheme> seen) throws IOException {
    page.evaluate(Files.readString(SOURCE));
    check(page, ColorScheme.LIGHT, "{}", seen);
    check(page, ColorScheme.DARK, "{ runOnly: 'color-contrast' }", seen);
  }

  private static void check(
      Page page, ColorScheme scheme, String options, Consumer<ColorScheme> seen) {
    page.emulateMedia(
        new EmulateMediaOptions().setColorScheme(scheme).setReducedMotion(ReducedMotion.REDUCE));
    // The colours are those of the scheme in the next frame, when their transitions have ended.
    page.evaluate(
        """
        async () => {
          await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
          const moving = document.getAnimations().filter((each) => each instanceof CSSTransition);
          await Promise.all(moving.map(({ finished }) => finished));
        }""");
    seen.accept(scheme);
    var found =
        page.evaluate(
            """
            async () => {
              const { violations } = await axe.run(%s);
              return violations
                .flatMap(({ id, help, nodes }) =>
                  nodes.map((node) => `${id} (${help}): ${node.html} ${node.failureSummary}`))
                .join("\\n");
            }"""
                .formatted(options));
    assertEquals("", found, page.url() + " in " + scheme);
  }
}
