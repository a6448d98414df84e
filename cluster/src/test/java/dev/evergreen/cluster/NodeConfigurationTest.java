package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
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
            join-within-seconds = 7
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
  }

  @ParameterizedTest
  @CsvSource({
    "prot = 4000, prot",
    "port = many, port",
    "crash-evidence = yes, crash-evidence",
    "seeds = nowhere, seeds",
    "tls-key = a.key, tls-certificates",
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
