package dev.evergreen.user;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ValueTooLargeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings of a node that is alone, from a file. */
final class ConfiguredNodeTest {

  @TempDir private Path folder;

  interface Echo extends Grain {
    String say(String word);
  }

  private EmbeddedNode.Builder configured(String text) throws IOException {
    var file = Files.writeString(folder.resolve("node.properties"), text);
    return EmbeddedNode.builder().grain(Echo.class, context -> word -> word).configuredBy(file);
  }

  @Test
  void aFileSaysWhatTheSettingsMethodsDo() throws IOException {
    try (var node = configured("max-value-bytes = 1KiB\ncall-timeout = 20s").start()) {
      var echo = node.grains().get(Echo.class, "a");
      assertEquals("x", echo.say("x"));
      assertThrows(ValueTooLargeException.class, () -> echo.say("x".repeat(2_000)));
    }
  }

  @Test
  void whatIsCalledLaterCounts() throws IOException {
    try (var node = configured("max-value-bytes = 1KiB").settings(NodeSettings.DEFAULT).start()) {
      var word = "x".repeat(2_000);
      assertEquals(word, node.grains().get(Echo.class, "a").say(word));
    }
  }

  @Test
  void aKeyThatOnlyNodesOfAClusterHaveIsRefused() {
    var refused =
        assertThrows(IllegalArgumentException.class, () -> configured("link-port = 4000"));
    assertTrue(
        String.valueOf(refused.getMessage()).startsWith("link-port in " + folder),
        refused::toString);
  }
}
