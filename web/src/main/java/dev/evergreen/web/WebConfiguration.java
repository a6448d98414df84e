package dev.evergreen.web;

import static dev.evergreen.settings.Settings.number;

import dev.evergreen.settings.Settings;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The keys of a server's {@link Settings}. A key is a method of {@link WebServer.Builder}, or a
 * limit of {@link WebSettings}, with hyphens. What they mean stands in {@code docs/settings.md}.
 */
final class WebConfiguration {

  /** What the variables of a server begin with. */
  static final String VARIABLES = "EVERGREEN_WEB_";

  /** What the keys of reverse proxies begin with: one for each way to say who the client is. */
  private static final String BEHIND = "behind-";

  private WebConfiguration() {}

  /** Returns the limits with those that are set. */
  static WebSettings apply(Settings settings, WebServer.Builder server, WebSettings limits) {
    settings.apply(takers(server));
    var behind = settings.keys().stream().filter(key -> key.startsWith(BEHIND)).toList();
    if (behind.size() > 1) {
      throw settings.refusal(
          behind.getLast(), "cannot be beside " + behind.getFirst() + ": choose one way", null);
    }
    return settings.changed(limits, "");
  }

  static Map<String, Consumer<String>> takers(WebServer.Builder server) {
    var takers = new HashMap<String, Consumer<String>>();
    takers.put("port", value -> server.port(number(value)));
    takers.put("bind", server::bind);
    takers.put("allowed-hosts", value -> server.allowedHosts(list(value)));
    takers.put("allowed-origins", value -> server.allowedOrigins(list(value)));
    takers.put(BEHIND + "forwarded", value -> server.behind(Proxies.forwarded(list(value))));
    takers.put(
        BEHIND + "x-forwarded-for", value -> server.behind(Proxies.xForwardedFor(list(value))));
    takers.put(
        BEHIND + "proxy-protocol", value -> server.behind(Proxies.proxyProtocol(list(value))));
    takers.put("compressed", value -> server.compressed(Settings.yes(value)));
    takers.put("access-log", value -> server.accessLog(value.equals("-") ? null : Path.of(value)));
    takers.put("peers", value -> server.peers(list(value)));
    // Limits are taken together, afterwards.
    Settings.keysOf(WebSettings.class, "").forEach(key -> takers.put(key, _ -> {}));
    return takers;
  }

  private static String[] list(String value) {
    return Settings.list(value).toArray(String[]::new);
  }
}
