package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class GeneratorTest {

  private static final Instant UNTIL = Instant.parse("2025-11-01T00:00:00Z");

  @TempDir Path directory;

  @Test
  void writesExactlyWhatWasAskedForWithoutDoubles() throws IOException {
    new Generator(300, 5_000, 2_000, 1, UNTIL).write(directory, lines -> {});
    var follows = lines(Importer.FOLLOWS);
    assertEquals(5_000, new HashSet<>(follows).size());
    assertEquals(5_000, follows.size());
    for (var line : follows) {
      var columns = line.split("\t", -1);
      assertFalse(columns[0].equals(columns[1]), line);
    }
    var posts = lines(Importer.POSTS);
    assertEquals(2_000, posts.size());
    assertEquals(
        2_000, posts.stream().map(l -> l.substring(0, l.lastIndexOf('\t'))).distinct().count());
  }

  @Test
  void fewPeopleHaveMostOfTheFollowers() throws IOException {
    new Generator(1_000, 20_000, 0, 1, UNTIL).write(directory, lines -> {});
    var counts = new HashMap<String, Integer>();
    lines(Importer.FOLLOWS).forEach(l -> counts.merge(l.split("\t", -1)[1], 1, Integer::sum));
    var sorted = counts.values().stream().sorted((a, b) -> b - a).toList();
    int ofTheFirstTenth = sorted.stream().limit(100).mapToInt(Integer::intValue).sum();
    assertTrue(ofTheFirstTenth > 8_000, "the most popular tenth has " + ofTheFirstTenth);
    assertTrue(sorted.getFirst() > 20 * sorted.get(500), sorted.toString());
  }

  @Test
  void theSameSeedGivesTheSameFilesAndAnotherSeedOthers() throws IOException {
    for (var run : List.of("a", "b")) {
      new Generator(100, 900, 500, 42, UNTIL).write(directory.resolve(run), lines -> {});
    }
    new Generator(100, 900, 500, 43, UNTIL).write(directory.resolve("c"), lines -> {});
    for (var file : List.of(Importer.FOLLOWS, Importer.POSTS)) {
      var first = Files.readAllBytes(directory.resolve("a").resolve(file));
      assertArrayEquals(first, Files.readAllBytes(directory.resolve("b").resolve(file)));
      assertFalse(
          List.of(first).equals(List.of(Files.readAllBytes(directory.resolve("c").resolve(file)))));
    }
  }

  @Test
  void everybodyCanFollowEverybody() throws IOException {
    new Generator(30, 30 * 29, 0, 1, UNTIL).write(directory, lines -> {});
    assertEquals(30 * 29, new HashSet<>(lines(Importer.FOLLOWS)).size());
  }

  @Test
  void moreFollowsThanThereArePairsAreRefused() {
    var refused =
        assertThrows(
            IllegalArgumentException.class, () -> new Generator(30, 30 * 29 + 1, 0, 1, UNTIL));
    assertTrue(String.valueOf(refused.getMessage()).contains("0 to 870"), refused.getMessage());
  }

  @Test
  void namesAreNamesAndAllDifferent() {
    var names = IntStream.range(0, 100_000).mapToObj(Generator::name).toList();
    assertEquals(100_000, new HashSet<>(names).size());
    names.forEach(name -> assertEquals(name, Name.checked(name)));
  }

  private List<String> lines(String file) throws IOException {
    return Files.readAllLines(directory.resolve(file)).stream()
        .filter(line -> !line.startsWith("#"))
        .toList();
  }
}
