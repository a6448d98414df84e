package dev.evergreen.chirper;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.microsoft.playwright.Browser.NewContextOptions;
import com.sun.net.httpserver.HttpServer;
import dev.evergreen.http.Origin;
import dev.evergreen.proxy.Proxy;
import dev.evergreen.proxy.ProxySettings;
import dev.evergreen.proxy.storage.StorageOptions;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The proxy's page for operators in a real browser. Needs a Chromium. */
final class ProxyPageBrowserTest {
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  @BeforeAll
  static void needsABrowser() {
    Chromium.assumeInstalled();
  }

  @Test
  void everybodyCanUseThePage() throws Exception {
    var server = HttpServer.create(ANY, 0);
    server.createContext("/", exchange -> exchange.sendResponseHeaders(204, -1));
    server.start();
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(List.of(ANY))
            .withAdmin(ANY)
            .withOrigins(List.of(new Origin(false, "127.0.0.1", server.getAddress().getPort())))
            .withStorage(StorageOptions.memory(1 << 20))
            .withProcessors(1);
    try (var proxy = Proxy.start(settings);
        var playwright = Chromium.playwright();
        var browser = Chromium.launch(playwright)) {
      var port = proxy.addresses().getFirst().getPort();
      try (var asked = URI.create("http://127.0.0.1:" + port + "/hot").toURL().openStream()) {
        assertEquals(0, asked.readAllBytes().length);
      }
      for (int width : new int[] {1200, 360}) {
        var context = browser.newContext(new NewContextOptions().setViewportSize(width, 900));
        var page = context.newPage();
        var admin = Objects.requireNonNull(proxy.admin()).getPort();
        page.navigate("http://127.0.0.1:" + admin + "/");
        assertThat(page.locator("#state")).hasAttribute("data-state", "live");
        assertThat(page.getByText("/hot").first()).isVisible();
        Axe.check(page, scheme -> {});
        context.close();
      }
    } finally {
      server.stop(0);
    }
  }
}
