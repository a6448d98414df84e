package dev.evergreen.cluster;

import static dev.evergreen.settings.Settings.number;
import static dev.evergreen.settings.Settings.yes;

import dev.evergreen.cluster.links.LinkSecurity;
import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The keys of a node's {@link Settings}: those of its part in a cluster, those of its links, which
 * begin with {@code link-}, and {@link NodeSettings}. What they mean stands in {@code
 * docs/settings.md}.
 */
final class NodeConfiguration {

  /** What the variables of a node begin with. */
  static final String VARIABLES = NodeSettings.VARIABLES;

  private static final String LINK = "link-";

  /** Whether these make sense can be told of each by itself; of the rest when all is known. */
  private static final List<String> BY_THEMSELVES =
      List.of("name", "port", "link-port", "operator-port", "partitions", "join-within");

  private NodeConfiguration() {}

  static void apply(Settings settings, ClusterNode.Builder builder) {
    settings.apply(takers(builder));
    BY_THEMSELVES.forEach(key -> checkByItself(settings, key));
    var changed = settings.changed(builder.settings, "");
    try {
      builder.settings(changed);
    } catch (IllegalArgumentException e) {
      throw settings.refusal("lease-for", "and renew-every do not fit: " + e.getMessage(), e);
    }
    // What is wrong with them is told here, by the file's name; the cluster's name comes later.
    var _ = settings.changed(LinkSettings.of("a-cluster"), LINK);
    builder.links(links -> settings.changed(links, LINK));
    if (settings.get("dns") != null || settings.get("dns-at-least") != null) {
      if (settings.get("seeds") != null) {
        throw settings.refusal(
            settings.get("dns") == null ? "dns-at-least" : "dns",
            "and seeds are both given: the other nodes are found by one of them",
            null);
      }
      applyDns(settings, builder);
    }
    if (settings.keys().stream().anyMatch(key -> key.startsWith("tls-"))) {
      applyTls(settings, builder);
    }
  }

  /** A node that has only this one: so what is wrong has the name by which it was written. */
  private static void checkByItself(Settings settings, String key) {
    var value = settings.get(key);
    if (value != null) {
      try {
        var only = ClusterNode.builder().linkPort(0);
        takers(only).getOrDefault(key, _ -> {}).accept(value);
        only.described();
      } catch (IllegalArgumentException e) {
        throw settings.refusal(key, "is '" + value + "': " + e.getMessage(), e);
      }
    }
  }

  static Map<String, Consumer<String>> takers(ClusterNode.Builder builder) {
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
    takers.put("join-within", value -> builder.joinWithin(Settings.duration(value)));
    takers.put("crash-evidence", value -> builder.crashEvidence = yes(value));
    takers.put("memory-of-each-process", value -> builder.unsharedStorage = yes(value));
    takers.put("plaintext-beyond-this-machine", value -> builder.plaintextAnywhere = yes(value));
    // Those that belong together are taken together, afterwards.
    var together = Settings.keysOf(LinkSettings.class, LINK);
    together.remove(LINK + "cluster"); // is the node's name
    together.addAll(Settings.keysOf(NodeSettings.class, ""));
    together.addAll(List.of("dns", "dns-at-least"));
    together.addAll(List.of("tls-key", "tls-certificates", "tls-authority", "tls-host-names"));
    together.forEach(key -> takers.put(key, _ -> {}));
    return takers;
  }

  private static void applyDns(Settings settings, ClusterNode.Builder builder) {
    var address = settings.needed("dns");
    var atLeast = settings.needed("dns-at-least");
    var key = "dns";
    var value = address;
    try {
      var parsed = Seeds.Address.parse(address);
      key = "dns-at-least";
      value = atLeast;
      builder.seeds(new Seeds.Dns(parsed.host(), parsed.port(), number(atLeast)));
    } catch (IllegalArgumentException e) {
      throw settings.refusal(key, "is '" + value + "': " + e.getMessage(), e);
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
