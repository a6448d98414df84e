package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.settings.Settings;
import dev.evergreen.settings.SettingsPage;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings of a server from a file and from the environment. */
final class WebConfigurationTest {

  @TempDir private Path folder;

  private static WebSettings limits(Map<String, String> environment) {
    try (var node = EmbeddedNode.builder().start()) {
      return WebConfiguration.apply(
          Settings.of(environment, WebConfiguration.VARIABLES),
          WebServer.builder(node),
          WebSettings.DEFAULT);
    }
  }

  @Test
  void limitsAreSetByTheirNames() {
    assertEquals(
        WebSettings.DEFAULT
            .withMaxViews(7)
            .withMaxHeldBytes(64 << 20)
            .withStallAfter(Duration.ofMillis(250)),
        limits(
            Map.of(
                "EVERGREEN_WEB_MAX_VIEWS", "7",
                "EVERGREEN_WEB_MAX_HELD_BYTES", "64MiB",
                "EVERGREEN_WEB_STALL_AFTER", "250ms")));
  }

  @Test
  void aServerIsConfiguredByAFileAndWhatIsCalledLaterChangesThat() throws Exception {
    var file = folder.resolve("web.properties");
    Files.writeString(
        file, "port = 1\nallowed-hosts = One.example, two.example\nmax-header-bytes = 3000B\n");
    try (var node = EmbeddedNode.builder().start();
        var server = WebServer.builder(node).configuredBy(file).port(0).start()) {
      assertTrue(server.port() > 1);
      for (var host : Arrays.asList("one.example", "two.example")) {
        assertEquals(404, status(server, host, ""));
      }
      assertEquals(421, status(server, "three.example", ""));
      assertEquals(431, status(server, "one.example", "X: " + "x".repeat(3_000) + "\r\n"));
    }
  }

  private static int status(WebServer server, String host, String headers) throws Exception {
    try (var client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      var request = "GET /nothing HTTP/1.1\r\nHost: %s\r\n%s\r\n".formatted(host, headers);
      client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      var answer = new String(client.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
      return Integer.parseInt(answer.substring("HTTP/1.1 ".length()));
    }
  }

  @Test
  void whatMakesNoSenseIsRefusedByName() {
    refuses("EVERGREEN_WEB_MAX_VEIWS in the environment is none of ", "MAX_VEIWS", "1");
    refuses("it must be a whole number", "MAX_VIEWS", "many");
    refuses("EVERGREEN_WEB_STALL_AFTER in the environment makes no sense", "STALL_AFTER", "0s");
    refuses("it must be a time with its unit", "HEARTBEAT_EVERY", "15000");
    refuses("it must be a size with its unit", "MAX_RESULT_BYTES", "4194304");
    refuses("An origin is written as", "PEERS", "two.example");
    refuses("A network is written as", "BEHIND_FORWARDED", "proxy.example");
  }

  @Test
  void theProxiesAreNamedInOneWay() throws Exception {
    for (var way : new String[] {"behind-forwarded", "behind-x-forwarded-for"}) {
      var file = folder.resolve("proxies.properties");
      Files.writeString(file, way + " = 127.0.0.1, 10.0.0.0/8\n");
      try (var node = EmbeddedNode.builder().start();
          var server =
              WebServer.builder(node)
                  .configuredBy(file)
                  .port(0)
                  .route("GET", "/who", request -> Reply.text(request.remoteAddress()))
                  .start()) {
        var header = way.substring("behind-".length());
        var value = header.equals("forwarded") ? "for=192.0.2.7" : "192.0.2.7";
        assertEquals("192.0.2.7", Http.get(server, "/who", header, value).body());
      }
    }
    var both =
        Map.of(
            "EVERGREEN_WEB_BEHIND_FORWARDED", "::1", "EVERGREEN_WEB_BEHIND_PROXY_PROTOCOL", "::1");
    var refused = assertThrows(IllegalArgumentException.class, () -> limits(both));
    assertEquals(
        "EVERGREEN_WEB_BEHIND_PROXY_PROTOCOL in the environment cannot be beside behind-forwarded:"
            + " choose one way",
        refused.getMessage());
  }

  /** Each default of the page, given as a setting, changes nothing. */
  @Test
  void thePageOfSettingsHasEachKeyWithItsDefault() throws Exception {
    var limits = SettingsPage.section("Limits of a web server");
    assertEquals(Settings.keysOf(WebSettings.class, ""), limits.keySet());
    var inWords =
        limits.entrySet().stream()
            .filter(row -> row.getValue().isEmpty())
            .map(Map.Entry::getKey)
            .toList();
    // What depends on the heap.
    assertEquals(List.of("max-answer-bytes", "max-held-bytes"), inWords);
    var file = Files.writeString(folder.resolve("page"), SettingsPage.defaults(limits));
    assertEquals(WebSettings.DEFAULT, Settings.of(file).changed(WebSettings.DEFAULT, ""));
    limits.putAll(SettingsPage.section("A web server"));
    try (var node = EmbeddedNode.builder().start()) {
      assertEquals(WebConfiguration.takers(WebServer.builder(node)).keySet(), limits.keySet());
    }
  }

  private static void refuses(String message, String key, String value) {
    var refused =
        assertThrows(
            IllegalArgumentException.class, () -> limits(Map.of("EVERGREEN_WEB_" + key, value)));
    assertTrue(String.valueOf(refused.getMessage()).contains(message), refused.getMessage());
  }
}
