package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.microsoft.playwright.Page;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Deque's checker of accessibility, which npm brings with the packages of Chirper's page. */
final class Axe {

  private static final Path SOURCE = Path.of("page", "node_modules", "axe-core", "axe.min.js");

  private Axe() {}

  /**
   * Fails if it finds anything wrong with the page as it is now; the message says what and where.
   */
  static void check(Page page) throws IOException {
    page.evaluate(Files.readString(SOURCE));
    var found =
        page.evaluate(
            """
            async () => {
              const { violations } = await axe.run();
              return violations
                .flatMap(({ id, help, nodes }) =>
                  nodes.map((node) => `${id} (${help}): ${node.html} ${node.failureSummary}`))
                .join("\\n");
            }""");
    assertEquals("", found, page.url());
  }
}
