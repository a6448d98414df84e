package dev.evergreen.web;

import static dev.evergreen.settings.Settings.number;

import dev.evergreen.settings.Settings;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The keys of a server's {@link Settings}. A key is a method of {@link WebServer.Builder}, or a
 * limit of {@link WebSettings} with hyphens; durations are in milliseconds and say so.
 */
final class WebConfiguration {

  /** What the variables of a server begin with. */
  static final String VARIABLES = "EVERGREEN_WEB_";

  /** What the keys of reverse proxies begin with: one for each way to say who the client is. */
  private static final String BEHIND = "behind-";

  private WebConfiguration() {}

  /** Returns the limits with those that are set. */
  static WebSettings apply(Settings settings, WebServer.Builder server, WebSettings limits) {
    var changed = new WebSettings[] {limits};
    settings.apply(takers(server, changed));
    var behind = settings.keys().stream().filter(key -> key.startsWith(BEHIND)).toList();
    if (behind.size() > 1) {
      throw settings.refusal(
          behind.getLast(), "cannot be beside " + behind.getFirst() + ": choose one way", null);
    }
    return changed[0];
  }

  private static Map<String, Consumer<String>> takers(
      WebServer.Builder server, WebSettings[] limits) {
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
    takers.put("peers", value -> server.peers(list(value)));
    for (var limit : WebSettings.class.getRecordComponents()) {
      takers.put(key(limit), value -> limits[0] = with(limits[0], limit, value));
    }
    return takers;
  }

  /** {@code maxConnections} is {@code max-connections}, a duration ends with {@code -millis}. */
  static String key(RecordComponent limit) {
    var hyphened = limit.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    return limit.getType() == Duration.class ? hyphened + "-millis" : hyphened;
  }

  private static WebSettings with(WebSettings limits, RecordComponent limit, String value) {
    int n = number(value);
    if (n <= 0) {
      throw new IllegalArgumentException("it must be positive");
    }
    var name = limit.getName();
    try {
      var changed =
          WebSettings.class
              .getMethod(
                  "with" + Character.toUpperCase(name.charAt(0)) + name.substring(1),
                  limit.getType())
              .invoke(
                  limits, limit.getType() == Duration.class ? Duration.ofMillis(n) : (Object) n);
      return (WebSettings) changed;
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static String[] list(String value) {
    return Settings.list(value).toArray(String[]::new);
  }
}
