package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.TraceView;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is old may be folded: the answers of now stay as they were. */
@Timeout(300)
final class FoldedAnswersTest {
  /** So many operations are tried all; see {@link Why}. */
  private static final int FEW = 60;

  private static final Duration LONG = Duration.ofSeconds(60);
  private static final int OPERATIONS = 1_500;
  private static final int KEYS = 400;

  private static final List<Histories.Family> OF_A_KEY =
      Histories.MIXED.stream()
          .filter(family -> !List.of("sorting", "scans").contains(family.name()))
          .toList();

  private static final int QUESTIONS = Integer.getInteger("evergreen.oracle.histories", 2000) / 50;

  @TempDir private Path directory;

  private Recording record(Retention retention) throws IOException {
    return new Recorded(directory)
        .record(SpoolSettings.DEFAULT.withSegmentBytes(1 << 20).withBytes(16 << 20), retention);
  }

  @Test
  void namesTheSameCausesWhenTheOldIsFolded() throws Exception {
    long seed = Long.getLong("evergreen.seed", System.nanoTime());
    var random = new Random(seed);
    try (var recording = record(Retention.ALL);
        var shimmed =
            Shimmed.start(
                settings ->
                    settings.withSpool(recording.spool()).withRedactor(recording.redactor()));
        var client = shimmed.client()) {
      for (var step : Histories.steps(random, Histories.MIXED, OPERATIONS, false)) {
        client.ask(step.getFirst().split(" ", -1));
      }
      assertTrue(recording.awaitLoaded(LONG));
    }
    var questions = new ArrayList<String>();
    for (int i = 0; i < QUESTIONS; i++) {
      questions.add(Histories.question(random, Histories.MIXED));
    }
    var now = Instant.now();
    long before;
    List<Told> whole;
    try (var trace = StoredTrace.open(directory.toString(), LONG)) {
      before = trace.count(0, Long.MAX_VALUE);
      whole = answers(trace, questions, now);
    }
    try (var recording = record(new Retention(Duration.ZERO, Long.MAX_VALUE));
        var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      awaitFolded(trace);
      assertTrue(recording.awaitLoaded(LONG));
      long left = trace.count(0, Long.MAX_VALUE);
      assertTrue(left < before / 2, left + " of " + before + " are left");
      var folded = answers(trace, questions, now);
      for (int i = 0; i < QUESTIONS; i++) {
        assertSame(whole.get(i), folded.get(i), questions.get(i) + ", seed " + seed);
      }
    }
  }

  /**
   * Of most keys little was written. Where something was replaced that is folded, a witness may
   * hold more, but nothing that the walk does not find.
   */
  @Test
  void namesTheSameCausesOfKeysThatWereLittleWritten() throws Exception {
    long seed = Long.getLong("evergreen.seed", System.nanoTime());
    var random = new Random(seed);
    var questions = new ArrayList<String>();
    try (var recording = record(Retention.ALL);
        var shimmed =
            Shimmed.start(
                settings ->
                    settings.withSpool(recording.spool()).withRedactor(recording.redactor()));
        var client = shimmed.client()) {
      for (int i = 0; i < KEYS; i++) {
        var prefix = "h" + i + ":";
        var family = OF_A_KEY.get(random.nextInt(OF_A_KEY.size()));
        for (var step : Histories.steps(random, List.of(family), 2 + random.nextInt(5), false)) {
          if (!step.getFirst().matches("(SWAPDB|FLUSH|MOVE).*|.*DB 1")) {
            client.ask(of(prefix, step.getFirst()).split(" ", -1));
          }
        }
        questions.add(of(prefix, Histories.question(random, List.of(family))));
      }
      assertTrue(recording.awaitLoaded(LONG));
    }
    questions.removeIf(question -> question.matches("(KEYS|DBSIZE).*"));
    var now = Instant.now();
    List<Told> whole;
    List<List<String>> walked;
    try (var trace = StoredTrace.open(directory.toString(), LONG)) {
      whole = answers(trace, questions, now);
      walked = questions.stream().map(question -> walked(trace, question, now)).toList();
    }
    try (var recording = record(new Retention(Duration.ZERO, Long.MAX_VALUE));
        var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      awaitFolded(trace);
      assertTrue(recording.awaitLoaded(LONG));
      var folded = answers(trace, questions, now);
      int same = 0;
      for (int i = 0; i < questions.size(); i++) {
        var before = whole.get(i).json();
        var after = folded.get(i).json();
        var what = questions.get(i) + ", seed " + seed;
        assertEquals(conclusion(before), conclusion(after), what);
        if (before.equals(after)) {
          same++;
        } else {
          assertTrue(walked.get(i).containsAll(rows(after)), what + ": " + after);
          assertFalse(operations(after) > operations(before) && folded.get(i).minimal(), what);
        }
      }
      assertTrue(same > questions.size() * 9 / 10, same + " are the same, seed " + seed);
    }
  }

  private static List<String> walked(StoredTrace trace, String question, Instant now) {
    var rows = new ArrayList<String>();
    new Why(trace.kind(trace.epoch(Long.MAX_VALUE)).specification(), trace)
        .chain(asked(trace, question, now))
        .forEachRemaining(operation -> rows.add("\"row\":" + operation.row()));
    return rows;
  }

  private static Operation asked(StoredTrace trace, String question, Instant now) {
    var words = Stream.of(question.split(" ", -1)).map(Bytes::of).toList();
    long epoch = trace.epoch(Long.MAX_VALUE);
    return new Operation(Long.MAX_VALUE, epoch, 0, 0, "0", now, null, words, null);
  }

  /** A command on keys of a history's own. */
  private static String of(String prefix, String command) {
    return command.replaceAll("(?<= )([ab])(?= |$)", prefix + "$1");
  }

  private static void awaitFolded(StoredTrace trace) throws InterruptedException {
    long deadline = System.nanoTime() + LONG.toNanos();
    while (trace.folded() == 0 && System.nanoTime() < deadline) {
      Thread.sleep(50);
    }
    assertTrue(trace.folded() > 0, "nothing was folded");
  }

  @Test
  void keepsWhatIsQueuedAsLongAsItsExec() throws Exception {
    try (var recording = record(Retention.ALL);
        var shimmed =
            Shimmed.start(
                settings ->
                    settings.withSpool(recording.spool()).withRedactor(recording.redactor()));
        var client = shimmed.client()) {
      for (var line :
          List.of("SET x 0", "SET y 0", "MULTI", "SET x 1", "SET y 1", "EXEC", "SET y 2")) {
        client.ask(line.split(" ", -1));
      }
      assertTrue(recording.awaitLoaded(LONG));
    }
    var questions = List.of("GET x", "GET y");
    var now = Instant.now();
    List<Told> whole;
    try (var trace = StoredTrace.open(directory.toString(), LONG)) {
      whole = answers(trace, questions, now);
    }
    try (var recording = record(new Retention(Duration.ZERO, Long.MAX_VALUE));
        var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      awaitFolded(trace);
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(whole, answers(trace, questions, now));
    }
  }

  /** A later EXEC looks for what is watched, and must not look farther than before. */
  @Test
  void keepsWhatHasEndedAWatchAsLongAsItsConnection() throws Exception {
    try (var recording = record(new Retention(Duration.ZERO, Long.MAX_VALUE));
        var shimmed =
            Shimmed.start(
                settings ->
                    settings.withSpool(recording.spool()).withRedactor(recording.redactor()));
        var other = shimmed.client();
        var trace = StoredTrace.open(directory.toString(), LONG)) {
      try (var client = shimmed.client()) {
        for (var line :
            List.of("WATCH a", "UNWATCH", "WATCH b", "MULTI", "INCR n", "EXEC", "WATCH c")) {
          client.ask(line.split(" ", -1));
        }
        other.ask("SET", "n", "7");
        var kept = List.of("MULTI", "INCR n", "EXEC", "WATCH c");
        assertEquals(kept, awaitOthers(recording, trace, other, kept));
      }
      assertEquals(List.of(), awaitOthers(recording, trace, other, List.of()));
    }
  }

  /** What is left of all that others do, as soon as it is that, while one goes on. */
  private static List<String> awaitOthers(
      Recording recording, StoredTrace trace, Talk one, List<String> expected) throws IOException {
    long deadline = System.nanoTime() + 2 * LONG.toNanos();
    while (true) {
      one.ask("APPEND", "k", "x");
      // Else it would be asked faster than it is folded.
      assertTrue(recording.awaitLoaded(LONG));
      var left =
          trace.from(1, 10_000).stream()
              .map(Operation::text)
              .filter(text -> !text.matches("APPEND.*|SET.*"))
              .toList();
      if (left.equals(expected) || System.nanoTime() - deadline >= 0) {
        return left;
      }
    }
  }

  /**
   * An answer.
   *
   * @param minimal whether nothing can be left out of its witness, for all that was tried
   */
  private record Told(String json, boolean minimal) {
    boolean isUnknown() {
      return json.startsWith("{\"reply\":null");
    }
  }

  /**
   * The same in all if few operations led to it. Of many only some are tried, and less is left to
   * be tried when the old is folded: then the witness may be another one or a smaller one, and the
   * reply be known.
   */
  private static void assertSame(Told whole, Told folded, String what) {
    boolean madeKnown = whole.isUnknown() && !folded.isUnknown();
    boolean madeSmaller =
        !whole.minimal() && (folded.minimal() || isPart(rows(folded.json()), rows(whole.json())));
    boolean few = operations(whole.json()) < FEW && operations(folded.json()) < FEW;
    if (few && !madeKnown && !madeSmaller) {
      assertEquals(whole.json(), folded.json(), what);
    } else if (!whole.isUnknown() && !folded.isUnknown()) {
      assertEquals(conclusion(whole.json()), conclusion(folded.json()), what);
    }
  }

  private static int operations(String answer) {
    return rows(answer).size();
  }

  private static List<String> rows(String answer) {
    return Pattern.compile("\"row\":[0-9]+")
        .matcher(answer)
        .results()
        .map(MatchResult::group)
        .toList();
  }

  private static boolean isPart(List<String> some, List<String> all) {
    return some.size() < all.size() && all.containsAll(some);
  }

  /** The reply, and how certain it is. */
  private static String conclusion(String answer) {
    return answer.substring(0, answer.indexOf("\"witnesses\""));
  }

  /** Each with its reply, how certain it is, and the operations of a witness. */
  private static List<Told> answers(StoredTrace trace, List<String> questions, Instant now) {
    var view = new TraceView(trace);
    long epoch = trace.epoch(Long.MAX_VALUE);
    var specification = trace.kind(epoch).specification();
    var answers = new ArrayList<Told>();
    for (var question : questions) {
      var answer = new Why(specification, trace).ask(asked(trace, question, now), Why.Wish.ONE);
      answers.add(new Told(TraceView.json(view.element(answer)), answer.minimal()));
    }
    return answers;
  }
}
