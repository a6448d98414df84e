package dev.evergreen.chirper;

import dev.evergreen.core.Node;
import dev.evergreen.storage.SqliteStorage;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Measures what timelines cost in an imported data directory; run by hand. Posts a few times as
 * some of the people and removes the posts again.
 */
final class TimelineCost {

  private static final int NEWEST = 50;
  private static final int REPETITIONS = 51;

  private TimelineCost() {}

  /** The first argument is the data directory. */
  public static void main(String[] arguments) {
    var database = Path.of(arguments[0], "chirper.db");
    try (var storage = SqliteStorage.open(database);
        var node = ChirperServer.node(storage)) {
      // Warms the JVM up, with people who are not measured.
      var people = NameIndex.people(node.grains()).find("", "", 3_000);
      people.forEach(name -> user(node, name).profile());
      people.subList(0, 200).forEach(name -> user(node, name).timeline(NEWEST));
      for (int follows : List.of(10, 100, 1_000)) {
        measure(node, follows);
      }
    }
  }

  private static void measure(Node node, int follows) {
    var people = new ArrayList<>(NameIndex.people(node.grains()).find("", "", Integer.MAX_VALUE));
    Collections.reverse(people);
    var reader = "reader_of_" + follows;
    var followed = people.subList(follows, 2 * follows);
    NameIndex.people(node.grains()).add(List.of(reader));
    user(node, reader).load(List.of(), followed);

    var first = time(() -> user(node, reader).timeline(NEWEST));
    var plain = median(() -> user(node, reader).timeline(NEWEST));
    try (var timeline = node.reactive(() -> user(node, reader).timeline(NEWEST))) {
      var results = timeline.tracker();
      var reactive = time(() -> results.next());
      var second = node.reactive(() -> user(node, reader).timeline(NEWEST));
      var cached = time(() -> second.tracker().next());
      second.close();
      var afterPost = new ArrayList<Duration>();
      for (int i = 0; i < REPETITIONS; i++) {
        var author = user(node, followed.get(i % followed.size()));
        var at = Instant.now();
        afterPost.add(
            time(
                () -> {
                  author.post(at, "measured");
                  results.next();
                }));
        author.unpost(at);
        results.next();
      }
      Collections.sort(afterPost);
      System.out.printf(
          Locale.ROOT,
          "follows %,5d: first %s ms, asked again %s ms, first live %s ms, second live %s ms,"
              + " post to new result %s ms%n",
          follows,
          millis(first),
          millis(plain),
          millis(reactive),
          millis(cached),
          millis(afterPost.get(REPETITIONS / 2)));
    }
  }

  private static User user(Node node, String name) {
    return node.grains().get(User.class, name);
  }

  private static Duration median(Runnable action) {
    var times = new ArrayList<Duration>();
    for (int i = 0; i < REPETITIONS; i++) {
      times.add(time(action));
    }
    Collections.sort(times);
    return times.get(REPETITIONS / 2);
  }

  private static Duration time(Runnable action) {
    long start = System.nanoTime();
    action.run();
    return Duration.ofNanos(System.nanoTime() - start);
  }

  private static String millis(Duration duration) {
    return String.format(Locale.ROOT, "%.2f", duration.toNanos() / 1e6);
  }
}
