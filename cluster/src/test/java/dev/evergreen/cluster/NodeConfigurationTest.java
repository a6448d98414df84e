package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.settings.Settings;
import dev.evergreen.settings.SettingsPage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings from a file and from the environment. */
final class NodeConfigurationTest {

  private final Path file;

  NodeConfigurationTest(@TempDir Path directory) {
    this.file = directory.resolve("node.properties");
  }

  private ClusterNode.Builder configured(String text) throws IOException {
    Files.writeString(file, text);
    return ClusterNode.builder().configuredBy(file);
  }

  @Test
  void aFileSaysWhatTheBuildersMethodsDo() throws IOException {
    var builder =
        configured(
            """
            # of the first machine
            name = shop
            host = 10.0.0.1
            port = 4000
            hosts-grains = false
            crash-evidence = true
            plaintext-beyond-this-machine = true
            memory-of-each-process = true
            bind = 0.0.0.0
            link-port = 4005
            operator-port = 4006
            partitions = 64
            join-within = 7s
            call-timeout = 3s
            max-value-bytes = 1MiB
            overwrite-newer = true
            link-dead-after = 9s
            link-first-pause = 3s
            link-longest-pause = 4s
            seeds = 10.0.0.1:4000, 10.0.0.2:4000
            """);
    assertFalse(builder.hosts);
    assertTrue(builder.unsharedStorage);
    var settings = builder.described();
    assertEquals(
        "shop 10.0.0.1 0.0.0.0",
        String.join(" ", settings.name(), settings.host(), settings.bindHost()));
    assertEquals(4000, settings.port());
    assertEquals(4005, settings.linkPort());
    assertEquals(4006, settings.operatorPort().orElseThrow());
    assertEquals(64, settings.partitions());
    assertEquals(7, settings.joinWithin().toSeconds());
    assertEquals("[10.0.0.1:4000, 10.0.0.2:4000]", settings.seeds().toString());
    assertTrue(settings.crashEvidence() && settings.plaintextAnywhere());
    assertEquals(
        NodeSettings.DEFAULT
            .withCallTimeout(Duration.ofSeconds(3))
            .withMaxValueBytes(1 << 20)
            .withOverwriteNewer(true),
        builder.settings);
    assertEquals(
        LinkSettings.of("shop")
            .withDeadAfter(Duration.ofSeconds(9))
            .withPauses(Duration.ofSeconds(3), Duration.ofSeconds(4)),
        builder.links.apply(LinkSettings.of("shop")));
  }

  @Test
  void whatIsCalledLaterChangesTheLimitsOfLinksThatAFileGave() throws IOException {
    var builder = configured("link-max-message-bytes = 1MiB\nlink-max-handshakes = 7");
    builder.links(links -> links.withMaxMessageBytes(2 << 20));
    var links = builder.links.apply(LinkSettings.of("shop"));
    assertEquals(2 << 20, links.maxMessageBytes());
    assertEquals(7, links.maxHandshakes());
  }

  /** Each default of the page, given as a setting, changes nothing. */
  @Test
  void thePageOfSettingsHasEachKeyWithItsDefault() throws IOException {
    var page = SettingsPage.section("Grains and computations");
    page.putAll(SettingsPage.section("Links between nodes"));
    assertFalse(page.containsValue(Optional.empty()), page::toString);
    page.putAll(SettingsPage.section("A node in a cluster"));
    var untouched = ClusterNode.builder();
    assertEquals(NodeConfiguration.takers(untouched).keySet(), page.keySet());
    var builder = configured(SettingsPage.defaults(page));
    assertEquals(untouched.described(), builder.described());
    assertEquals(NodeSettings.DEFAULT, builder.settings);
    assertEquals(LinkSettings.of("shop"), builder.links.apply(LinkSettings.of("shop")));
    assertEquals(untouched.unsharedStorage, builder.unsharedStorage);
  }

  @Test
  void theEnvironmentSaysTheSameInItsOwnStyleAndWhatIsCalledLaterCounts() throws IOException {
    var builder = configured("port = 4000\nname = shop");
    var environment =
        Map.of("EVERGREEN_NODE_PORT", "5000", "EVERGREEN_NODE_LINK_PORT", "5005", "PATH", "/bin");
    NodeConfiguration.apply(Settings.of(environment, NodeConfiguration.VARIABLES), builder);
    assertEquals(5000, builder.described().port());
    assertEquals(5005, builder.described().linkPort());
    assertEquals("shop", builder.described().name());
    assertEquals("mart", builder.name("mart").described().name());
  }

  @Test
  void aNameInDnsNeedsHowManyAreToBeFound() throws IOException {
    var seeds = configured("dns = nodes.local:4000\ndns-at-least = 2").described().seeds();
    assertEquals(new Seeds.Dns("nodes.local", 4000, 2), seeds);
    assertNames("dns = nodes.local:4000", "dns-at-least");
    assertNames("dns = nodes.local:4000\ndns-at-least = none", "dns-at-least");
    assertNames("dns = nodes.local:4000\ndns-at-least = 0", "dns-at-least");
    assertNames("dns = nodes.local\ndns-at-least = 2", "dns");
    assertNames("dns = nodes.local:4000\ndns-at-least = 2\nseeds = a:4000", "dns");
  }

  /** Else results would be stale between the end of a lease and the next renewal. */
  @Test
  void aLeaseOutlastsARenewalThatIsLate() throws IOException {
    var settings = configured("renew-every = 2min\nlease-for = 4min").settings;
    assertEquals(java.time.Duration.ofMinutes(4), settings.leaseFor());
    assertNames("renew-every = 2min", "lease-for");
    assertNames("lease-for = 59s", "lease-for");
  }

  @ParameterizedTest
  @CsvSource({
    "prot = 4000, prot",
    "port = many, port",
    "crash-evidence = yes, crash-evidence",
    "seeds = nowhere, seeds",
    "join-within = 60, join-within",
    "join-within-seconds = 60, join-within-seconds",
    "idle-after = 600, idle-after",
    "max-value-bytes = 16777216, max-value-bytes",
    "max-backlog = 0, max-backlog",
    "link-max-message-bytes = 1B, link-max-message-bytes",
    "link-cluster = shop, link-cluster",
    "tls-key = a.key, tls-certificates",
    "name = our shop, name",
    "port = 70000, port",
    "link-port = -1, link-port",
    "operator-port = 65536, operator-port",
    "partitions = 0, partitions",
    "join-within = 0s, join-within",
  })
  void anErrorNamesTheKeyAndTheFile(String text, String key) throws IOException {
    assertNames(text, key);
    var variable =
        "EVERGREEN_NODE_"
            + text.split(" = ", -1)[0].toUpperCase(java.util.Locale.ROOT).replace('-', '_');
    var failure =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                NodeConfiguration.apply(
                    Settings.of(
                        Map.of(variable, text.split(" = ", -1)[1]), NodeConfiguration.VARIABLES),
                    ClusterNode.builder()));
    assertTrue(
        String.valueOf(failure.getMessage()).startsWith("EVERGREEN_NODE_"), failure::toString);
  }

  private void assertNames(String text, String key) {
    var failure = assertThrows(IllegalArgumentException.class, () -> configured(text));
    assertTrue(
        String.valueOf(failure.getMessage()).startsWith(key + " in " + file), failure::toString);
  }

  @Test
  void certificatesAreReadFromTheFilesThatAreNamed() {
    var text = "tls-key = /no.key\ntls-certificates = /no.pem\ntls-authority = /no-authority.pem";
    var failure = assertThrows(IllegalArgumentException.class, () -> configured(text));
    assertTrue(String.valueOf(failure.getMessage()).contains("/no"), failure::toString);
  }

  @Test
  void aFileThatIsNotThereIsNamed() {
    var failure =
        assertThrows(UncheckedIOException.class, () -> ClusterNode.builder().configuredBy(file));
    assertTrue(String.valueOf(failure.getMessage()).contains(file.toString()), failure::toString);
  }
}
