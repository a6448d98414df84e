package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.constantpool.Utf8Entry;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The table of a node's parts in docs/architecture.md names every class of the engine once, no
 * class knows one that stands higher in it, and none comes back to itself by those that it knows.
 */
final class ArrowsTest {

  private static final Path PAGE = Path.of("..", "docs", "architecture.md");
  private static final String ENGINE =
      ArrowsTest.class.getPackageName().replace('.', '/').concat("/");
  private static final Pattern NAME = Pattern.compile("`(\\w+)`");
  private static final Pattern MENTION = Pattern.compile(Pattern.quote(ENGINE) + "(\\w+)");

  @Test
  void arrowsRunDownInTheTableOfParts() throws IOException, URISyntaxException {
    var known = known();
    var row = rows(known.keySet());
    assertEquals(known.keySet(), new TreeSet<>(row.keySet()), "the table names all classes");
    assertEquals(Set.of(), up(known, row));
  }

  @Test
  void noClassComesBackToItself() throws IOException, URISyntaxException {
    assertEquals(Set.of(), inCircles(known()));
  }

  @Test
  void anArrowUpIsSeen() throws IOException, URISyntaxException {
    var known = known();
    var row = rows(known.keySet());
    Objects.requireNonNull(known.get("Cache")).add("Activation");
    assertEquals(Set.of("Cache knows Activation"), up(known, row));
  }

  @Test
  void aCircleIsSeen() throws IOException, URISyntaxException {
    var known = known();
    Objects.requireNonNull(known.get("Reads")).add("Summary");
    assertEquals(Set.of("Reads", "Summary"), inCircles(known));
  }

  private static Set<String> up(Map<String, Set<String>> known, Map<String, Integer> row) {
    var up = new TreeSet<String>();
    known.forEach(
        (type, others) ->
            others.stream()
                .filter(other -> row.getOrDefault(other, 0) < row.getOrDefault(type, 0))
                .forEach(other -> up.add(type + " knows " + other)));
    return up;
  }

  /** Those that are left when one after the other goes that knows, or is known by, none of them. */
  private static Set<String> inCircles(Map<String, Set<String>> known) {
    var inCircles = new TreeSet<>(known.keySet());
    boolean fewer = true;
    while (fewer) {
      fewer =
          inCircles.removeIf(type -> !knowsAny(known, type, inCircles))
              || inCircles.removeIf(type -> !isKnownToAny(known, type, inCircles));
    }
    return inCircles;
  }

  private static boolean knowsAny(Map<String, Set<String>> known, String type, Set<String> others) {
    return known.getOrDefault(type, Set.of()).stream()
        .anyMatch(other -> !other.equals(type) && others.contains(other));
  }

  private static boolean isKnownToAny(
      Map<String, Set<String>> known, String type, Set<String> others) {
    return others.stream()
        .anyMatch(
            other -> !other.equals(type) && known.getOrDefault(other, Set.of()).contains(type));
  }

  /** The row of each class in the table. */
  private static Map<String, Integer> rows(Set<String> types) throws IOException {
    var row = new HashMap<String, Integer>();
    var twice = new ArrayList<String>();
    var lines = table();
    for (int i = 0; i < lines.size(); i++) {
      int at = i;
      NAME.matcher(lines.get(i))
          .results()
          .map(found -> found.group(1))
          .filter(types::contains)
          .filter(type -> row.put(type, at) != null)
          .forEach(twice::add);
    }
    assertEquals(List.of(), twice, "named twice");
    return row;
  }

  private static List<String> table() throws IOException {
    return Files.readAllLines(PAGE).stream()
        .dropWhile(line -> !line.startsWith("| what | parts |"))
        .takeWhile(line -> line.startsWith("|"))
        .toList();
  }

  /** The classes of the engine, with those of them that each knows; nested ones count as one. */
  private static Map<String, Set<String>> known() throws IOException, URISyntaxException {
    var root =
        Path.of(NodeRuntime.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    var known = new TreeMap<String, Set<String>>();
    try (var files = Files.list(root.resolve(ENGINE))) {
      for (var file : files.toList()) {
        var type = file.getFileName().toString().split("[$.]", 2)[0];
        if (!type.equals("package-info")) {
          known.computeIfAbsent(type, name -> new TreeSet<>()).addAll(mentions(file));
        }
      }
    }
    return known;
  }

  private static Set<String> mentions(Path file) throws IOException {
    var pool = ClassFile.of().parse(Files.readAllBytes(file)).constantPool();
    var mentions = new TreeSet<String>();
    // The names of classes are such entries, and so are the descriptors of members.
    for (var entry : pool) {
      if (entry instanceof Utf8Entry text) {
        MENTION.matcher(text.stringValue()).results().forEach(it -> mentions.add(it.group(1)));
      }
    }
    return mentions;
  }
}
