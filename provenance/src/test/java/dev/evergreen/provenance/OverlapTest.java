package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is called certain is so, in whatever order overlapping operations really took effect: by the
 * definition, on random histories of several lanes of which the real order is known.
 */
@Timeout(120)
final class OverlapTest {
  private static final long SEED = Long.getLong("evergreen.seed", System.nanoTime());
  private static final int HISTORIES = Integer.getInteger("evergreen.provenance.histories", 400);
  private static final StepsKind STEPS = new StepsKind();

  /** The same store, of which no model is known. */
  static final Specification PLAIN =
      new Specification() {
        @Override
        public String store() {
          return STEPS.store();
        }

        @Override
        public List<Touch> touches(Operation operation) {
          return STEPS.touches(operation);
        }
      };

  @TempDir Path directory;

  /** What happens, in its order. */
  private enum Kind {
    SENT,
    DONE,
    REPLIED
  }

  /** Something that happens to the step of a number. */
  private record Event(Kind kind, int step) {}

  /**
   * A history as it really was.
   *
   * @param lanes of each step its lane, from 0 on
   */
  private record History(List<String> steps, List<Integer> lanes, List<Event> events) {
    static History random(Random random, String prefix) {
      int lanes = 1 + random.nextInt(3);
      int most = 2 + random.nextInt(6);
      var history = new History(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
      var sent = new ArrayList<ArrayDeque<Integer>>();
      var done = new ArrayList<ArrayDeque<Integer>>();
      for (int lane = 0; lane < lanes; lane++) {
        sent.add(new ArrayDeque<>());
        done.add(new ArrayDeque<>());
      }
      // What is under way at the end stays so: its outcome is not known.
      int rest = random.nextInt(4) == 0 ? random.nextInt(6) : 100;
      while (history.steps.size() < most || rest-- > 0) {
        int lane = random.nextInt(lanes);
        switch (random.nextInt(3)) {
          case 0 -> {
            if (history.steps.size() < most) {
              sent.get(lane).add(history.steps.size());
              history.events.add(new Event(Kind.SENT, history.steps.size()));
              history.steps.add(step(random, prefix));
              history.lanes.add(lane);
            }
          }
          case 1 -> move(sent.get(lane), done.get(lane), Kind.DONE, history);
          default -> move(done.get(lane), new ArrayDeque<>(), Kind.REPLIED, history);
        }
      }
      return history;
    }

    private static void move(
        ArrayDeque<Integer> from, ArrayDeque<Integer> to, Kind kind, History history) {
      if (!from.isEmpty()) {
        to.add(from.element());
        history.events.add(new Event(kind, from.remove()));
      }
    }

    /** The steps in the order in which they took effect. */
    List<Integer> done() {
      return events.stream().filter(e -> e.kind() == Kind.DONE).map(Event::step).toList();
    }

    /** The replies of all that took effect. */
    Map<Integer, Bytes> replies() {
      var state = State.initial(true);
      var replies = new HashMap<Integer, Bytes>();
      done().forEach(step -> replies.put(step, run(steps.get(step), state)));
      return replies;
    }

    static Bytes run(String step, State state) {
      return (Bytes) STEPS.run(operation(0, 0, 0, step, -1, null), state);
    }

    /** What the definition says of a question that was asked after these steps, in their order. */
    Definition definition(List<Integer> before, String question) {
      var answers = new ArrayList<Bytes>();
      for (int part = 0; part < 1 << before.size(); part++) {
        var state = State.initial(true);
        for (int i = 0; i < before.size(); i++) {
          if ((part & (1 << i)) != 0) {
            run(steps.get(before.get(i)), state);
          }
        }
        answers.add(run(question, state));
      }
      return new Definition(answers);
    }
  }

  /** A step on one of two keys, or on both. */
  static String step(Random random, String prefix) {
    var key = prefix + (char) ('a' + random.nextInt(2));
    int value = random.nextInt(3);
    return switch (random.nextInt(9)) {
      case 0, 1 -> "set " + key + " " + value;
      case 2 -> "add " + key;
      case 3 -> "nx " + key + " " + value;
      case 4 -> "copy " + key + " " + prefix + (char) ('a' + random.nextInt(2));
      case 5 -> "del " + key;
      case 6 -> "push " + key + " " + value;
      default -> "get " + key;
    };
  }

  private static Operation operation(
      long row, long lane, long sent, String step, long replied, @Nullable Bytes reply) {
    return new Operation(
        row,
        1,
        lane,
        lane,
        "",
        Instant.EPOCH.plusSeconds(sent),
        reply == null ? null : Instant.EPOCH.plusSeconds(replied),
        Arrays.stream(step.split(" ", -1)).map(Bytes::of).toList(),
        reply);
  }

  /** The operations as they are on record, by their steps; rows and times are those of events. */
  private static List<Operation> recorded(History history) {
    var replies = history.replies();
    var operations = new ArrayList<Operation>();
    for (int step = 0; step < history.steps().size(); step++) {
      long sent = history.events().indexOf(new Event(Kind.SENT, step)) + 1L;
      long replied = history.events().indexOf(new Event(Kind.REPLIED, step)) + 1L;
      operations.add(
          operation(
              sent,
              history.lanes().get(step) + 1,
              sent,
              history.steps().get(step),
              replied,
              replied == 0 ? null : replies.get(step)));
    }
    return operations;
  }

  private final Map<Certainty, Integer> counts = new EnumMap<>(Certainty.class);

  /** Checks an answer against what really was. */
  private void check(
      Answer answer, History history, List<Integer> before, Map<Long, Integer> steps, String what) {
    counts.merge(answer.certainty(), 1, Integer::sum);
    var definition = history.definition(before, text(answer));
    var closed = new ArrayList<Boolean>();
    for (var witness : answer.witnesses()) {
      var elements = new HashSet<Long>();
      boolean real = true;
      for (long row : witness.rows()) {
        int place = before.indexOf(steps.get(row));
        real &= place >= 0;
        elements.add(place + 1L);
      }
      closed.add(real && definition.isClosed(elements));
    }
    if (answer.certainty() == Certainty.CERTAIN) {
      assertTrue(!closed.isEmpty() && !closed.contains(false), what);
      if (answer.reply() != null) {
        assertEquals(replyAfter(history, before, text(answer)), answer.reply(), what);
      }
    } else {
      assertEquals(Certainty.ONE_OF, answer.certainty(), what);
      assertTrue(answer.truncated() || closed.contains(true), what);
    }
  }

  private static String text(Answer answer) {
    return answer.question().text();
  }

  private static Bytes replyAfter(History history, List<Integer> before, String question) {
    var state = State.initial(true);
    before.forEach(step -> History.run(history.steps().get(step), state));
    return History.run(question, state);
  }

  private static Operation question(long row, String text) {
    return new Operation(
        row,
        1,
        0,
        0,
        "",
        Instant.EPOCH.plusSeconds(1_000_000),
        null,
        Arrays.stream(text.split(" ", -1)).map(Bytes::of).toList(),
        null);
  }

  @Test
  void whatIsCertainIsSo() {
    var random = new Random(SEED);
    for (int number = 0; number < HISTORIES; number++) {
      var history = History.random(random, "");
      checkAll(history, "seed %d, %d of %s".formatted(SEED, number, history));
    }
    // Neither of the two is all that is ever said.
    assertTrue(counts.getOrDefault(Certainty.CERTAIN, 0) > HISTORIES, counts.toString());
    assertTrue(counts.getOrDefault(Certainty.ONE_OF, 0) > HISTORIES / 10, counts.toString());
  }

  /** What was not tried is not certain. */
  @Test
  void whatIsCertainIsSoHoweverLittleIsTried() {
    var random = new Random(SEED);
    for (int number = 0; number < HISTORIES; number++) {
      var history = History.random(random, "");
      var effort = new Why.Effort(1 + random.nextInt(4), 1L << random.nextInt(10), 200);
      checkAll(history, "seed %d, %d of %s, %s".formatted(SEED, number, history, effort), effort);
    }
    assertTrue(counts.getOrDefault(Certainty.CERTAIN, 0) > HISTORIES, counts.toString());
    assertTrue(counts.getOrDefault(Certainty.ONE_OF, 0) > HISTORIES / 10, counts.toString());
  }

  /** Of the many orders those that are tried all begin with the same one. */
  @Test
  void whatDependsOnAnOrderThatWasNotTriedIsNotCertain() {
    var history = pushed(List.of(), "");
    var answer = askNow(history, "first a");
    assertEquals(Certainty.ONE_OF, answer.certainty());
    check(answer, history, history.done(), steps(history), "first");
    checkAll(history, "pushed");
  }

  /** What has replaced all of that is certain nevertheless, and tells the reply. */
  @Test
  void whatDependsOnNoneOfTheOrdersThatWereNotTriedIsCertain() {
    var history = pushed(List.of("set a 3", "add a"), " S9 D9 R9 S10 D10 R10");
    var answer = askNow(history, "get a");
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Bytes.of("4"), answer.reply());
    assertEquals(List.of(28L, 31L), answer.witnesses().getFirst().rows());
    checkAll(history, "replaced");
  }

  /** One on a lane, four on each of two others, all under way together, and more behind them. */
  private static History pushed(List<String> more, String events) {
    var steps = new ArrayList<String>();
    var lanes = new ArrayList<Integer>();
    for (int i = 0; i < 9; i++) {
      steps.add(i == 0 ? "push a 1" : "push a 2");
      lanes.add((i + 3) / 4);
    }
    steps.addAll(more);
    more.forEach(_ -> lanes.add(0));
    return history(
        steps,
        lanes,
        "S0 S1 S2 S3 S4 S5 S6 S7 S8 D5 D0 D1 D2 D3 D4 D6 D7 D8 R0 R1 R2 R3 R4 R5 R6 R7 R8"
            + events);
  }

  private static Answer askNow(History history, String question) {
    var trace = new MemoryTrace(STEPS);
    recorded(history).forEach(trace::add);
    return new Why(STEPS, trace).ask(question(Long.MAX_VALUE, question), Why.Wish.ONE);
  }

  private static Map<Long, Integer> steps(History history) {
    var operations = recorded(history);
    var steps = new HashMap<Long, Integer>();
    operations.forEach(one -> steps.put(one.row(), operations.indexOf(one)));
    return steps;
  }

  /** Checks what is said of each operation with a reply, and of what is there in the end. */
  private void checkAll(History history, String name) {
    checkAll(history, name, Why.Effort.USUAL);
  }

  private void checkAll(History history, String name, Why.Effort effort) {
    var operations = recorded(history);
    var steps = steps(history);
    for (var specification : List.of(STEPS, PLAIN)) {
      var trace = new MemoryTrace(specification);
      operations.stream()
          .sorted(java.util.Comparator.comparingLong(Operation::row))
          .forEach(trace::add);
      var why = new Why(specification, trace, effort);
      for (var wish : List.of(Why.Wish.ONE, Why.Wish.ALL)) {
        var what = name + ", " + wish;
        for (var asked : operations) {
          if (asked.reply() != null) {
            var done = history.done();
            var before = done.subList(0, done.indexOf(operations.indexOf(asked)));
            check(why.ask(asked, wish), history, before, steps, asked + " " + what);
          }
        }
        for (var text : List.of("get a", "get b", "first a")) {
          var answer = why.ask(question(Long.MAX_VALUE, text), wish);
          check(answer, history, history.done(), steps, text + " " + what);
        }
      }
    }
  }

  /** A copy of nothing that overlaps the question: the deletion of its source is a cause. */
  @Test
  void whatKeptAnOverlappingOneOfAHigherRowFromWritingIsACause() {
    checkAll(
        history(
            List.of("nx a 1", "del a", "nx b 1", "copy a b"),
            List.of(1, 0, 0, 1),
            "S0 S1 S2 D0 D1 R0 S3 R1 D3 D2 R2 R3"),
        "higher row");
  }

  /** The same with a copy that is below what replaced its target, and may have come after it. */
  @Test
  void whatKeptAnOverlappingOneOfALowerRowFromWritingIsACause() {
    var history =
        history(
            List.of("set a 2", "del a", "copy a b", "set b 1"),
            List.of(0, 0, 0, 1),
            "S0 D0 R0 S1 D1 R1 S2 S3 D3 D2 R2 R3");
    checkAll(history, "lower row");

    var trace = new MemoryTrace(PLAIN);
    recorded(history).forEach(trace::add);
    var answer = new Why(PLAIN, trace).ask(question(Long.MAX_VALUE, "get b"), Why.Wish.ONE);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(List.of(4L, 8L), answer.witnesses().getFirst().rows());
  }

  /** The deletion and the copy overlap the question, and really came after it. */
  @Test
  void whatMayHaveComeAfterTheQuestionIsNoCertainCause() {
    checkAll(
        history(
            List.of("set a 1", "set b 2", "get b", "del a", "copy a b"),
            List.of(0, 0, 1, 2, 2),
            "S0 D0 R0 S1 D1 R1 S2 S3 D2 D3 R3 S4 D4 R4 R2"),
        "after the question");
  }

  /** Copies of nothing in both directions, which depend on each other. */
  @Test
  void copiesThatLeadToEachOtherComeToAnEnd() {
    checkAll(
        history(
            List.of("set a 1", "del a", "copy a b", "copy b a", "get b"),
            List.of(0, 0, 0, 1, 2),
            "S0 D0 R0 S1 D1 R1 S2 S3 S4 D3 D2 D4 R2 R3 R4"),
        "both directions");
  }

  private static History history(List<String> steps, List<Integer> lanes, String events) {
    return new History(
        steps,
        lanes,
        Arrays.stream(events.split(" ", -1))
            .map(
                event ->
                    new Event(
                        switch (event.charAt(0)) {
                          case 'S' -> Kind.SENT;
                          case 'D' -> Kind.DONE;
                          default -> Kind.REPLIED;
                        },
                        Integer.parseInt(event.substring(1))))
            .toList());
  }

  /** The same of what is stored, and of what is left of it when it is folded. */
  @Test
  void whatIsCertainOfAFoldedTraceIsSo() throws Exception {
    var random = new Random(SEED);
    int histories = HISTORIES / 8;
    var all = new ArrayList<History>();
    var rows = new ArrayList<Map<Long, Integer>>();
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", TraceStoreConformance.settings(), redactor, Retention.ALL)) {
      var spool = recording.spool();
      long epoch = spool.epoch("steps", "here", StoreKind.EMPTY);
      long client = spool.connect(epoch, new Client("here", "", "", ""));
      for (int number = 0; number < histories; number++) {
        var history = History.random(random, number + ".");
        all.add(history);
        rows.add(record(history, spool, () -> epoch, client));
      }
    }
    askAll(all, rows, "whole");
    long before = count();
    try (var session =
        LoadSession.open(
            TraceDatabase.of(directory, ""),
            redactor,
            java.nio.file.Files.readString(directory.resolve("spool/id")))) {
      assertTrue(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
    }
    // How much may go depends on the histories; that something of fifty of them may, does not.
    assertTrue(count() < before, () -> "seed %d: all %d are left".formatted(SEED, before));
    askAll(all, rows, "folded");
  }

  /** An epoch may begin while the process of the store goes on, and what is under way with it. */
  @Test
  void whatIsUnderWayOverEpochsOfOneProcessIsNotOver() throws Exception {
    var history =
        history(
            List.of("set 0.b 2", "set 0.b 1", "get 0.a"),
            List.of(0, 1, 0),
            "S0 S1 D1 R1 D0 R0 S2 D2 R2");
    var redactor = Redactor.open(directory, List.of());
    Map<Long, Integer> rows;
    try (var recording =
        Recording.open(directory, "", TraceStoreConformance.settings(), redactor, Retention.ALL)) {
      var spool = recording.spool();
      var facts = StoreKind.PROCESS + "one";
      long first = spool.epoch("steps", "here", facts + "\n" + StoreKind.EMPTY);
      long client = spool.connect(first, new Client("here", "", "", ""));
      rows = record(history, spool, () -> spool.epoch("steps", "here", facts), client);
    }
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var asked = question(Long.MAX_VALUE, "get 0.b");
      long epoch = trace.epoch(Long.MAX_VALUE);
      var ofEpoch =
          new Operation(asked.row(), epoch, 0, 0, "", Instant.now(), null, asked.request(), null);
      for (var specification : List.of(STEPS, PLAIN)) {
        var answer = new Why(specification, trace).ask(ofEpoch, Why.Wish.ONE);
        check(answer, history, history.done(), rows, "over epochs");
        assertEquals(Certainty.ONE_OF, answer.certainty());
      }
    }
  }

  private long count() {
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      return trace.count(0, Long.MAX_VALUE);
    }
  }

  private static Map<Long, Integer> record(
      History history, Spool spool, LongSupplier epoch, long client) {
    var replies = history.replies();
    var lanes = new HashMap<Integer, Long>();
    var steps = new HashMap<Long, Integer>();
    var rows = new HashMap<Integer, Long>();
    for (var event : history.events()) {
      int step = event.step();
      switch (event.kind()) {
        case SENT -> {
          long lane =
              lanes.computeIfAbsent(
                  history.lanes().get(step), _ -> spool.lane(epoch.getAsLong(), "lane"));
          rows.put(step, spool.request(client, lane, -1, Frames.bytes(history.steps().get(step))));
          steps.put(rows.get(step), step);
        }
        case DONE -> {}
        case REPLIED ->
            spool.reply(
                rows.getOrDefault(step, 0L),
                Frames.bytes(replies.getOrDefault(step, Bytes.EMPTY).text()));
      }
    }
    return steps;
  }

  private void askAll(List<History> all, List<Map<Long, Integer>> rows, String state) {
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      long epoch = trace.epoch(Long.MAX_VALUE);
      for (var specification : List.of(STEPS, PLAIN)) {
        var why = new Why(specification, trace);
        for (int number = 0; number < all.size(); number++) {
          var history = all.get(number);
          for (var key : Set.of("a", "b")) {
            var asked = question(Long.MAX_VALUE, "get " + number + "." + key);
            var ofEpoch =
                new Operation(
                    asked.row(), epoch, 0, 0, "", asked.sent(), null, asked.request(), null);
            var what = "seed %d, %s, %s of %s".formatted(SEED, state, ofEpoch, history);
            check(why.ask(ofEpoch, Why.Wish.ONE), history, history.done(), rows.get(number), what);
          }
        }
      }
    }
  }
}
