package dev.evergreen.chirper;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.web.SignedSessions;
import dev.evergreen.web.WebServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Writes what the page may ask for into a file of the page's sources, if it is another than there.
 * The build runs it, so that a page that no longer fits does not pass its check.
 */
final class PageTypes {

  private PageTypes() {}

  /**
   * Writes the file.
   *
   * @param arguments the file's path
   * @throws IOException if it cannot be written
   */
  public static void main(String[] arguments) throws IOException {
    var file = Path.of(arguments[0]);
    var text = text();
    if (!Files.exists(file) || !Files.readString(file).equals(text)) {
      Files.writeString(file, text);
    }
  }

  private static String text() {
    try (var node = EmbeddedNode.builder().grains(ChirperGrains.types()).start()) {
      var sessions = SignedSessions.withRandomKey(node.grains(), ChirperServer.SIGNED_IN_FOR);
      var server = WebServer.builder(node);
      new Pages(node.grains(), sessions, List.of()).addTo(server);
      return server.typeScript();
    }
  }
}
