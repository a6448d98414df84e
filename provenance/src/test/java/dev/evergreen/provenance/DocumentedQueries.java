package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The queries of {@code docs/trace.md}. */
final class DocumentedQueries {
  private static final Pattern SQL = Pattern.compile("```sql\n(.*?)```", Pattern.DOTALL);

  private DocumentedQueries() {}

  static List<String> all() throws IOException {
    var text = Files.readString(Path.of("../docs/trace.md"));
    return SQL.matcher(text).results().map(found -> found.group(1)).toList();
  }
}
