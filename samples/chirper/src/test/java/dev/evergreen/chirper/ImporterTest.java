package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.chirper.Importer.Loaded;
import dev.evergreen.chirper.User.Profile;
import dev.evergreen.core.Node;
import dev.evergreen.core.spi.MemoryStorage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ImporterTest {

  @TempDir Path directory;

  private final Node node = ChirperServer.node(new MemoryStorage());
  private final List<String> complaints = new ArrayList<>();
  private final AtomicLong bytes = new AtomicLong();

  @AfterEach
  void stop() {
    node.close();
  }

  @Test
  void loadsFollowsAndPosts() throws IOException {
    follows("# follower, followed", "alice\tbob", "", "Carol\tbob", "bob\talice");
    posts("bob\t2025-11-01T10:00:00Z\tHello, wörld 🐦", "dave\t2025-11-01T11:00:00.5Z\tHi");
    assertEquals(new Loaded(4, 3, 2, 0), load());
    assertEquals(List.of("alice", "bob", "carol", "dave"), people("", 9));
    assertEquals(new Profile(1, 1, 2), user("bob").profile());
    assertEquals(
        List.of(new Chirp("bob", Instant.parse("2025-11-01T10:00:00Z"), "Hello, wörld 🐦")),
        user("alice").timeline(9));
    assertEquals(Importer.size(directory), bytes.get());
  }

  @Test
  void importingAgainChangesNothing() throws IOException {
    new Generator(200, 3_000, 4_000, 5, Instant.parse("2025-11-01T00:00:00Z"))
        .write(directory, lines -> {});
    assertEquals(new Loaded(200, 3_000, 4_000, 0), load());
    var before = people("", 999).stream().map(name -> user(name).profile()).toList();
    assertEquals(3_000, before.stream().mapToInt(Profile::follows).sum());
    assertEquals(3_000, before.stream().mapToInt(Profile::followers).sum());
    assertEquals(4_000, before.stream().mapToInt(Profile::posts).sum());
    load();
    assertEquals(before, people("", 999).stream().map(name -> user(name).profile()).toList());
  }

  @Test
  void wrongLinesAreSkippedAndNamedByFileAndNumber() throws IOException {
    follows("alice\tbob", "alice", "alice\tal ice", "bob\tbob", "bob\talice\t");
    posts(
        "alice\tyesterday\ttext",
        "alice\t2025-11-01T10:00:00Z\t" + "x".repeat(281),
        "alice\t+12345-01-01T00:00:00Z\tno browser reads this time",
        "alice\t-0001-01-01T00:00:00Z\tnor this",
        "alice\t2025-11-01T10:00:00Z\tfine");
    assertEquals(new Loaded(2, 1, 1, 8), load());
    assertEquals(
        List.of(
            "follows.tsv:2: Expected 2 columns separated by tabs (follower, followed), found 1.",
            "follows.tsv:3: A name has 1 to 30 letters a–z, digits or underscores; “al ice” is none.",
            "follows.tsv:4: Nobody follows oneself.",
            "follows.tsv:5: Expected 2 columns separated by tabs (follower, followed), found 3.",
            "posts.tsv:1: “yesterday” is no time such as 2025-11-21T12:00:00Z.",
            "posts.tsv:2: A post has at most 280 characters; this one has 281.",
            "posts.tsv:3: A post is of the years 1 to 9999, not of +12345-01-01T00:00:00Z.",
            "posts.tsv:4: A post is of the years 1 to 9999, not of -0001-01-01T00:00:00Z."),
        complaints.stream().map(line -> line.replace(directory + "/", "")).toList());
  }

  @Test
  void onlyTheFirstWrongLinesAreReported() throws IOException {
    follows("x\n".repeat(5_000));
    posts();
    assertEquals(new Loaded(0, 0, 0, 5_000), load());
    assertEquals(11, complaints.size());
    assertEquals("Further lines with errors are counted only.", complaints.getLast());
  }

  @Test
  void bytesThatAreNoTextAndEndlessLinesAreSkippedToo() throws IOException {
    var bad = "alice\tb\u00ffb\n".getBytes(StandardCharsets.ISO_8859_1);
    Files.write(directory.resolve(Importer.FOLLOWS), bad);
    posts("x".repeat(1_000_000), "alice\t2025-11-01T10:00:00Z\tno line end");
    assertEquals(new Loaded(1, 0, 1, 2), load());
    assertTrue(complaints.getFirst().contains("not UTF-8"), complaints.getFirst());
    assertEquals("no line end", user("alice").messages(1).getFirst().text());
  }

  @Test
  void aMissingFileIsNamed() throws IOException {
    follows("alice\tbob");
    var missing = assertThrows(NoSuchFileException.class, this::load);
    assertTrue(missing.getFile().endsWith("posts.tsv"), missing.getFile());
  }

  private Loaded load() throws IOException {
    return new Importer(node.grains(), complaints::add, bytes::addAndGet).load(directory);
  }

  private void follows(String... lines) throws IOException {
    Files.writeString(directory.resolve(Importer.FOLLOWS), String.join("\n", lines));
  }

  private void posts(String... lines) throws IOException {
    Files.writeString(directory.resolve(Importer.POSTS), String.join("\n", lines));
  }

  private User user(String name) {
    return node.grains().get(User.class, name);
  }

  private List<String> people(String prefix, int most) {
    return NameIndex.people(node.grains()).find(prefix, "", most);
  }
}
