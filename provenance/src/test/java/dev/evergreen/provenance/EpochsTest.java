package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What is called certain is so, also where epochs begin while something is under way: by the
 * definition, on random histories that a small store really carries out while they are recorded.
 */
@Timeout(300)
final class EpochsTest {
  private static final long SEED = Long.getLong("evergreen.seed", System.nanoTime());
  private static final int HISTORIES = Integer.getInteger("evergreen.provenance.histories", 400);
  private static final int TOGETHER = 50;
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final StepsKind STEPS = new StepsKind();

  /** That a store has lost what it had, among the steps that it has carried out. */
  private static final int WIPED = -1;

  @TempDir Path directory;

  private final Map<Certainty, Integer> counts = new EnumMap<>(Certainty.class);

  /** A store as it is recorded, by one recorder for one history after the other. */
  private static final class Recorded {
    private Spool spool;
    private long epoch;
    private long client;
    private int process;

    Recorded(Spool spool) {
      this.spool = spool;
      begin(true);
    }

    void begin(boolean seenEmpty) {
      beginEpoch(seenEmpty);
      client = spool.connect(epoch, new Client("here", "", "", ""));
    }

    private String facts() {
      return StoreKind.PROCESS + process;
    }

    /** Whoever looks may see that the store has nothing then. */
    void beginEpoch(boolean seenEmpty) {
      epoch = spool.epoch("steps", "here", facts() + (seenEmpty ? "\n" + StoreKind.EMPTY : ""));
    }

    void beginProcess(boolean seenEmpty) {
      process++;
      beginEpoch(seenEmpty);
    }
  }

  /** A connection to the store, which is another lane in each epoch. */
  private static final class Line {
    final ArrayDeque<Integer> sent = new ArrayDeque<>();
    final ArrayDeque<Integer> done = new ArrayDeque<>();
    final List<Long> lanes = new ArrayList<>();
    long epoch;
  }

  /**
   * A history of two keys: what is sent, what the store does, and what the recorder hears of it.
   */
  private static final class History {
    final List<String> steps = new ArrayList<>();
    final List<String> log = new ArrayList<>();

    /** What took effect, in its order. */
    final List<Integer> effects = new ArrayList<>();

    final Map<Integer, Bytes> replies = new HashMap<>();
    final Map<Integer, Long> rows = new HashMap<>();
    final Map<Long, Integer> stepOf = new HashMap<>();

    /** The rows of those whose replies are on record. */
    final List<Long> heard = new ArrayList<>();

    private final Recorded recorded;
    private final String prefix;
    private final List<Line> lines = new ArrayList<>();

    /** What was sent on lines that the recorder has lost, and the store has still to carry out. */
    private final List<ArrayDeque<Integer>> strays = new ArrayList<>();

    /** The same of what recorders have sent that have ended. */
    private final List<ArrayDeque<Integer>> formerStrays = new ArrayList<>();

    /** Whether a recorder has ended. */
    private boolean hasFormer;

    /** Whether something may have had no room on record. */
    private boolean mayHaveGaps;

    private State state = State.initial(true);

    /** The row behind all of it. */
    long end;

    History(Recorded recorded, String prefix, int lines) {
      this.recorded = recorded;
      this.prefix = prefix;
      for (int i = 0; i < lines; i++) {
        this.lines.add(new Line());
      }
    }

    void send(int line, String step) {
      var to = lines.get(line);
      if (to.epoch != recorded.epoch) {
        to.epoch = recorded.epoch;
        to.lanes.add(recorded.spool.lane(recorded.epoch, "lane"));
      }
      int number = steps.size();
      steps.add(step);
      to.sent.add(number);
      long row =
          recorded.spool.request(recorded.client, to.lanes.getLast(), -1, Frames.bytes(step));
      rows.put(number, row);
      stepOf.put(row, number);
      log.add("S%d on %d: %s".formatted(row, line, step));
    }

    /** The store carries out what comes next on a line. */
    void carryOut(int line) {
      var from = lines.get(line);
      if (!from.sent.isEmpty()) {
        from.done.add(from.sent.element());
        takeEffect(from.sent.remove());
      }
    }

    private void takeEffect(int step) {
      replies.put(step, run(steps.get(step), state));
      effects.add(step);
      log.add("D" + rows.get(step));
    }

    void hear(int line) {
      var step = lines.get(line).done.poll();
      if (step != null) {
        long row = rows.getOrDefault(step, 0L);
        var reply = Frames.bytes(replies.getOrDefault(step, Bytes.EMPTY).text());
        if (recorded.spool.reply(row, reply) >= 0) {
          heard.add(row);
        }
        log.add("R" + row);
      }
    }

    /** The recorder does not hear of what was done, though of what comes behind it. */
    void miss(int line) {
      var step = lines.get(line).done.poll();
      if (step != null) {
        unknown(step);
      }
    }

    private void unknown(int step) {
      recorded.spool.unanswered(rows.getOrDefault(step, 0L), Unanswered.OUTCOME_UNKNOWN);
      log.add("U" + rows.get(step));
    }

    /** The line ends, but what was sent on it may come to the store nevertheless. */
    void lose(int line) {
      var lost = lines.set(line, new Line());
      lost.done.forEach(this::unknown);
      lost.sent.forEach(this::unknown);
      lost.lanes.forEach(lane -> recorded.spool.endLane(lane, false));
      strays.add(lost.sent);
      log.add("lost " + line);
    }

    void stray(Random random) {
      var all = new ArrayList<>(strays);
      all.addAll(formerStrays);
      if (!all.isEmpty()) {
        var step = all.get(random.nextInt(all.size())).poll();
        if (step != null) {
          takeEffect(step);
        }
      }
    }

    void beginEpoch(boolean looks) {
      recorded.beginEpoch(looks && isEmpty());
      log.add("epoch %d %s".formatted(recorded.epoch, looks && isEmpty()));
    }

    private boolean isEmpty() {
      return state.below(Cell.ALL).isEmpty();
    }

    /**
     * Another process does nothing of what was sent before; of lines one hears late that they
     * ended.
     */
    void beginProcess(Random random) {
      strays.clear();
      formerStrays.clear();
      if (random.nextBoolean()) {
        state = State.initial(true);
        effects.add(WIPED);
        log.add("wiped");
      }
      var late = new ArrayList<Integer>();
      for (int line = 0; line < lines.size(); line++) {
        if (random.nextBoolean()) {
          late.add(line);
        } else {
          end(line);
        }
      }
      boolean seenEmpty = isEmpty() && random.nextInt(4) > 0;
      if (seenEmpty) {
        // Whatever the one before was told: this one begins as a new one does.
        effects.add(WIPED);
      }
      recorded.beginProcess(seenEmpty);
      log.add("process %d %s".formatted(recorded.epoch, seenEmpty));
      for (int line : late) {
        if (random.nextBoolean()) {
          hear(line);
        }
        end(line);
      }
    }

    private void end(int line) {
      lose(line);
      strays.removeLast();
    }

    /** Another recorder goes on, which hears nothing of what was under way. */
    void beginRecorder(Spool next, Random random) {
      for (var line : lines) {
        strays.add(line.sent);
      }
      lines.replaceAll(_ -> new Line());
      formerStrays.addAll(strays);
      strays.clear();
      hasFormer = true;
      recorded.spool = next;
      log.add("another recorder");
      if (random.nextBoolean()) {
        look();
      }
      recorded.begin(random.nextBoolean() && isEmpty());
      log.add("epoch " + recorded.epoch);
    }

    /** The recorder looks whether the store has anything left of what others have sent. */
    void look() {
      if (hasFormer && formerStrays.stream().allMatch(ArrayDeque::isEmpty)) {
        recorded.spool.formerIsOver("" + recorded.process);
        log.add("over");
      }
    }

    /** Replaces what is there, on a line of which all is heard. */
    void set(String key) {
      lines.add(new Line());
      int line = lines.size() - 1;
      send(line, "set " + prefix + key + " 1");
      carryOut(line);
      hear(line);
    }

    void sendAny(Random random) {
      send(random.nextInt(lines.size()), step(random));
    }

    /** Few steps, of which most are under way together, and most change what another one does. */
    void happen(Random random, int most) {
      int rest = random.nextInt(3) == 0 ? random.nextInt(6) : 40;
      while (steps.size() < most || rest-- > 0) {
        int line = random.nextInt(lines.size());
        switch (random.nextInt(60)) {
          case 0 -> beginEpoch(random.nextBoolean());
          case 1 -> {
            if (random.nextInt(3) == 0) {
              beginProcess(random);
            }
          }
          case 2 -> {
            if (random.nextBoolean()) {
              lose(line);
            }
          }
          case 3, 4 -> stray(random);
          case 5 -> {
            if (random.nextBoolean()) {
              miss(line);
            }
          }
          default -> {
            switch (random.nextInt(3)) {
              case 0 -> {
                if (steps.size() < most) {
                  send(line, step(random));
                }
              }
              case 1 -> carryOut(line);
              default -> hear(line);
            }
          }
        }
      }
    }

    private String step(Random random) {
      return random.nextInt(3) == 0 ? "del " + prefix + "a" : OverlapTest.step(random, prefix);
    }

    /** The store does all that there is to do, and the recorder hears of it what it can. */
    void answerAll() {
      for (int line = 0; line < lines.size(); line++) {
        while (!lines.get(line).sent.isEmpty()) {
          carryOut(line);
        }
        while (!lines.get(line).done.isEmpty()) {
          hear(line);
        }
      }
      for (var left : formerStrays) {
        while (!left.isEmpty()) {
          takeEffect(left.remove());
        }
      }
    }

    void end() {
      send(0, "get z");
      end = rows.getOrDefault(steps.size() - 1, 0L);
      for (int line = 0; line < lines.size(); line++) {
        // It stays so: who asks knows no more.
        lines.get(line).sent.clear();
      }
    }

    static Bytes run(String step, State state) {
      return (Bytes) STEPS.run(operation(step), state);
    }

    /** What took effect before an operation of that row, or before its end. */
    List<Integer> before(long row) {
      int place = effects.indexOf(stepOf.getOrDefault(row, WIPED - 1));
      return place < 0 ? effects : effects.subList(0, place);
    }

    private Bytes reply(List<Integer> before, int part, String question) {
      var after = State.initial(true);
      for (int i = 0; i < before.size(); i++) {
        if (before.get(i) == WIPED) {
          after.clear(Cell.ALL);
        } else if ((part & (1 << i)) != 0) {
          run(steps.get(before.get(i)), after);
        }
      }
      return run(question, after);
    }

    /** Checks an answer against what really was. */
    void check(Answer answer, List<Integer> before, String what) {
      var certainty = answer.certainty();
      if (certainty == Certainty.BEFORE_RECORDING || (mayHaveGaps && certainty == Certainty.GAP)) {
        return;
      }
      boolean certain = certainty == Certainty.CERTAIN;
      assertTrue(certain || certainty == Certainty.ONE_OF, certainty + " " + what);
      if (!certain && answer.truncated()) {
        return;
      }
      var question = answer.question().text();
      var answers = new ArrayList<Bytes>();
      for (int part = 0; part < 1 << before.size(); part++) {
        answers.add(reply(before, part, question));
      }
      var definition = new Definition(answers);
      var closed = new ArrayList<Boolean>();
      for (var witness : answer.witnesses()) {
        var elements = new HashSet<Long>();
        boolean real = true;
        for (long row : witness.rows()) {
          int place = before.indexOf(stepOf.get(row));
          real &= place >= 0;
          elements.add(place + 1L);
        }
        closed.add(real && definition.isClosed(elements));
      }
      if (certain) {
        assertTrue(!closed.isEmpty() && !closed.contains(false), () -> what + answer);
        if (answer.reply() != null) {
          assertEquals(answers.getLast(), answer.reply(), what);
        }
      } else {
        assertTrue(closed.contains(true), () -> what + answer);
      }
    }
  }

  private static Operation operation(String step) {
    var words = STEPS.words(Bytes.of(step));
    var time = java.time.Instant.EPOCH;
    return new Operation(0, 1, 0, 0, "", time, null, words, null);
  }

  private static Operation asked(StoredTrace trace, long row, String text) {
    var sent = trace.operation(row).orElseThrow().sent();
    var words = STEPS.words(Bytes.of(text));
    return new Operation(row, trace.epoch(row), 0, 0, "", sent, null, words, null);
  }

  private Recording record(Path place) throws Exception {
    return Recording.open(
        place,
        "",
        TraceStoreConformance.settings(),
        Redactor.open(place, List.of()),
        Retention.ALL);
  }

  private void askAll(Path place, List<History> histories, long seed) {
    try (var trace = StoredTrace.open(place.toString(), Duration.ZERO)) {
      var why = new Why(STEPS, trace);
      var plain = new Why(OverlapTest.PLAIN, trace);
      for (var history : histories) {
        var what = " seed %d: %s ".formatted(seed, history.log);
        for (var key : List.of("a", "b")) {
          var question = asked(trace, history.end, "get " + history.prefix + key);
          check(why.ask(question, Why.Wish.ONE), history, history.effects, question + what);
          check(why.ask(question, Why.Wish.ALL), history, history.effects, question + what);
          check(plain.ask(question, Why.Wish.ONE), history, history.effects, question + what);
        }
        for (long row : history.heard) {
          var question = trace.operation(row).orElseThrow();
          check(why.ask(question, Why.Wish.ONE), history, history.before(row), question + what);
        }
      }
    }
  }

  private void check(Answer answer, History history, List<Integer> before, String what) {
    counts.merge(answer.certainty(), 1, Integer::sum);
    history.check(answer, before, what);
  }

  /**
   * An epoch may begin while the process of the store goes on, and what is under way with it. One
   * of another process ends everything.
   */
  @Test
  void whatIsCertainOverEpochsOfOneProcessIsSo() throws Exception {
    for (int begun = 0; begun < HISTORIES; begun += TOGETHER) {
      long seed = SEED + begun;
      var random = new Random(seed);
      var place = directory.resolve("of " + begun);
      var histories = new ArrayList<History>();
      try (var recording = record(place)) {
        var recorded = new Recorded(recording.spool());
        for (int number = 0; number < TOGETHER; number++) {
          var history = new History(recorded, number + ".", 2 + random.nextInt(2));
          history.happen(random, 2 + random.nextInt(4));
          history.end();
          histories.add(history);
        }
        assertTrue(recording.awaitLoaded(LONG));
      }
      askAll(place, histories, seed);
    }
    // None of these is all that is ever said.
    for (var certainty : List.of(Certainty.CERTAIN, Certainty.ONE_OF, Certainty.BEFORE_RECORDING)) {
      assertTrue(counts.containsKey(certainty), counts.toString());
    }
  }

  /** A directory in which one recorder after the other records, with little room. */
  private final class Small {
    private static final int MOST_RECORDERS = 4;
    private final Random random;
    private Path place;
    private int recorders;

    Small(Random random, Path place) {
      this.random = random;
      this.place = place;
    }

    Spool begin() throws Exception {
      recorders++;
      return Spool.open(place.resolve("spool"), DroppedTest.SMALL);
    }

    /** Lets nothing more be recorded until there is room. */
    void fill(History history) {
      var spool = history.recorded.spool;
      long lane = spool.lane(history.recorded.epoch, "filler");
      for (int length = Spool.PIECE; length > 0; length /= 4) {
        while (spool.push(0, lane, ByteBuffer.allocate(length)) > 0) {
          // Until it is full.
        }
      }
      history.mayHaveGaps = true;
      history.log.add("full");
    }

    void makeRoom(History history) throws Exception {
      makeRoom(history, place);
      history.log.add("room");
    }

    private static void makeRoom(History history, Path where) throws Exception {
      var spool = history.recorded.spool;
      spool.release(DroppedTest.load(where, where.resolve("spool")));
      long lane = spool.lane(history.recorded.epoch, "filler");
      while (spool.push(0, lane, Frames.bytes("room")) < 0) {
        Thread.onSpinWait();
      }
    }

    /** The recorder ends, or is killed, and another one begins. */
    void change(History history) throws Exception {
      if (recorders == MOST_RECORDERS) {
        return;
      }
      var last = place;
      if (random.nextBoolean()) {
        place = directory.resolve(place.getFileName() + "'");
        Frames.copyTrace(last, place);
      }
      // Else its end waits for room.
      makeRoom(history, last);
      history.recorded.spool.close();
      history.beginRecorder(begin(), random);
    }

    /** Something between the steps; what is sent right before or behind it may come late. */
    void happen(History history) throws Exception {
      switch (random.nextInt(5)) {
        case 0 -> {
          fill(history);
          history.sendAny(random);
        }
        case 1 -> makeRoom(history);
        case 2, 3 -> {
          history.sendAny(random);
          change(history);
        }
        default -> history.look();
      }
    }
  }

  /**
   * Some of what is sent has no room on record, recorders end or are killed, and what they have
   * left comes when nobody expects it.
   */
  @Test
  void whatIsCertainOverRecordersIsSo() throws Exception {
    for (int number = 0; number < Math.max(25, HISTORIES / 16); number++) {
      long seed = SEED + number;
      var random = new Random(seed);
      var small = new Small(random, directory.resolve("small " + number));
      var recorded = new Recorded(small.begin());
      var history = new History(recorded, "", 2 + random.nextInt(2));
      while (history.steps.size() < 6) {
        history.happen(random, history.steps.size() + random.nextInt(3));
        small.happen(history);
      }
      small.makeRoom(history);
      if (random.nextBoolean()) {
        // Else few gaps would ever end.
        history.answerAll();
        history.look();
      }
      history.happen(random, history.steps.size() + 1);
      history.set("a");
      history.set("b");
      for (int i = 0; i < 6; i++) {
        history.stray(random);
      }
      history.end();
      long _ = DroppedTest.load(small.place, small.place.resolve("spool"));
      recorded.spool.close();
      askAll(small.place, List.of(history), seed);
    }
    for (var certainty : List.of(Certainty.CERTAIN, Certainty.ONE_OF, Certainty.GAP)) {
      assertTrue(counts.containsKey(certainty), counts.toString());
    }
  }

  /**
   * Behind the epoch there is only a deletion, which really came first and found nothing. That the
   * store had nothing when the epoch began does not tell what has come since.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatWasSentBeforeAnEpochMayComeAfterIt(boolean seenEmpty) throws Exception {
    var place = directory.resolve("one");
    History history;
    try (var recording = record(place)) {
      history = new History(new Recorded(recording.spool()), "", 2);
      history.send(0, "set b 2");
      history.beginEpoch(seenEmpty);
      history.send(1, "del b");
      history.carryOut(1);
      history.hear(1);
      history.carryOut(0);
      history.hear(0);
      history.end();
      assertTrue(recording.awaitLoaded(LONG));
    }
    askAll(place, List.of(history), 0);
    assertFalse(counts.containsKey(Certainty.ONE_OF), counts.toString());
  }
}
