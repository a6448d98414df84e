package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * Writes the types that the page has of the server, and has the page checked against them. Runs
 * where the page is installed.
 */
final class PageTypesTest {

  private static final Path PAGE = Path.of("page");
  private static final Path TYPES = PAGE.resolve(Path.of("src", "types.ts"));

  private static String check() throws IOException, InterruptedException {
    var compiler = Path.of("node_modules", "typescript", "bin", "tsc");
    assumeTrue(Files.exists(PAGE.resolve(compiler)), "the page is not installed");
    var process =
        new ProcessBuilder("node", compiler.toString())
            .directory(PAGE.toFile())
            .redirectErrorStream(true)
            .start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }

  @Test
  void thePageFitsTheServer() throws Exception {
    var before = Files.readString(TYPES);
    PageTypes.main(new String[] {TYPES.toString()});
    assertEquals("", check());
    assertEquals(before, Files.readString(TYPES), "were outdated, and have been written anew");
  }
}
