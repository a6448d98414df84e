package dev.evergreen.chirper;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.LocatorAssertions.HasTextOptions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Tests by one browser, as its start takes seconds; each has windows and cookies of its own. */
abstract class InABrowser {

  static final double PATIENCE_MILLIS = 15_000;

  private static @Nullable Playwright playwright;
  static Browser browser;

  final List<String> faults = new ArrayList<>();

  @BeforeAll
  static void launch() {
    Chromium.assumeInstalled();
    var driver = Chromium.playwright();
    playwright = driver;
    browser = Chromium.launch(driver);
  }

  @AfterAll
  static void end() {
    if (playwright != null) {
      playwright.close();
    }
  }

  /** To be called after each test, before what it serves ends. */
  static void closeWindows() {
    browser.contexts().forEach(BrowserContext::close);
  }

  static HasTextOptions within(double millis) {
    return new HasTextOptions().setTimeout(millis);
  }
}
