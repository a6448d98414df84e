package dev.evergreen.chirper;

import dev.evergreen.core.Grains;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Loads a follow graph and posts from two plain files in UTF-8, columns separated by tabs:
 *
 * <ul>
 *   <li>{@code follows.tsv}: follower, followed
 *   <li>{@code posts.tsv}: author, time as in {@code 2025-11-21T12:00:00Z}, text
 * </ul>
 *
 * <p>Empty lines and those that begin with {@code #} are skipped. Names need no introduction: who
 * occurs exists. A line that is wrong is skipped as well, counted, and the first few are reported.
 * An import that was interrupted is run again; what is there already is not doubled.
 *
 * <p>The files are read in portions, whose lines are grouped by user, so that a user is saved once
 * per portion and not once per line. Any order of lines works; lines grouped by user load faster.
 */
final class Importer {

  static final String FOLLOWS = "follows.tsv";
  static final String POSTS = "posts.tsv";

  /** How many lines are grouped in memory before they are written. */
  private static final int PORTION_OF_FOLLOWS = 2_000_000;

  private static final int PORTION_OF_POSTS = 250_000;

  /** Browsers read no other times in the form that the JDK writes them. */
  private static final Instant EARLIEST = Instant.parse("0001-01-01T00:00:00Z");

  private static final Instant LATEST = Instant.parse("+10000-01-01T00:00:00Z");
  private static final int CALLERS = 128;
  private static final int REPORTED = 10;

  private final Grains grains;
  private final Consumer<String> complaints;
  private final LongConsumer bytesDone;

  /** Every name met so far; the value is the one copy of it that is kept. */
  private final Map<String, String> names = new HashMap<>();

  private final List<String> newNames = new ArrayList<>();
  private long follows;
  private long posts;
  private long skipped;

  /**
   * An importer, for one import.
   *
   * @param complaints takes what is wrong with lines that are skipped
   * @param bytesDone is told how many more bytes of the files were worked off, by any thread
   */
  Importer(Grains grains, Consumer<String> complaints, LongConsumer bytesDone) {
    this.grains = grains;
    this.complaints = complaints;
    this.bytesDone = bytesDone;
  }

  /** The size of both files together, in bytes. */
  static long size(Path directory) throws IOException {
    return Files.size(directory.resolve(FOLLOWS)) + Files.size(directory.resolve(POSTS));
  }

  /**
   * Loads both files; returns when everything is saved.
   *
   * @throws IOException if a file cannot be read
   * @throws RuntimeException what the first grain call that failed threw; the import can be
   *     repeated
   */
  Loaded load(Path directory) throws IOException {
    new Portions<>(PORTION_OF_FOLLOWS, Importer::edge, this::writeFollows, 2)
        .read(directory.resolve(FOLLOWS));
    new Portions<>(PORTION_OF_POSTS, Importer::chirp, this::writePosts, 1)
        .read(directory.resolve(POSTS));
    return new Loaded(names.size(), follows, posts, skipped);
  }

  private static Edge edge(String[] columns) {
    expect(2, columns, "follower, followed");
    var edge = new Edge(Name.checked(columns[0]), Name.checked(columns[1]));
    if (edge.follower().equals(edge.followed())) {
      throw new RefusedException("Nobody follows oneself.");
    }
    return edge;
  }

  private static Chirp chirp(String[] columns) {
    expect(3, columns, "author, time, text");
    try {
      var at = Instant.parse(columns[1]);
      if (at.isBefore(EARLIEST) || !at.isBefore(LATEST)) {
        throw new RefusedException("A post is of the years 1 to 9999, not of %s.".formatted(at));
      }
      return new Chirp(Name.checked(columns[0]), at, Chirp.checkedText(columns[2]));
    } catch (DateTimeParseException e) {
      throw new RefusedException(
          "“%s” is no time such as 2025-11-21T12:00:00Z.".formatted(columns[1]), e);
    }
  }

  private static void expect(int count, String[] columns, String what) {
    if (columns.length != count) {
      throw new RefusedException(
          "Expected %d columns separated by tabs (%s), found %d."
              .formatted(count, what, columns.length));
    }
  }

  private void writeFollows(List<Edge> edges, Share share) {
    var followed = new HashMap<String, List<String>>();
    var followers = new HashMap<String, List<String>>();
    for (var edge : edges) {
      var from = known(edge.follower());
      var to = known(edge.followed());
      followed.computeIfAbsent(from, k -> new ArrayList<>()).add(to);
      followers.computeIfAbsent(to, k -> new ArrayList<>()).add(from);
    }
    introduce();
    inParallel(
        followed,
        (user, others) -> {
          grains.get(User.class, user).load(List.of(), others);
          share.done(others.size());
        });
    inParallel(
        followers,
        (user, others) -> {
          NameIndex.followersOf(user, grains).add(others);
          share.done(others.size());
        });
    follows += edges.size();
  }

  private void writePosts(List<Chirp> chirps, Share share) {
    var byAuthor = new HashMap<String, List<Chirp>>();
    for (var chirp : chirps) {
      byAuthor.computeIfAbsent(known(chirp.author()), k -> new ArrayList<>()).add(chirp);
    }
    introduce();
    inParallel(
        byAuthor,
        (user, own) -> {
          grains.get(User.class, user).load(own, List.of());
          share.done(own.size());
        });
    posts += chirps.size();
  }

  private String known(String name) {
    var first = names.putIfAbsent(name, name);
    if (first == null) {
      newNames.add(name);
      return name;
    }
    return first;
  }

  /** Makes the names of this portion findable. */
  private void introduce() {
    if (!newNames.isEmpty()) {
      NameIndex.people(grains).add(List.copyOf(newNames));
      newNames.clear();
    }
  }

  private static <T> void inParallel(Map<String, List<T>> work, Work<T> each) {
    Callers.run(CALLERS, work.entrySet(), part -> each.on(part.getKey(), part.getValue()));
  }

  /** The lines of a file, taken in portions. */
  private final class Portions<T> {

    private final int most;
    private final Parser<T> parser;
    private final Writer<T> writer;
    private final int writesPerLine;
    private List<T> items = new ArrayList<>();
    private long bytes;

    Portions(int most, Parser<T> parser, Writer<T> writer, int writesPerLine) {
      this.most = most;
      this.parser = parser;
      this.writer = writer;
      this.writesPerLine = writesPerLine;
    }

    void read(Path file) throws IOException {
      try (var lines = new Lines(file)) {
        for (var line = lines.next(); line != null; line = lines.next()) {
          take(file, line);
          if (items.size() == most) {
            flush();
          }
        }
      }
      flush();
    }

    private void take(Path file, Lines.Line line) {
      bytes += line.size();
      var text = line.text();
      try {
        if (text == null) {
          throw new RefusedException(
              "The line is not UTF-8 or longer than %d bytes.".formatted(Lines.LONGEST));
        }
        if (!text.isBlank() && !text.startsWith("#")) {
          items.add(parser.parse(text.split("\t", -1)));
        }
      } catch (RefusedException e) {
        skipped++;
        if (skipped <= REPORTED) {
          complaints.accept("%s:%d: %s".formatted(file, line.number(), e.getMessage()));
        }
        if (skipped == REPORTED + 1) {
          complaints.accept("Further lines with errors are counted only.");
        }
      }
    }

    private void flush() {
      var share = new Share(bytes, (long) items.size() * writesPerLine);
      if (!items.isEmpty()) {
        writer.write(items, share);
      }
      share.finish();
      items = new ArrayList<>();
      bytes = 0;
    }
  }

  /** Tells the bytes of a portion as done while its lines are written. */
  private final class Share {

    private final long bytes;
    private final long writes;
    private final LongAdder told = new LongAdder();

    Share(long bytes, long writes) {
      this.bytes = bytes;
      this.writes = writes;
    }

    void done(int some) {
      tell(bytes * some / writes);
    }

    /** Tells what roundings left. */
    void finish() {
      tell(bytes - told.sum());
    }

    private void tell(long some) {
      told.add(some);
      bytesDone.accept(some);
    }
  }

  private interface Parser<T> {
    T parse(String[] columns);
  }

  private interface Writer<T> {
    void write(List<T> items, Share share);
  }

  private interface Work<T> {
    void on(String user, List<T> items);
  }

  private record Edge(String follower, String followed) {}

  /**
   * What an import did.
   *
   * @param users how many names occurred
   * @param follows lines loaded from the first file
   * @param posts lines loaded from the second file
   * @param skipped lines of both that were wrong
   */
  record Loaded(long users, long follows, long posts, long skipped) {}
}
