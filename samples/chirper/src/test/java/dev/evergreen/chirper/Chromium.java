package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType.LaunchOptions;
import com.microsoft.playwright.Playwright;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Debian's browser, which Playwright drives instead of one that it would download. */
final class Chromium {

  private static final Path PROGRAM = Path.of("/usr/bin/chromium");

  private Chromium() {}

  /** Skips the test where there is none. */
  static void assumeInstalled() {
    assumeTrue(Files.isExecutable(PROGRAM), "there is no " + PROGRAM);
  }

  static Playwright playwright() {
    return Playwright.create(
        new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
  }

  static Browser launch(Playwright playwright) {
    return playwright
        .chromium()
        .launch(
            new LaunchOptions()
                .setExecutablePath(PROGRAM)
                .setArgs(
                    List.of(
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--disable-sync")));
  }
}
