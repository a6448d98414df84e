package dev.evergreen.settings;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The pages that tell of settings, for the tests that hold them to the code. */
public final class SettingsPage {

  private static final Path DOCUMENTS = Path.of("..", "docs");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  private SettingsPage() {}

  /**
   * The tables of a section of {@code docs/settings.md}: each key, and its default if that is
   * written as a value.
   */
  public static NavigableMap<String, Optional<String>> section(String heading) throws IOException {
    var rows = new TreeMap<String, Optional<String>>();
    boolean inside = false;
    for (var line : Files.readAllLines(DOCUMENTS.resolve("settings.md"))) {
      inside = line.startsWith("## ") ? line.equals("## " + heading) : inside;
      if (inside && line.startsWith("| `")) {
        var cells = line.split(" \\| ", 3);
        var keys = CODE.matcher(cells[0]).results().map(key -> key.group(1)).toList();
        var value = CODE.matcher(cells[1]);
        var written =
            keys.size() == 1 && value.matches()
                ? Optional.of(value.group(1))
                : Optional.<String>empty();
        keys.forEach(key -> rows.put(key, written));
      }
    }
    if (rows.isEmpty()) {
      throw new IllegalArgumentException("there is no table of settings in '" + heading + "'");
    }
    return rows;
  }

  /** The defaults of sections as a file of settings says them. */
  public static String defaults(NavigableMap<String, Optional<String>> section) {
    return section.entrySet().stream()
        .filter(row -> row.getValue().isPresent())
        .map(row -> row.getKey() + " = " + row.getValue().get() + "\n")
        .collect(Collectors.joining());
  }

  /** What a page of {@code docs} says. */
  public static String text(String page) throws IOException {
    return Files.readString(DOCUMENTS.resolve(page));
  }
}
