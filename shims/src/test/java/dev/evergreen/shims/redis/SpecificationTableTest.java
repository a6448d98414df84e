package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The table of families in the documentation. */
class SpecificationTableTest {
  private record Family(String name, Consumer<Commands> define) {}

  private static final List<Family> FAMILIES =
      List.of(
          new Family("Strings", Strings::define),
          new Family("Keys", Keys::define),
          new Family("Hashes", Hashes::define),
          new Family("Lists", Lists::define),
          new Family("Sets", Sets::define),
          new Family("SortedSets", SortedSets::define),
          new Family("Bitmaps", Bitmaps::define),
          new Family("BitFields", BitFields::define),
          new Family("Streams", Streams::define),
          new Family("StreamGroups", StreamGroups::define),
          new Family("Geo", Geo::define),
          new Family("Sorting", Sorting::define),
          new Family("Scans", Scans::define),
          new Family("HyperLogLogs", HyperLogLogs::define),
          new Family("Expiry", Expiry::define),
          new Family("Transactions", Transactions::define),
          new Family("Scripts", Scripts::define),
          new Family("Sketches", Sketches::define));

  @Test
  void theDocumentationTellsTheSizeOfEachFamily() throws IOException {
    var page = Files.readString(Path.of("../docs/specifications.md"));
    int all = 0;
    for (var family : FAMILIES) {
      var commands = new Commands();
      family.define().accept(commands);
      long lines =
          Files.readString(
                  Path.of("src/main/java/dev/evergreen/shims/redis", family.name() + ".java"))
              .lines()
              .count();
      var row = "| %s | %d | %d |\n".formatted(family.name(), commands.all().size(), lines);
      assertTrue(page.contains(row), () -> "docs/specifications.md lacks the row " + row);
      all += commands.all().size();
    }
    assertEquals(
        new RedisSpecification().families().size(),
        all,
        "no command is in two families, and no family is left out");
  }
}
