package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.EmbeddedNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * The JavaScript client against this server. Runs where {@code npm install} has been run in {@code
 * client-js}.
 */
final class ClientJsTest {

  private static final Path CLIENT = Path.of("..", "client-js").toAbsolutePath().normalize();

  @Test
  void theJavaScriptClientAndTheServerUnderstandEachOther() throws Exception {
    var vitest = CLIENT.resolve(Path.of("node_modules", "vitest", "vitest.mjs"));
    assumeTrue(Files.exists(vitest), "client-js is not installed");
    try (var node =
            EmbeddedNode.builder()
                .grain(LiveGrainTest.Board.class, LiveGrainTest.BoardGrain::new)
                .start();
        var server = BoardServer.serve(node)) {
      var builder =
          new ProcessBuilder("node", vitest.toString(), "run", "real-server")
              .directory(CLIENT.toFile())
              .redirectErrorStream(true);
      builder.environment().put("EVERGREEN_SERVER", server.uri().toString());
      var process = builder.start();
      try {
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), output);
        assertEquals(0, process.exitValue(), output);
        assertTrue(output.contains("10 passed"), output);
      } finally {
        process.destroyForcibly();
      }
    }
  }
}
