package dev.evergreen.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a server as text, in the form of those of a cluster's node: from a file, or from the
 * environment, where the same key is written in capitals, with {@code _} for {@code -}, behind
 * {@code EVERGREEN_WEB_}. A key is a method of {@link WebServer.Builder}, or a limit of {@link
 * WebSettings} with hyphens; durations are in milliseconds and say so. A key that is not known is
 * an error, as it may be a misspelt one.
 */
final class WebConfiguration {

  private static final String VARIABLES = "EVERGREEN_WEB_";

  /** Takes the value of a key into a builder. */
  private interface Setting {
    void apply(WebServer.Builder server, WebSettings.Builder limits, String value)
        throws ReflectiveOperationException;
  }

  private static final Map<String, Setting> SETTINGS = new TreeMap<>();

  static {
    SETTINGS.put("port", (server, limits, value) -> server.port(number(value)));
    SETTINGS.put("bind", (server, limits, value) -> server.bind(value));
    SETTINGS.put("allowed-hosts", (server, limits, value) -> server.allowedHosts(list(value)));
    SETTINGS.put("allowed-origins", (server, limits, value) -> server.allowedOrigins(list(value)));
    SETTINGS.put("peers", (server, limits, value) -> server.peers(list(value)));
    for (var limit : WebSettings.class.getRecordComponents()) {
      SETTINGS.put(key(limit), (server, limits, value) -> set(limits, limit, value));
    }
  }

  private final Map<String, String> values;
  private final String prefix;
  private final String where;

  private WebConfiguration(Map<String, String> values, String prefix, String where) {
    this.values = values;
    this.prefix = prefix;
    this.where = where;
  }

  static WebConfiguration of(Path file) {
    var properties = new Properties();
    try (var text = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(text);
    } catch (IOException e) {
      throw new UncheckedIOException("The configuration " + file + " cannot be read: " + e, e);
    }
    var values = new TreeMap<String, String>();
    properties.stringPropertyNames().forEach(key -> values.put(key, properties.getProperty(key)));
    return new WebConfiguration(values, "", "in " + file);
  }

  static WebConfiguration of(Map<String, String> environment) {
    var values = new TreeMap<String, String>();
    environment.forEach(
        (variable, value) -> {
          if (variable.startsWith(VARIABLES)) {
            var key = variable.substring(VARIABLES.length()).toLowerCase(Locale.ROOT);
            values.put(key.replace('_', '-'), value);
          }
        });
    return new WebConfiguration(values, VARIABLES, "in the environment");
  }

  /** Takes all into the builder. */
  void apply(WebServer.Builder server, WebSettings.Builder limits) {
    values.forEach(
        (key, value) -> {
          var setting = SETTINGS.get(key);
          if (setting == null) {
            throw refusal(key, "is none of " + String.join(", ", SETTINGS.keySet()), null);
          }
          try {
            setting.apply(server, limits, value.strip());
          } catch (IllegalArgumentException | ReflectiveOperationException e) {
            throw refusal(key, "is '" + value + "': " + e.getMessage(), e);
          }
        });
  }

  private IllegalArgumentException refusal(String key, String what, @Nullable Exception cause) {
    var name = prefix.isEmpty() ? key : prefix + key.toUpperCase(Locale.ROOT).replace('-', '_');
    return new IllegalArgumentException("%s %s %s".formatted(name, where, what), cause);
  }

  /** {@code maxConnections} is {@code max-connections}, a duration ends with {@code -millis}. */
  static String key(RecordComponent limit) {
    var hyphened = limit.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    return limit.getType() == Duration.class ? hyphened + "-millis" : hyphened;
  }

  private static void set(WebSettings.Builder limits, RecordComponent limit, String value)
      throws ReflectiveOperationException {
    int n = number(value);
    if (n <= 0) {
      throw new IllegalArgumentException("it must be positive");
    }
    WebSettings.Builder.class
        .getMethod(limit.getName(), limit.getType())
        .invoke(limits, limit.getType() == Duration.class ? Duration.ofMillis(n) : (Object) n);
  }

  private static int number(String value) {
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it must be a whole number", e);
    }
  }

  private static String[] list(String value) {
    return value.split("\\s*,\\s*", -1);
  }
}
