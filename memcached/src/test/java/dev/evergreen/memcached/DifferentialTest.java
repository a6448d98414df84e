package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers.Mode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The same random commands, whole and malformed, in pipelines and cut anywhere, to this server and
 * to Debian's memcached 1.6.18; the replies must be the same to the byte. Only CAS numbers may be
 * others, if they are equal where memcached's are equal. More by {@code
 * -Devergreen.memcached.seeds=N}.
 *
 * <p>One departure is by choice: a get with a key of more than 250 bytes makes memcached forget the
 * replies to the commands before it; here it is answered alone, so it is left out.
 *
 * <p>Another one: a flush with a delay makes memcached forget the flushes before it, so that items
 * come back to life; so there is none.
 *
 * <p>Another one: the reply to {@code mg KEY b N k} shows the key as it was given, encoded, and not
 * as bytes that may be no text; so N goes without b.
 *
 * <p>What is left out because 1.6.18 and current memcached differ: the flags E, C of mg, s and N of
 * ms, and x of md; because it shows the store's inside: stats, l, and all of me but the key and
 * whether it was read; and t of what has expired, which memcached shows as a number below zero that
 * has wrapped around. Seconds are compared by the thousand, as those of two servers need not be the
 * same.
 */
@Timeout(300)
class DifferentialTest {
  private static final int SEEDS = Integer.getInteger("evergreen.memcached.seeds", 60);
  private static final int MUTATED = Integer.getInteger("evergreen.memcached.fuzz", 200);

  /** memcached needs a system call for each reply, so that a long one takes seconds. */
  private static final int LONGEST_COMPLETION = 50_000;

  private static final String NOBODYS_NUMBER = "9999999999";

  private static final Pattern CAS =
      Pattern.compile(
          "(?=\\d)(?<=^VALUE [^ ]{1,300} \\d{1,10} \\d{1,9} |^(HD|EX|VA)( .{0,400})? c)\\d+",
          Pattern.MULTILINE);

  private static final Pattern DESCRIPTION =
      Pattern.compile(
          "^(ME .{1,400}) exp=-?\\d+ la=\\d+ cas=\\d+ (fetch=\\w+) cls=\\d+ size=\\d+",
          Pattern.MULTILINE);

  private static final Pattern SECONDS =
      Pattern.compile("(?=\\d)(?<=^(HD|VA)[^\\r]{0,400} t)\\d+", Pattern.MULTILINE);

  @ParameterizedTest
  @EnumSource
  void randomCommandsAreAnsweredAsByMemcached(Mode mode) throws Exception {
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var ours = TestServer.start(mode)) {
      for (int seed = 0; seed < SEEDS; seed++) {
        try (var there = new Client(reference.port());
            var here = ours.connect()) {
          compare(seed, there, here);
        }
      }
    }
  }

  /**
   * Seen: the reply to a command whose name was a number was taken for the end, if it came alone.
   */
  @ParameterizedTest
  @EnumSource
  void noReplyIsTakenForTheEndOfTheDialogue(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.send("mg b O1\r\n");
      while (client.socket.getInputStream().available() < "EN O1\r\n".length()) {
        Thread.sleep(1);
      }
      assertEquals("EN O1\r\nMN\r\n", client.exchange("mn\r\n"));
    }
  }

  /** What is a number to C, or nearly one. */
  @Test
  void valuesAreNumbersAsInMemcached() throws Exception {
    var values =
        List.of(
            "+5",
            "-5",
            "-0",
            " 7",
            "\t3",
            "5 x",
            "5\0x",
            "5x",
            "0005",
            "+",
            "- 1",
            "+-1",
            "-18446744073709551615",
            "-9223372036854775808",
            "18446744073709551616");
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var ours = TestServer.start(Mode.PROCESSORS);
        var there = reference.connect();
        var here = ours.connect()) {
      for (var value : values) {
        var commands =
            "set n 0 0 " + value.length() + "\r\n" + value + "\r\nincr n 1\r\ndecr n 2\r\n";
        assertEquals(there.exchange(commands), here.exchange(commands), value);
      }
    }
  }

  /** memcached keeps long values in pieces, and looks at neither their digits nor their number. */
  @Test
  void longValuesAreNoNumbersWhateverTheirCas() throws Exception {
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var ours = TestServer.start(Mode.PROCESSORS);
        var there = reference.connect();
        var here = ours.connect()) {
      for (int length : List.of(1, 400_000, 524_227, 524_228, 524_229, 524_230, 700_000)) {
        var set = "set n 0 0 " + length + "\r\n" + "x".repeat(length) + "\r\n";
        for (var command : List.of("ma n C999\r\n", "ma n v\r\n", "incr n 1\r\n")) {
          assertEquals(
              there.exchange(set + command), here.exchange(set + command), length + command);
        }
      }
    }
  }

  /** How an item comes by a time of three seconds, or one that is over; K is its key. */
  private static final List<String> ENDING =
      List.of(
          "set K 5 3 1\r\n5\r\n",
          "set K 5 -1 1\r\n5\r\n",
          "set K 5 2592001 1\r\n5\r\n",
          "set K 5 0 1\r\n5\r\ntouch K 3\r\n",
          "set K 5 0 1\r\n5\r\ngat 3 K\r\n",
          "set K 5 0 1\r\n5\r\nmg K T3\r\n",
          "set K 5 0 1\r\n5\r\nma K T3\r\n",
          "set K 5 0 1\r\n5\r\nmd K I T3\r\n",
          "set K 5 3 1\r\n5\r\nincr K 1\r\n",
          "set K 5 3 1\r\n5\r\nappend K 0 0 1\r\n1\r\n",
          "set K 5 3 1\r\n5\r\nms K 1 MP T0\r\n1\r\n",
          "set K 5 3 1\r\n5\r\nmg K R30\r\n",
          "set K 5 3 1\r\n5\r\ntouch K 0\r\n",
          "ms K 1 T3 I\r\n5\r\n",
          "mg K N3\r\n",
          "mg K N0 T3\r\n",
          "mg K T3 N0\r\n",
          "ma K N3 J5\r\n",
          "ma K N0 T3\r\n");

  /** What may be asked of such an item afterwards. */
  private static final List<String> AFTERWARDS =
      List.of(
          "get K\r\n",
          "gat 0 K\r\n",
          "touch K 100\r\n",
          "incr K 1\r\n",
          "ma K v\r\n",
          "add K 0 0 1\r\nz\r\n",
          "replace K 0 0 1\r\nz\r\n",
          "append K 0 0 1\r\nz\r\n",
          "ms K 1 ME\r\nz\r\n",
          "mg K v f h\r\n",
          "mg K N30 v\r\n",
          "mg K R30 v\r\n",
          "md K I\r\n",
          "me K\r\n");

  @Test
  void itemsEndAsInMemcachedWhateverGaveThemTheirTime() throws Exception {
    var before = new StringBuilder();
    var after = new StringBuilder();
    for (var ending : ENDING) {
      for (var then : AFTERWARDS) {
        var key = "k" + before.length();
        before.append(ending.replace("K", key));
        after.append(then.replace("K", key)).append("mg K v f h\r\n".replace("K", key));
      }
    }
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var ours = TestServer.start(Mode.PROCESSORS);
        var there = reference.connect();
        var here = ours.connect()) {
      for (var client : List.of(there, here)) {
        client.exchange(before.toString());
        client.exchange("set last 0 4 1\r\nx\r\n");
      }
      for (var client : List.of(there, here)) {
        while (client.exchange("mg last\r\n").startsWith("HD")) {
          Thread.sleep(10);
        }
      }
      assertEquals(
          new Side(there).ask(List.of(after.toString())),
          new Side(here).ask(List.of(after.toString())));
    }
  }

  /**
   * What has other replies by choice or for the reasons above; docs/memcached.md says which. A
   * number that becomes shorter is padded by memcached only if no reply refers to the item.
   */
  private static final Pattern APART =
      Pattern.compile(
          "\\x00|[^ \\n]{251}|[^\\n]{2000}|\\b(stats|me|ma|incr|decr|version|slabs|lru|lru_crawler|watch"
              + "|shutdown|cache_memlimit|refresh_certs|flush_all|quit)\\b"
              + "|m[gsd] [^\\n]* [ECxhlstNbd]");

  /** What clients sent once, changed by chance. */
  @ParameterizedTest
  @CsvSource({"text, JDK", "text, PROCESSORS", "meta, PROCESSORS"})
  void mutatedInputsAreAnsweredAsByMemcached(String protocol, Mode mode) throws Exception {
    var corpus = Corpus.of(protocol);
    long first = Long.getLong("evergreen.memcached.seed", System.nanoTime());
    System.out.println("mutated inputs beside memcached from seed " + first);
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var ours = TestServer.start(mode)) {
      int compared = 0;
      for (long seed = first; compared < MUTATED; seed++) {
        var input = FuzzTarget.TEXT.input(corpus.mutated(seed));
        var completion = FuzzTarget.TEXT.completion(input);
        if (completion != null
            && completion.length() < LONGEST_COMPLETION
            && !APART.matcher(input + completion).find()) {
          compared++;
          compareOne(seed, input + completion, reference, ours);
        }
      }
    }
  }

  private static void compareOne(long seed, String input, Reference reference, TestServer ours)
      throws Exception {
    try (var there = new Client(reference.port());
        var here = ours.connect()) {
      there.exchange("flush_all\r\n");
      here.exchange("flush_all\r\n");
      var theirs = new Side(there).ask(List.of(input));
      assertEquals(theirs, new Side(here).ask(List.of(input)), () -> "seed " + seed + ": " + input);
    }
  }

  static void compare(int seed, Client there, Client here) throws Exception {
    var random = new Random(seed);
    there.exchange("flush_all\r\n");
    here.exchange("flush_all\r\n");
    var theirs = new Side(there);
    var ours = new Side(here);
    for (int i = 0; i < 60; i++) {
      var commands = RandomCommands.pipeline(random);
      var cuts = random.doubles(random.nextInt(4)).sorted().toArray();
      var expected = theirs.ask(commands);
      assertEquals(expected, ours.ask(commands, cuts), () -> "seed " + seed + ": " + commands);
      if (expected.endsWith("<end>")) {
        return;
      }
    }
  }

  /** One server's view of the dialogue: what it calls the CAS numbers. */
  static final class Side {
    private final Client client;
    private final Map<String, String> names = new HashMap<>();
    private final List<String> numbers = new ArrayList<>();

    Side(Client client) {
      this.client = client;
    }

    /** Sends the commands in pieces, cut at these parts of their length. */
    String ask(List<String> commands, double... cuts) throws Exception {
      var bytes = withNumbers(String.join("", commands));
      int sent = 0;
      for (double cut : cuts) {
        int end = (int) (cut * bytes.length());
        client.send(bytes.substring(sent, end));
        sent = end;
      }
      var reply = DESCRIPTION.matcher(client.exchange(bytes.substring(sent))).replaceAll("$1 $2");
      return byThousands(withNames(reply));
    }

    private static String byThousands(String reply) {
      return SECONDS
          .matcher(reply)
          .replaceAll(match -> "" + (Long.parseLong(match.group()) + 500) / 1000);
    }

    /** A command may name a CAS number that was seen, counted from the last one. */
    private String withNumbers(String text) {
      return Pattern.compile("<cas(\\d)>")
          .matcher(text)
          .replaceAll(
              match -> {
                int back = Integer.parseInt(match.group(1));
                return back < numbers.size()
                    ? numbers.get(numbers.size() - 1 - back)
                    : NOBODYS_NUMBER;
              });
    }

    private String withNames(String reply) {
      return CAS.matcher(reply)
          .replaceAll(
              match ->
                  names.computeIfAbsent(
                      match.group(),
                      number -> {
                        numbers.add(number);
                        return "cas" + numbers.size();
                      }));
    }
  }
}
