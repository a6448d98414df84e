package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every piece of Java in the pages is a region of a compiled test: a block after {@code <!--
 * snippet NAME -->} stands between {@code // snippet NAME} and {@code // end} in some source file.
 */
class DocumentationTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern BLOCK =
      Pattern.compile("(<!-- snippet (\\S+) -->\\n)?```java\\n(.*?)```", Pattern.DOTALL);
  private static final Pattern REGION =
      Pattern.compile("( *)// snippet (\\S+)\\n(.*?)\\n *// end\\n", Pattern.DOTALL);

  @ParameterizedTest
  @ValueSource(
      strings = {"README.md", "docs/guide.md", "docs/operations.md", "docs/specifications.md"})
  void everySnippetIsCompiled(String page) throws IOException {
    var regions = regions();
    var blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
    int found = 0;
    while (blocks.find()) {
      found++;
      var name = blocks.group(2);
      var code = blocks.group(3).strip();
      assertFalse(name == null, () -> page + ": this block names no snippet:\n" + code);
      assertTrue(regions.containsKey(name), () -> page + ": there is no snippet " + name);
      assertEquals(regions.get(name), code, () -> page + ": snippet " + name + " differs");
    }
    assertTrue(found > 0, page + " has no snippet");
  }

  private static Map<String, String> regions() throws IOException {
    var regions = new HashMap<String, String>();
    try (Stream<Path> files = Files.walk(ROOT)) {
      for (var file : files.filter(DocumentationTest::isSource).toList()) {
        var matcher = REGION.matcher(Files.readString(file));
        while (matcher.find()) {
          var code = matcher.group(3).stripTrailing().stripIndent().strip();
          var before = regions.put(matcher.group(2), code);
          assertTrue(before == null, "two snippets are named " + matcher.group(2));
        }
      }
    }
    return regions;
  }

  private static boolean isSource(Path file) {
    var path = file.toString();
    return path.endsWith(".java") && !path.contains("target") && !path.contains("node_modules");
  }
}
