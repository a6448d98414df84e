package dev.evergreen.cluster;

import static dev.evergreen.settings.Settings.number;
import static dev.evergreen.settings.Settings.yes;

import dev.evergreen.cluster.links.LinkSecurity;
import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/** The keys of a node's {@link Settings}. What they mean stands in {@code docs/operations.md}. */
final class NodeConfiguration {

  /** What the variables of a node begin with. */
  static final String VARIABLES = "EVERGREEN_NODE_";

  private NodeConfiguration() {}

  static void apply(Settings settings, ClusterNode.Builder builder) {
    settings.apply(takers(builder));
    if (settings.get("dns") != null || settings.get("dns-at-least") != null) {
      applyDns(settings, builder);
    }
    if (settings.keys().stream().anyMatch(key -> key.startsWith("tls-"))) {
      applyTls(settings, builder);
    }
  }

  private static Map<String, Consumer<String>> takers(ClusterNode.Builder builder) {
    var takers = new HashMap<String, Consumer<String>>();
    takers.put("name", builder::name);
    takers.put("host", value -> builder.host = value);
    takers.put("port", value -> builder.port = number(value));
    takers.put("bind", builder::bind);
    takers.put("link-port", value -> builder.linkPort(number(value)));
    takers.put("operator-port", value -> builder.operator(number(value)));
    takers.put("seeds", value -> builder.seeds(Settings.list(value).toArray(String[]::new)));
    takers.put("hosts-grains", value -> builder.hosts = yes(value));
    takers.put("partitions", value -> builder.partitions(number(value)));
    takers.put(
        "join-within-seconds", value -> builder.joinWithin(Duration.ofSeconds(number(value))));
    takers.put("crash-evidence", value -> builder.crashEvidence = yes(value));
    takers.put("memory-of-each-process", value -> builder.unsharedStorage = yes(value));
    takers.put("plaintext-beyond-this-machine", value -> builder.plaintextAnywhere = yes(value));
    // Those that belong together are taken together, afterwards.
    for (var part : new String[] {"dns", "dns-at-least", "tls-key", "tls-certificates"}) {
      takers.put(part, _ -> {});
    }
    takers.put("tls-authority", _ -> {});
    takers.put("tls-host-names", _ -> {});
    return takers;
  }

  private static void applyDns(Settings settings, ClusterNode.Builder builder) {
    var address = settings.needed("dns");
    var atLeast = settings.needed("dns-at-least");
    try {
      var parsed = Seeds.Address.parse(address);
      builder.seeds(new Seeds.Dns(parsed.host(), parsed.port(), number(atLeast)));
    } catch (IllegalArgumentException e) {
      throw settings.refusal(
          "dns", "is '%s', %s: %s".formatted(address, atLeast, e.getMessage()), e);
    }
  }

  private static void applyTls(Settings settings, ClusterNode.Builder builder) {
    var key = Path.of(settings.needed("tls-key"));
    var certificates = Path.of(settings.needed("tls-certificates"));
    var authority = Path.of(settings.needed("tls-authority"));
    try {
      var security = LinkSecurity.of(key, certificates, authority);
      boolean names = yes(Objects.requireNonNullElse(settings.get("tls-host-names"), "true"));
      builder.security(names ? security : security.withoutHostNames());
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw settings.refusal("tls-*", "cannot be used: " + e.getMessage(), e);
    }
  }
}
