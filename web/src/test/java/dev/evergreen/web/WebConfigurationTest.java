package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.settings.Settings;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
  void everyLimitHasAKey() throws Exception {
    for (var limit : WebSettings.class.getRecordComponents()) {
      var variable =
          "EVERGREEN_WEB_" + WebConfiguration.key(limit).replace('-', '_').toUpperCase(Locale.ROOT);
      var set = limits(Map.of(variable, "7"));
      var expected = limit.getType() == Duration.class ? Duration.ofMillis(7) : (Object) 7;
      for (var each : WebSettings.class.getRecordComponents()) {
        var untouched = each.getAccessor().invoke(WebSettings.DEFAULT);
        assertEquals(
            each.getName().equals(limit.getName()) ? expected : untouched,
            each.getAccessor().invoke(set),
            variable);
      }
    }
  }

  @Test
  void aServerIsConfiguredByAFileAndWhatIsCalledLaterChangesThat() throws Exception {
    var file = folder.resolve("web.properties");
    Files.writeString(
        file, "port = 1\nallowed-hosts = One.example, two.example\nmax-header-bytes = 3000\n");
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
    refuses("EVERGREEN_WEB_STALL_AFTER_MILLIS", "STALL_AFTER_MILLIS", "0");
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

  /** The page for those who write clients and run servers. */
  @Test
  void everyLimitIsDocumentedWithItsDefault() throws Exception {
    var page = Files.readString(Path.of("../docs/web-protocol.md"));
    for (var limit : WebSettings.class.getRecordComponents()) {
      var row = "| `" + limit.getName() + "` | ";
      // What depends on the heap is told in words.
      var value =
          Set.of("maxHeldBytes", "maxAnswerBytes").contains(limit.getName())
              ? "256 MiB, or a quarter of the heap if that is less"
              : told(limit.getName(), limit.getAccessor().invoke(WebSettings.DEFAULT));
      assertTrue(page.contains(row + value + " | "), () -> row + value);
    }
  }

  private static String told(String name, Object value) {
    if (value instanceof Duration time) {
      return time.toSeconds() + " s";
    }
    int number = (Integer) value;
    if (!name.contains("Bytes")) {
      return String.format(Locale.ROOT, "%,d", number);
    }
    return number < 1 << 20 ? (number >> 10) + " KiB" : (number >> 20) + " MiB";
  }

  private static void refuses(String message, String key, String value) {
    var refused =
        assertThrows(
            IllegalArgumentException.class, () -> limits(Map.of("EVERGREEN_WEB_" + key, value)));
    assertTrue(String.valueOf(refused.getMessage()).contains(message), refused.getMessage());
  }
}
