package dev.evergreen.cluster;

import dev.evergreen.cluster.links.LinkSecurity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a node as text: from a file, or from the environment, where the same key is written
 * in capitals, with {@code _} for {@code -}, behind {@code EVERGREEN_NODE_}. What the keys mean
 * stands in {@code docs/operations.md}. A key that is not known is an error, as it may be a
 * misspelt one.
 */
final class NodeConfiguration {

  private static final String VARIABLES = "EVERGREEN_NODE_";

  /** Takes the value of a key into a builder. */
  private interface Setting {
    void apply(ClusterNode.Builder builder, String value);
  }

  private static final Map<String, Setting> SETTINGS = new TreeMap<>();

  static {
    SETTINGS.put("name", ClusterNode.Builder::name);
    SETTINGS.put("host", (builder, value) -> builder.host = value);
    SETTINGS.put("port", (builder, value) -> builder.port = number(value));
    SETTINGS.put("bind", ClusterNode.Builder::bind);
    SETTINGS.put("link-port", (builder, value) -> builder.linkPort(number(value)));
    SETTINGS.put("operator-port", (builder, value) -> builder.operator(number(value)));
    SETTINGS.put("seeds", (builder, value) -> builder.seeds(value.split("\\s*,\\s*", -1)));
    SETTINGS.put("hosts-grains", (builder, value) -> builder.hosts = yes(value));
    SETTINGS.put("partitions", (builder, value) -> builder.partitions(number(value)));
    SETTINGS.put(
        "join-within-seconds",
        (builder, value) -> builder.joinWithin(Duration.ofSeconds(number(value))));
    SETTINGS.put("crash-evidence", (builder, value) -> builder.crashEvidence = yes(value));
    SETTINGS.put(
        "memory-of-each-process", (builder, value) -> builder.unsharedStorage = yes(value));
    SETTINGS.put(
        "plaintext-beyond-this-machine",
        (builder, value) -> builder.plaintextAnywhere = yes(value));
    // Those that belong together
    for (var part : new String[] {"dns", "dns-at-least", "tls-key", "tls-certificates"}) {
      SETTINGS.put(part, (builder, value) -> {});
    }
    SETTINGS.put("tls-authority", (builder, value) -> {});
    SETTINGS.put("tls-host-names", (builder, value) -> {});
  }

  private final ClusterNode.Builder builder;
  private final Map<String, String> values;
  private final String prefix;
  private final String where;

  private NodeConfiguration(
      ClusterNode.Builder builder, Map<String, String> values, String prefix, String where) {
    this.builder = builder;
    this.values = values;
    this.prefix = prefix;
    this.where = where;
  }

  static void of(Path file, ClusterNode.Builder builder) {
    var properties = new Properties();
    try (var text = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(text);
    } catch (IOException e) {
      throw new UncheckedIOException("The configuration " + file + " cannot be read: " + e, e);
    }
    var values = new TreeMap<String, String>();
    properties.stringPropertyNames().forEach(key -> values.put(key, properties.getProperty(key)));
    new NodeConfiguration(builder, values, "", "in " + file).apply();
  }

  static void of(Map<String, String> environment, ClusterNode.Builder builder) {
    var values = new TreeMap<String, String>();
    environment.forEach(
        (variable, value) -> {
          if (variable.startsWith(VARIABLES)) {
            var key = variable.substring(VARIABLES.length()).toLowerCase(Locale.ROOT);
            values.put(key.replace('_', '-'), value);
          }
        });
    new NodeConfiguration(builder, values, VARIABLES, "in the environment").apply();
  }

  private void apply() {
    values.forEach(
        (key, value) -> {
          var setting = SETTINGS.get(key);
          if (setting == null) {
            throw refusal(key, "is none of " + String.join(", ", SETTINGS.keySet()), null);
          }
          try {
            setting.apply(builder, value.strip());
          } catch (IllegalArgumentException e) {
            throw refusal(key, "is '" + value + "': " + e.getMessage(), e);
          }
        });
    if (values.containsKey("dns") || values.containsKey("dns-at-least")) {
      applyDns();
    }
    if (values.keySet().stream().anyMatch(key -> key.startsWith("tls-"))) {
      applyTls();
    }
  }

  private void applyDns() {
    var address = needed("dns");
    var atLeast = needed("dns-at-least");
    try {
      var parsed = Seeds.Address.parse(address);
      builder.seeds(new Seeds.Dns(parsed.host(), parsed.port(), number(atLeast)));
    } catch (IllegalArgumentException e) {
      throw refusal("dns", "is '%s', %s: %s".formatted(address, atLeast, e.getMessage()), e);
    }
  }

  private void applyTls() {
    var key = Path.of(needed("tls-key"));
    var certificates = Path.of(needed("tls-certificates"));
    var authority = Path.of(needed("tls-authority"));
    try {
      var security = LinkSecurity.of(key, certificates, authority);
      boolean names = yes(values.getOrDefault("tls-host-names", "true").strip());
      builder.security(names ? security : security.withoutHostNames());
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw refusal("tls-*", "cannot be used: " + e.getMessage(), e);
    }
  }

  private String needed(String key) {
    var value = values.get(key);
    if (value == null) {
      throw refusal(key, "is missing, which those given need: " + values.keySet(), null);
    }
    return value.strip();
  }

  private IllegalArgumentException refusal(String key, String what, @Nullable Exception cause) {
    var name = prefix.isEmpty() ? key : prefix + key.toUpperCase(Locale.ROOT).replace('-', '_');
    return new IllegalArgumentException("%s %s %s".formatted(name, where, what), cause);
  }

  private static int number(String value) {
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it must be a whole number", e);
    }
  }

  private static boolean yes(String value) {
    return switch (value) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("it must be true or false");
    };
  }
}
