package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What we ship says under which licence it is. */
class LicenceTest {

  @Test
  void allOurJarsHaveTheLicenceWithThem() throws Exception {
    var licence = Files.readString(Path.of("../LICENSE"));
    var ours =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(
                path -> path.endsWith("target/classes") || path.matches(".*/target/[^/]*\\.jar"))
            .filter(path -> !path.endsWith("-tests.jar"))
            .toList();
    assertTrue(ours.size() > 5, ours.toString());
    for (var path : ours) {
      try (var loader = new URLClassLoader(new URL[] {Path.of(path).toUri().toURL()}, null);
          var text = loader.getResourceAsStream("META-INF/LICENSE")) {
        assertNotNull(text, path);
        assertEquals(licence, new String(text.readAllBytes(), StandardCharsets.UTF_8), path);
      }
    }
  }
}
