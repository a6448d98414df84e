package dev.evergreen.chirper.variants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** This sample's README and the project's say how many lines each variant takes. */
final class LinesTest {

  private static final Path VARIANTS = Path.of("src/main/java/dev/evergreen/chirper/variants");

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "../../README.md"})
  void theReadmesCountTheLinesOfTheVariantsRightly(String file) throws IOException {
    int polling = lines("PollingTimeline");
    int observing = lines("ObservedTimeline");
    int observed =
        lines("Observers")
            + lines("ObservedUserGrain")
            + lines("TimelineObservers")
            + lines("TimelineObserversGrain");
    int reactive = lines("ReactiveTimeline");
    var readme = Files.readString(Path.of(file));
    for (var row :
        List.of(
            "| polling (Figure 2) | %d lines | 0 lines |".formatted(polling),
            "| observers by hand (Figure 3) | %d lines | %d lines |".formatted(observing, observed),
            "| reactive computation (Figures 4 and 6) | %d lines | 0 lines |"
                .formatted(reactive))) {
      assertTrue(readme.contains(row), file + " should have: " + row);
    }
  }

  @Test
  void noFileOfTheVariantsIsLeftOut() throws IOException {
    try (Stream<Path> files = Files.list(VARIANTS)) {
      assertEquals(
          List.of(
              "LiveTimeline.java",
              "ObservedTimeline.java",
              "ObservedUserGrain.java",
              "Observers.java",
              "PollingTimeline.java",
              "ReactiveTimeline.java",
              "TimelineObservers.java",
              "TimelineObserversGrain.java",
              "package-info.java"),
          files.map(file -> file.getFileName().toString()).sorted().toList());
    }
  }

  /** Without blank lines, comments, the package and imports. */
  private static int lines(String type) throws IOException {
    int lines = 0;
    boolean inComment = false;
    for (var line : Files.readAllLines(VARIANTS.resolve(type + ".java"))) {
      var text = line.strip();
      boolean comment = inComment || text.startsWith("/*") || text.startsWith("//");
      inComment = (inComment || text.startsWith("/*")) && !text.contains("*/");
      if (!comment && !text.isEmpty() && !text.matches("(package|import) .*")) {
        lines++;
      }
    }
    return lines;
  }
}
