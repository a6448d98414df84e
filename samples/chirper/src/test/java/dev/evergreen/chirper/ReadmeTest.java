package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The README shows code of this module. */
final class ReadmeTest {

  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @Test
  void theCodeInTheReadmeIsTheCodeThatRuns() throws IOException {
    String sources;
    try (var files = Files.walk(Path.of("src/main/java"))) {
      sources =
          files.filter(Files::isRegularFile).map(ReadmeTest::text).collect(Collectors.joining());
    }
    var snippets = JAVA.matcher(Files.readString(Path.of("README.md"))).results().toList();
    assertEquals(2, snippets.size());
    for (var snippet : snippets) {
      assertTrue(sources.contains(withoutSpaces(snippet.group(1))), snippet.group(1));
    }
  }

  private static String text(Path file) {
    try {
      return withoutSpaces(Files.readString(file));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String withoutSpaces(String text) {
    return text.replaceAll("\\s+", "");
  }
}
