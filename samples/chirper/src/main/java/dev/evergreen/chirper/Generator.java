package dev.evergreen.chirper;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongConsumer;

/**
 * Makes the files that {@link Importer} reads: a follow graph in which few people have most of the
 * followers, as in real networks, and posts of made-up text over one year. The same sizes, seed and
 * end give the same bytes.
 *
 * @param users how many people
 * @param follows how many follows, all different
 * @param posts how many posts
 * @param seed decides everything that is left to chance
 * @param until when the year of the posts ends
 */
record Generator(int users, int follows, int posts, long seed, Instant until) {

  /** How much the second most popular has less than the first, the third less than the second… */
  private static final double POPULARITY = 0.9;

  /** As {@link #POPULARITY}, for how many others people follow and how much they write. */
  private static final double ZEAL = 0.5;

  private static final Duration YEAR = Duration.ofDays(365);

  private static final List<String> FIRST =
      words(
          "amber brisk calm dusty early faint gentle hazel idle jolly keen lunar mellow nimble olive"
              + " plain quiet ruby silver tidy upper vivid wooden young zesty");
  private static final List<String> SECOND =
      words(
          "acorn badger candle dune ember ferry goose harbor island jacket kettle lantern meadow"
              + " needle otter pebble quill river sparrow thimble umbrella violin walnut yarrow zebra");
  private static final List<String> OPENINGS =
      words(
          "Today|At last|Honestly|Once more|This morning|Late at night|For a change|As ever",
          "\\|");
  private static final List<String> SUBJECTS =
      words(
          "the neighbour's cat|my old bicycle|the bus driver|our tomato plant|the kettle|the choir|a"
              + " lost umbrella|the upstairs piano|the baker|a very small dog",
          "\\|");
  private static final List<String> DOINGS =
      words(
          "wins the argument|needs a new name|makes the best soup|refuses to leave|waits for the"
              + " rain|sings in tune|is late again|deserves a statue|outruns the tram|finds a friend",
          "\\|");
  private static final List<String> ENDINGS =
      words(
          "and nobody is surprised.|which explains a lot.|so I took the stairs.|and I have photos."
              + "|but tomorrow is another day.|as the forecast said.|and that is the whole story."
              + "|much to the joy of @%s.|ask @%s if you doubt it.",
          "\\|");

  Generator {
    long most = Math.min(users - 1, User.MOST_FOLLOWED);
    if (users < 1 || follows < 0 || posts < 0 || follows > users * most) {
      throw new IllegalArgumentException(
          "%,d users can have 0 to %,d follows, not %,d; and posts cannot be %,d."
              .formatted(users, Math.max(0, users * most), follows, posts));
    }
  }

  /**
   * Writes both files.
   *
   * @param linesDone is told now and then how many more lines were written
   */
  void write(Path directory, LongConsumer linesDone) throws IOException {
    Files.createDirectories(directory);
    var random = new SplittableRandom(seed);
    var rank = shuffled(random.split());
    writeFollows(directory.resolve(Importer.FOLLOWS), rank, random.split(), linesDone);
    writePosts(directory.resolve(Importer.POSTS), random.split(), linesDone);
  }

  /** The name of a user by number. */
  static String name(int user) {
    int pairs = FIRST.size() * SECOND.size();
    // Consecutive users shall not look alike: 233 has no divisor in common with the pairs.
    int pair = (int) (user * 233L % pairs);
    var words = FIRST.get(pair % FIRST.size()) + "_" + SECOND.get(pair / FIRST.size());
    return user < pairs ? words : words + (user / pairs + 1);
  }

  private void writeFollows(Path file, int[] rank, SplittableRandom random, LongConsumer linesDone)
      throws IOException {
    var popularity = sums(POPULARITY);
    var counts = shares(follows, ZEAL, Math.min(users - 1, User.MOST_FOLLOWED), random);
    try (var out = Files.newBufferedWriter(file)) {
      out.write("# follower, followed\n");
      for (int user = 0; user < users; user++) {
        var chosen = new BitSet();
        chosen.set(user);
        for (int i = 0; i < counts[user]; i++) {
          int followed = unchosen(chosen, popularity, rank, random);
          chosen.set(followed);
          out.write(name(user) + "\t" + name(followed) + "\n");
        }
        linesDone.accept(counts[user]);
      }
    }
  }

  /** Somebody by popularity; when chance names only those already chosen, the next one free. */
  private int unchosen(BitSet chosen, double[] popularity, int[] rank, SplittableRandom random) {
    int user = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
      user = rank[pick(popularity, random)];
      if (!chosen.get(user)) {
        return user;
      }
    }
    int free = chosen.nextClearBit(user);
    return free < users ? free : chosen.nextClearBit(0);
  }

  private void writePosts(Path file, SplittableRandom random, LongConsumer linesDone)
      throws IOException {
    var counts = shares(posts, ZEAL, Integer.MAX_VALUE, random);
    try (var out = Files.newBufferedWriter(file)) {
      out.write("# author, time, text\n");
      for (int user = 0; user < users; user++) {
        writePosts(out, user, counts[user], random);
        linesDone.accept(counts[user]);
      }
    }
  }

  private void writePosts(BufferedWriter out, int user, int count, SplittableRandom random)
      throws IOException {
    var start = until.minus(YEAR);
    // One post in each of equal stretches of the year, so that no two have the same time.
    double stretch = (double) YEAR.toMillis() / Math.max(1, count);
    for (int i = 0; i < count; i++) {
      long millis = (long) ((i + random.nextDouble()) * stretch);
      var at = start.plusMillis(millis).truncatedTo(ChronoUnit.MILLIS);
      out.write(name(user) + "\t" + at + "\t" + text(random) + "\n");
    }
  }

  private String text(SplittableRandom random) {
    var sentence =
        String.join(
            " ",
            any(OPENINGS, random),
            any(SUBJECTS, random),
            any(DOINGS, random),
            any(ENDINGS, random));
    return sentence.replace("%s", name(random.nextInt(users)));
  }

  private static String any(List<String> words, SplittableRandom random) {
    return words.get(random.nextInt(words.size()));
  }

  /** Users in the order of their popularity. */
  private int[] shuffled(SplittableRandom random) {
    var order = new int[users];
    for (int i = 0; i < users; i++) {
      int j = random.nextInt(i + 1);
      order[i] = order[j];
      order[j] = i;
    }
    return order;
  }

  /** Running sums of the weights 1, 1/2^a, 1/3^a… */
  private double[] sums(double exponent) {
    var sums = new double[users];
    double sum = 0;
    for (int i = 0; i < users; i++) {
      sum += Math.pow(i + 1, -exponent);
      sums[i] = sum;
    }
    return sums;
  }

  private static int pick(double[] sums, SplittableRandom random) {
    int found = Arrays.binarySearch(sums, random.nextDouble() * sums[sums.length - 1]);
    return Math.min(found < 0 ? -found - 1 : found, sums.length - 1);
  }

  /**
   * Divides {@code total} among the users by a power law, in random order, each at most so much.
   */
  private int[] shares(int total, double exponent, int most, SplittableRandom random) {
    var sums = sums(exponent);
    var order = shuffled(random);
    var shares = new int[users];
    long given = 0;
    for (int i = 0; i < users; i++) {
      long due = (long) (total * (sums[i] / sums[users - 1])) - given;
      shares[order[i]] = (int) Math.min(due, most);
      given += shares[order[i]];
    }
    for (int i = 0; given < total; i = (i + 1) % users) {
      if (shares[order[i]] < most) {
        shares[order[i]]++;
        given++;
      }
    }
    return shares;
  }

  private static List<String> words(String text) {
    return words(text, " ");
  }

  private static List<String> words(String text, String separator) {
    return List.of(text.split(separator, -1));
  }
}
