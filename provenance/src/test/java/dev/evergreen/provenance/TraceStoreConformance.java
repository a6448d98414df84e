package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a trace must do in either database, from the recorder to the questions. */
@Timeout(120)
abstract class TraceStoreConformance {
  private static final Duration LONG = Duration.ofSeconds(20);
  static final Client ANNA = new Client("127.0.0.1:1", "anna", "", "tiny");

  @TempDir Path directory;
  private String url = "";

  /** The URL of a new database; empty for the file in the directory. */
  abstract String newUrl() throws Exception;

  @BeforeEach
  void chooseDatabase() throws Exception {
    url = newUrl();
  }

  String url() {
    return url;
  }

  static SpoolSettings settings() {
    return SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(16 << 20);
  }

  Recording record() throws IOException {
    return record(Retention.ALL, List.of());
  }

  Recording record(Retention retention, List<Pattern> rules) throws IOException {
    var redactor = Redactor.open(directory, rules);
    return Recording.open(directory, url, settings(), redactor, retention);
  }

  StoredTrace trace() {
    return StoredTrace.open(url.isEmpty() ? directory.toString() : url, Duration.ZERO);
  }

  /** A connection to look at the tables. */
  Connection database() throws SQLException {
    return TraceDatabase.of(directory, url).reader();
  }

  long count(String sql) throws SQLException {
    try (var connection = database();
        var statement = connection.createStatement();
        var found = statement.executeQuery(sql)) {
      found.next();
      return found.getLong(1);
    }
  }

  /** What the tests record with: a client on a lane. */
  record Line(Spool spool, long epoch, long connection, long lane) {
    static Line open(Recording recording) {
      var spool = recording.spool();
      long epoch = spool.epoch("tiny", "here", "content: empty");
      return new Line(spool, epoch, spool.connect(epoch, ANNA), spool.lane(epoch, "shared"));
    }

    long send(String request) {
      return spool.request(connection, lane, 0, Frames.bytes(request));
    }

    long unanswered(String request) {
      long row = send(request);
      spool.unanswered(row, Unanswered.NONE_EXPECTED);
      return row;
    }

    long exchange(String request, String reply) {
      long row = send(request);
      spool.reply(row, Frames.bytes(reply));
      return row;
    }
  }

  static List<Long> rows(Iterator<Operation> operations) {
    var rows = new ArrayList<Long>();
    operations.forEachRemaining(operation -> rows.add(operation.row()));
    return rows;
  }

  static Cell key(String key) {
    return Cell.of("0", key);
  }

  @Test
  void findsTheWritersOfACellTheNewestFirst() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long first = line.exchange("set a 1", "ok");
      line.exchange("set b 1", "ok");
      long clear = line.exchange("clear", "ok");
      line.exchange("get a", "1");
      long last = line.exchange("set a 2", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(List.of(last, clear, first), rows(trace.writers(key("a"), Long.MAX_VALUE)));
        assertEquals(List.of(clear, first), rows(trace.writers(key("a"), last)));
        assertEquals(List.of(clear), rows(trace.writers(key("none"), last)));
        assertEquals(4, rows(trace.writers(Cell.of("0"), Long.MAX_VALUE)).size());
        var operation = trace.operation(first).orElseThrow();
        assertEquals("set a 1", operation.text());
        assertEquals("0", operation.space());
        assertEquals(Bytes.of("ok"), operation.reply());
        assertEquals("tiny", trace.kind(operation.epoch()).specification().store());
        assertEquals(ANNA, trace.connection(operation.connection()).orElseThrow().client());
        assertEquals(
            List.of(last, last - 2),
            rows(trace.ofConnection(line.connection(), Long.MAX_VALUE)).subList(0, 2));
        assertEquals(1, trace.connections("anna").size());
        assertEquals(last + 1, trace.rowAfter(operation.sent().plusSeconds(3600)));
        assertEquals(first, trace.rowAfter(operation.sent().minusNanos(1)));
      }
    }
  }

  @Test
  void takesOverWhatAFormerVersionHasFolded() throws Exception {
    long folded;
    try (var recording = record()) {
      var line = Line.open(recording);
      line.exchange("set a 1", "ok");
      folded = line.exchange("set b 1", "ok");
      line.exchange("set c 1", "ok");
      recording.awaitLoaded(LONG);
    }
    try (var connection = TraceDatabase.of(directory, url).connect();
        var statement = connection.createStatement()) {
      statement.executeUpdate("update trace set version = 2, folded = " + folded);
    }
    assertCovers(folded, "as it is");
    var before = count("select count(*) from op_cell where kind = 2 and effect = 1");
    record().close();
    assertEquals(before, count("select count(*) from op_cell where kind = 2 and effect = 1"));
    assertCovers(folded, "taken over");
    record().close();
    assertCovers(folded, "taken over long ago");
  }

  /** Below that row all that has replaced something may have replaced what is folded. */
  private void assertCovers(long folded, String when) {
    try (var trace = trace()) {
      for (var operation : trace.from(1, 100)) {
        boolean below = operation.row() < folded;
        assertEquals(!below, trace.covered(operation).isEmpty(), operation.text() + " " + when);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 99})
  void saysWhatToDoWithATraceThatItCannotRead(long version) throws Exception {
    record().close();
    try (var connection = TraceDatabase.of(directory, url).connect();
        var statement = connection.createStatement()) {
      statement.executeUpdate("update trace set version = " + version);
    }
    var reading = assertThrows(TraceException.class, this::trace);
    assertTrue(reading.toString().contains("of version " + version), reading.toString());
    assertTrue(reading.toString().contains("the program that has recorded"), reading.toString());
    var writing =
        assertThrows(TraceException.class, () -> TraceDatabase.of(directory, url).writer());
    assertEquals(reading.getMessage(), writing.getMessage());
    var recording = assertThrows(IOException.class, this::record);
    assertEquals(reading.getMessage(), recording.getMessage());
  }

  @Test
  void mergesAndLooksThroughManyCells() throws Exception {
    var random = new Random(4);
    try (var recording = record()) {
      var line = Line.open(recording);
      var expected = new ArrayList<Long>();
      for (int i = 0; i < 2_000; i++) {
        expected.addFirst(
            line.exchange("set key:" + random.nextInt(i < 1_000 ? 20 : 500) + " v", "ok"));
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var all = trace.writers(Cell.of("0"), Long.MAX_VALUE);
        assertEquals(expected, rows(all));
        long middle = expected.get(1_000);
        assertEquals(expected.subList(1_001, 2_000), rows(trace.writers(Cell.of("0"), middle)));
      }
    }
  }

  @Test
  void keepsOperationsWithoutAReply() throws Exception {
    long unknown;
    try (var recording = record()) {
      var line = Line.open(recording);
      unknown = line.send("set a 1");
      long unsent = line.send("set a 2");
      recording.spool().unanswered(unsent, Unanswered.NOT_SENT);
      long silent = line.send("set a 3");
      recording.spool().unanswered(silent, Unanswered.NONE_EXPECTED);
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        // Also one whose reply may still come may have had an effect.
        assertEquals(List.of(silent, unknown), rows(trace.writers(key("a"), Long.MAX_VALUE)));
        assertTrue(trace.operation(unknown).orElseThrow().outcomeUnknown());
        // The store may have refused it.
        assertTrue(trace.operation(silent).orElseThrow().outcomeUnknown());
      }
      recording.spool().endLane(line.lane(), true);
      assertTrue(recording.awaitLoaded(LONG));
    }
    assertEquals(1, count("select count(*) from op where outcome = 3"));
    assertEquals(2, count("select effect from op_cell where seq = " + unknown));
  }

  /** The store may have been restarted since: the request belongs to the life it was sent in. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void endsWhatWasStillComingWhenItsLaneEnded(boolean whole) throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var spool = line.spool();
      var coming = spool.beginRequest(line.connection(), line.lane(), 0);
      coming.add(Frames.bytes("set a 1"));
      spool.endLane(line.lane(), true);
      assertTrue(recording.awaitLoaded(LONG));
      long next = spool.epoch("tiny", "here", "");
      if (whole) {
        coming.end();
      } else {
        coming.cut();
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(line.epoch(), trace.operation(coming.number()).orElseThrow().epoch());
      }
      assertEquals(3, count("select outcome from op where seq = " + coming.number()));
      assertTrue(next > line.epoch());
      assertEquals(0, count("select count(*) from lane where until is null"));
    }
  }

  /** However the loader's transactions fall. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatNoReplyIsDueToIsOverWithTheFirstReplyBehindIt(boolean apart) throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var silent = new ArrayList<Long>();
      var replied = new ArrayList<Long>();
      for (int i = 0; i < 3; i++) {
        silent.add(line.unanswered("set a " + i));
        replied.add(line.exchange("set b " + i, "ok"));
        assertTrue(!apart || recording.awaitLoaded(LONG));
      }
      assertTrue(recording.awaitLoaded(LONG));
      for (int i = 0; i < 3; i++) {
        assertEquals(
            count("select replied_seq from op where seq = " + replied.get(i)),
            count("select replied_seq from op where seq = " + silent.get(i)));
      }
    }
  }

  /** Without its spool nobody knows what is recorded and not loaded: it may be the last write. */
  @Test
  void saysWhetherItKnowsThatAllIsLoaded() throws Exception {
    try (var recording = record()) {
      Line.open(recording).exchange("set a 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var known = StoredTrace.open(directory, url, Duration.ZERO);
          var trace = trace()) {
        assertEquals(StoredTrace.Rest.NONE, known.awaitLoaded(LONG).rest());
        var expected = url.isEmpty() ? StoredTrace.Rest.NONE : StoredTrace.Rest.NOT_KNOWN;
        assertEquals(expected, trace.awaitLoaded(LONG).rest());
      }
    }
  }

  @Test
  void completesAnOperationThatWasLoadedBeforeItsReplyCame() throws Exception {
    long late;
    try (var recording = record()) {
      var line = Line.open(recording);
      late = line.send("set a 1");
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(0, count("select outcome from op where seq = " + late));
      line.spool().reply(late, Frames.bytes("ok"));
    }
    assertEquals(1, count("select outcome from op where seq = " + late));
    assertEquals(1, count("select effect from op_cell where seq = " + late));
    assertEquals(1, count("select count(*) from op"));
    try (var trace = trace()) {
      assertEquals(Bytes.of("ok"), trace.operation(late).orElseThrow().reply());
    }
  }

  @Test
  void forgetsWhatAnOperationCouldHaveWrittenWhenItsReplyTellsThatItDidNot() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long late = line.send("set a 1");
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(1, count("select count(*) from op_cell"));
      line.spool().reply(late, Frames.bytes("queued"));
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(0, count("select count(*) from op_cell"));
    }
  }

  @Test
  void findsThePartsOfATransactionAlsoAcrossBatches() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long part = line.exchange("set a 1", "queued");
      assertTrue(recording.awaitLoaded(LONG));
      long other = line.exchange("set b 1", "queued");
      long commit = line.exchange("commit", "2");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(List.of(commit), rows(trace.writers(key("a"), Long.MAX_VALUE)));
        var parts = trace.operation(commit).orElseThrow().parts();
        assertEquals(List.of(part, other), parts.stream().map(Operation::row).toList());
      }
    }
  }

  /** Its parts may end before it is loaded, or after. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTransactionWithoutAReplyCouldHaveWrittenWhatItsPartsWrite(boolean late) throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long part = line.send("set a 1");
      if (!late) {
        line.spool().reply(part, Frames.bytes("queued"));
      }
      long commit = line.send("commit");
      assertTrue(recording.awaitLoaded(LONG));
      if (late) {
        line.spool().reply(part, Frames.bytes("queued"));
        assertTrue(recording.awaitLoaded(LONG));
      }
      try (var trace = trace()) {
        assertEquals(List.of(commit), rows(trace.writers(key("a"), Long.MAX_VALUE)));
      }
      line.spool().reply(commit, Frames.bytes("aborted"));
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(0, count("select count(*) from op_cell"), "nothing stays of what it did not do");
    }
  }

  @Test
  void keepsBodiesByTheirLength() throws Exception {
    var small = "x".repeat(Payload.LARGEST_IN_ROW - 6);
    var large = "y".repeat(300_000);
    try (var recording = record()) {
      var line = Line.open(recording);
      long inRow = line.exchange("set a " + small, "ok");
      long apart = line.exchange("get b", large);
      long again = line.exchange("get b", large);
      long huge = line.send("get c");
      var body = recording.spool().beginReply(huge);
      var piece = ByteBuffer.allocateDirect(1 << 20);
      for (int i = 0; i < 17; i++) {
        body.add(piece);
        assertTrue(recording.awaitLoaded(LONG));
      }
      body.end();
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(small, trace.operation(inRow).orElseThrow().request().get(2).text());
        assertEquals(Bytes.of(large), trace.operation(apart).orElseThrow().reply());
        assertEquals(Bytes.of(large), trace.operation(again).orElseThrow().reply());
        var head = trace.operation(huge).orElseThrow().reply();
        assertEquals(Payload.HEAD, head == null ? -1 : head.length());
      }
      assertEquals(1, count("select count(*) from body"));
      assertEquals(17 << 20, count("select reply_length from op where seq = " + huge));
      assertEquals(0, count("select count(*) from piece"));
      assertEquals(0, count("select count(*) from begun"));
    }
  }

  @Test
  void readsLongBodiesAFewAtATime() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var expected = new ArrayList<Long>();
      for (int i = 0; i < 8; i++) {
        expected.addFirst(line.exchange("set a " + "y".repeat(3 << 20), "ok"));
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(6, trace.from(0, 100).size());
        assertEquals(expected, rows(trace.writers(key("a"), Long.MAX_VALUE)));
      }
    }
  }

  @Test
  void tellsWhereTheRecordIsNotWhole() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long a = line.exchange("set a 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertTrue(trace.lastBreak(key("a"), Long.MAX_VALUE).isEmpty());
      }
      line.spool().gap("the shim could not read");
      line.exchange("set a 2", "ok");
      long epoch = line.spool().epoch("tiny", "here", "");
      line.spool().outside(epoch, Frames.bytes("somebody"));
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(Trace.Break.Kind.OUTSIDE, kindOfBreak(trace, Long.MAX_VALUE));
        assertEquals(Trace.Break.Kind.BEGINNING, kindOfBreak(trace, epoch + 1));
        assertEquals(Trace.Break.Kind.GAP, kindOfBreak(trace, epoch));
        assertTrue(trace.lastBreak(key("a"), a + 1).isEmpty());
      }
    }
  }

  /**
   * Of another process that has nothing, nothing of before is a cause. If it may be the same, what
   * was done before is why it has nothing.
   */
  @Test
  void beginsAnewWithAnotherProcessThatHasNothing() throws Exception {
    try (var recording = record()) {
      var spool = recording.spool();
      var one = begin(spool, StoreKind.PROCESS + "one", StoreKind.EMPTY);
      one.exchange("set a 1", "ok");
      one.send("set b 1");
      spool.gap("the shim could not read");
      var another = begin(spool, StoreKind.PROCESS + "two", StoreKind.EMPTY);
      long b = another.exchange("set b 2", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var why = new Why(StoreKind.named("tiny").orElseThrow().specification(), trace);
        var empty = why.ask(question(trace, Long.MAX_VALUE, "get", "a"), Why.Wish.ONE);
        assertEquals(Answer.Certainty.CERTAIN, empty.certainty(), empty::toString);
        assertEquals(List.of(), empty.witnesses().getFirst().rows());
        var set = why.ask(question(trace, Long.MAX_VALUE, "get", "b"), Why.Wish.ONE);
        assertEquals(Answer.Certainty.CERTAIN, set.certainty(), set::toString);
        assertEquals(List.of(b), set.witnesses().getFirst().rows());
        assertEquals(Trace.Break.Kind.GAP, kindOfBreak(trace, another.epoch()));
        for (var facts :
            List.of(
                StoreKind.PROCESS + "three",
                StoreKind.PROCESS + "three\n" + StoreKind.EMPTY,
                StoreKind.EMPTY)) {
          begin(spool, facts);
          assertTrue(recording.awaitLoaded(LONG));
          var asked = question(trace, Long.MAX_VALUE, "get", "a");
          assertEquals(
              Answer.Certainty.BEFORE_RECORDING, why.ask(asked, Why.Wish.ONE).certainty(), facts);
        }
      }
    }
  }

  /** Else what was sent to it would be no cause of what it answers now. */
  @Test
  void knowsNoProcessForAnotherThatMayHaveBeenThereBefore() throws Exception {
    var two = StoreKind.PROCESS + "two";
    for (var between : List.of("", two)) {
      try (var recording = record()) {
        var spool = recording.spool();
        begin(spool, StoreKind.PROCESS + "one").exchange("set a 1", "ok");
        begin(spool, between).exchange("del a", "1");
        var last = between.isEmpty() ? two : StoreKind.PROCESS + "one";
        begin(spool, last, StoreKind.EMPTY);
        assertTrue(recording.awaitLoaded(LONG));
        try (var trace = trace()) {
          var why = new Why(StoreKind.named("tiny").orElseThrow().specification(), trace);
          var asked = question(trace, Long.MAX_VALUE, "get", "a");
          assertEquals(
              Answer.Certainty.BEFORE_RECORDING, why.ask(asked, Why.Wish.ONE).certainty(), between);
        }
      }
    }
  }

  private static Line begin(Spool spool, String... facts) {
    long epoch = spool.epoch("tiny", "here", String.join("\n", facts));
    return new Line(spool, epoch, spool.connect(epoch, ANNA), spool.lane(epoch, "shared"));
  }

  /** Also with more signs than are known by heart, and those that come while it is asked. */
  @Test
  void findsTheLastSignOfWhatDidNotPassForEachCell() throws Exception {
    var random = new Random(6);
    try (var recording = record()) {
      var line = Line.open(recording);
      line.exchange("set a 1", "ok");
      var names = "x".repeat(4_000);
      for (int i = 0; i * 4_000L < StoredBreaks.MOST_OUTSIDE; i++) {
        var name = "key k" + (i < 50 ? i : 50 + i % 7) + names;
        line.spool().outside(line.epoch(), Frames.bytes(name));
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        for (int i = 0; i < 2; i++) {
          for (int j = 0; j < 4; j++) {
            var wanted = key("k" + random.nextInt(60) + names);
            long before = random.nextLong(recording.spool().report().nextNumber() + 1);
            assertEquals(
                lastSign(wanted, before),
                trace.lastBreak(wanted, before).map(Trace.Break::row).orElse(0L));
          }
          assertEquals(
              lastSign(Cell.of("0"), Long.MAX_VALUE),
              trace.lastBreak(Cell.of("0"), Long.MAX_VALUE).orElseThrow().row());
          assertTrue(trace.outsideKnown() <= 3 * StoredBreaks.MOST_OUTSIDE);
          line.spool().outside(line.epoch(), Frames.bytes("key k" + i + names));
          assertTrue(recording.awaitLoaded(LONG));
        }
      }
    }
  }

  private long lastSign(Cell cell, long before) throws SQLException {
    try (var connection = database();
        var statement = connection.createStatement();
        var found = statement.executeQuery("select seq, evidence from outside order by seq desc")) {
      var kind = StoreKind.named("tiny").orElseThrow();
      while (found.next()) {
        if (found.getLong(1) < before
            && kind.outside(Bytes.of(found.getBytes(2))).stream().anyMatch(cell::overlaps)) {
          return found.getLong(1);
        }
      }
      return 0;
    }
  }

  static Trace.Break.Kind kindOfBreak(Trace trace, long before) {
    return trace.lastBreak(key("a"), before).orElseThrow().kind();
  }

  LoadSession session() throws Exception {
    return session(Files.readString(directory.resolve("spool/id")));
  }

  private LoadSession session(String spool) throws Exception {
    return LoadSession.open(
        TraceDatabase.of(directory, url), Redactor.open(directory, List.of()), spool);
  }

  @Test
  void keepsWhatAnswersNeedWhenItFoldsTheOld() throws Exception {
    long source;
    long copy;
    long failed;
    long deleted;
    long old;
    try (var recording = record()) {
      var line = Line.open(recording);
      line.exchange("set a 0", "ok");
      source = line.exchange("set a 1", "ok");
      copy = line.exchange("copy a b", "1");
      old = line.exchange("get b", "1");
      line.exchange("set a 2", "ok");
      deleted = line.exchange("set a 3", "ok");
      failed = line.exchange("setnx b 9", "0");
    }
    try (var session = session()) {
      assertTrue(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
      assertFalse(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
    }
    try (var trace = trace()) {
      var kept = trace.from(0, 100).stream().map(Operation::row).toList();
      assertEquals(List.of(source, copy, deleted, failed), kept);
      var kind = StoreKind.named("tiny").orElseThrow();
      var why = new Why(kind.specification(), trace);
      var now = question(trace, Long.MAX_VALUE, "get", "b");
      assertEquals(List.of(copy, source), rows(why.chain(now)));
      assertEquals(Answer.Certainty.CERTAIN, why.ask(now, Why.Wish.ONE).certainty());
      // Of the past itself, not all is there.
      var past = why.ask(question(trace, old, "get", "a"), Why.Wish.ONE);
      assertEquals(Answer.Certainty.BEFORE_RECORDING, past.certainty());
      assertTrue(past.truncated());
    }
  }

  /** Also if that are more than are folded at once. */
  @ParameterizedTest
  @ValueSource(ints = {1, 20_010})
  void foldsBehindWhatWasRecordedWhileTheClockWasWrong(int ahead) throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < ahead + 4; i++) {
        line.exchange("set a " + i, "ok");
      }
      assertTrue(recording.awaitLoaded(LONG));
    }
    try (var writer = TraceDatabase.of(directory, url).writer();
        var clock = writer.createStatement()) {
      clock.executeUpdate(
          "update op set sent = sent + 3600000000000"
              + " where seq in (select seq from op order by seq limit %d)".formatted(ahead));
      writer.commit();
    }
    try (var session = session()) {
      assertTrue(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
      while (session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE))) {
        // The rest.
      }
    }
    // Of each part the last one stays.
    assertTrue(count("select count(*) from op") <= 1 + ahead / 20_000);
  }

  /** Those are as old as what is behind them; which is not old, if nothing says so. */
  @Test
  void foldsNothingThatMayBeYoung() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < 5; i++) {
        line.exchange("set a " + i, "ok");
      }
    }
    try (var writer = TraceDatabase.of(directory, url).writer();
        var clock = writer.createStatement()) {
      clock.executeUpdate(
          "update op set sent = sent + 3600000000000 where seq = (select min(seq) from op)");
      writer.commit();
    }
    try (var session = session()) {
      assertFalse(session.fold(new Retention(Duration.ofHours(1), Long.MAX_VALUE)));
    }
    assertEquals(5, count("select count(*) from op"));
  }

  /** Else it would be beside all that is written since. */
  @Test
  void whatNobodyKnowsOfIsOverWhenWhatCameBehindItWasRepliedTo() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var spool = line.spool();
      long number = line.send("set a 1");
      spool.unanswered(number, Unanswered.OUTCOME_UNKNOWN);
      line.exchange("get b", "");
      long other = spool.lane(line.epoch(), "other");
      new Line(spool, line.epoch(), line.connection(), other).exchange("set a 2", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(Answer.Certainty.CERTAIN, certainty("a"));
      long last = new Line(spool, line.epoch(), line.connection(), other).send("set a 3");
      spool.unanswered(last, Unanswered.OUTCOME_UNKNOWN);
      line.exchange("set a 4", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      assertEquals(Answer.Certainty.ONE_OF, certainty("a"));
    }
  }

  private Answer.Certainty certainty(String key) {
    try (var trace = trace()) {
      var specification = StoreKind.named("tiny").orElseThrow().specification();
      var asked = question(trace, Long.MAX_VALUE, "get", key);
      return new Why(specification, trace).ask(asked, Why.Wish.ONE).certainty();
    }
  }

  /** It is over when what came behind it on its lane was replied to. */
  @Test
  void foldsWhatNoReplyIsDueToOnceItIsOver() throws Exception {
    long last;
    long open;
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < 10; i++) {
        line.unanswered("set a " + i);
        assertTrue(i % 5 > 0 || recording.awaitLoaded(LONG));
      }
      last = line.exchange("set a 10", "ok");
      line.exchange("set b 1", "ok");
      open = line.unanswered("set b 2");
    }
    assertEquals(13, count("select count(*) from op"));
    try (var session = session()) {
      assertTrue(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
    }
    try (var trace = trace()) {
      var kept = trace.from(0, 100).stream().map(Operation::row).toList();
      assertFalse(kept.stream().anyMatch(row -> row < last), kept::toString);
      assertTrue(kept.containsAll(List.of(last, open)), kept::toString);
    }
  }

  @Test
  void keepsTheBodiesOfMessagesAsLongAsTheMessages() throws Exception {
    var gone = "g".repeat(100_000);
    var again = "a".repeat(100_000);
    var read = "r".repeat(100_000);
    try (var recording = record()) {
      var line = Line.open(recording);
      for (var message : List.of(gone, again)) {
        line.spool().push(line.connection(), line.lane(), Frames.bytes(message));
      }
      line.exchange("get a", read);
      line.exchange("get b", gone);
      for (var message : List.of(again, read)) {
        line.spool().push(line.connection(), line.lane(), Frames.bytes(message));
      }
    }
    assertEquals(3, count("select count(*) from body"));
    try (var session = session()) {
      assertTrue(session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE)));
    }
    assertEquals(0, count("select count(*) from op"));
    assertEquals(2, count("select count(*) from push"));
    assertEquals(
        2, count("select count(*) from body where hash in (select message_hash from push)"));
    assertEquals(2, count("select count(*) from body"));
  }

  @Test
  void letsMessagesGoThatNoOperationFollows() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < 3_000; i++) {
        line.spool().push(line.connection(), line.lane(), Frames.bytes("message " + i));
      }
    }
    assertEquals(3_000, count("select count(*) from push"));
    try (var session = session()) {
      assertFalse(session.fold(Retention.ALL));
      while (session.fold(new Retention(Duration.ZERO, Long.MAX_VALUE))) {
        // A part at a time.
      }
    }
    assertEquals(0, count("select count(*) from push"));
  }

  static Operation question(StoredTrace trace, long row, String... words) {
    var request = java.util.stream.Stream.of(words).map(Bytes::of).toList();
    long epoch = trace.epoch(Long.MAX_VALUE);
    return new Operation(row, epoch, 0, 0, "0", java.time.Instant.now(), null, request, null);
  }

  /** Nobody goes on in the middle of what was recorded together, so nobody stops there. */
  @Test
  void loadsWhatWasRecordedTogetherAlsoWithInterruptions() throws Exception {
    int frames = 25;
    var requests = batch("set a 1");
    var replies = batch("ok");
    try (var spool = Spool.open(directory.resolve("spool"), settings())) {
      Redactor.open(directory, List.of());
      long epoch = spool.epoch("tiny", "here", "content: empty");
      long connection = spool.connect(epoch, ANNA);
      long lane = spool.lane(epoch, "shared");
      for (int i = 0; i < frames; i++) {
        spool.replies(spool.requests(connection, lane, 0, requests), replies);
      }
    }
    for (int i = 0; i < 20; i++) {
      // A transaction each time.
      Recording.loadWhatIsLeft(directory, url, Duration.ofMillis(5));
    }
    Recording.loadWhatIsLeft(directory, url, LONG);
    assertEquals(frames * (long) Spool.MOST_TOGETHER, count("select count(*) from op"));
    assertEquals(0, count("select count(*) from op where reply is null"));
    assertEquals(0, count("select count(*) from gap"));
  }

  private static Batch batch(String text) {
    var bytes = Frames.bytes(text.repeat(Spool.MOST_TOGETHER));
    var batch = new Batch();
    batch.begin(bytes, 0);
    for (int i = 1; i <= Spool.MOST_TOGETHER; i++) {
      batch.add(i * text.length());
    }
    return batch;
  }

  @Test
  void loadsWhatARecorderHasLeftThatWasKilled() throws Exception {
    long last;
    // A recorder's spool without its loader is what a kill leaves.
    try (var spool = Spool.open(directory.resolve("spool"), settings())) {
      Redactor.open(directory, List.of(Pattern.compile("secret-\\d+"))).keep(directory);
      var epoch = spool.epoch("tiny", "here", "content: empty");
      var line = new Line(spool, epoch, spool.connect(epoch, ANNA), spool.lane(epoch, "shared"));
      line.exchange("set a secret-1", "ok");
      last = line.exchange("set a secret-2", "ok");
      // While there is one, nobody else loads.
      assertFalse(Recording.loadWhatIsLeft(directory, url, LONG));
    }
    for (int i = 0; i < 2; i++) {
      try (var trace = StoredTrace.open(directory, url, LONG)) {
        assertTrue(trace.awaitLoaded(Duration.ZERO).whole());
        assertEquals(2, rows(trace.writers(key("a"), Long.MAX_VALUE)).size());
        var value = trace.operation(last).orElseThrow().request().get(2);
        assertTrue(value.text().startsWith("<hidden:"), value.text());
      }
    }
    // And who records next goes on behind it.
    try (var recording = record()) {
      assertTrue(Line.open(recording).exchange("set a 3", "ok") > last);
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(3, rows(trace.writers(key("a"), Long.MAX_VALUE)).size());
      }
    }
  }

  /** What is looked for among very many cells is the same, however it is found. */
  @Test
  void findsTheWritersOfVeryManyCellsInsideAKeyAndAboveAll() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var expected = new ArrayList<Long>();
      for (int i = 0; i < 300; i++) {
        expected.addFirst(line.exchange("set key" + i + " 1", "ok"));
        line.exchange("get key" + i, "1");
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(expected, rows(trace.writers(Cell.of("0"), Long.MAX_VALUE)));
        assertEquals(expected, rows(trace.writers(Cell.ALL, Long.MAX_VALUE)));
        assertEquals(expected.subList(200, 300), rows(trace.writers(Cell.ALL, expected.get(199))));
        assertEquals(List.of(), rows(trace.writers(Cell.of("1"), Long.MAX_VALUE)));
      }
    }
  }

  @Test
  void refusesASecondSpoolAtOnce() throws Exception {
    try (var _ = session("one")) {
      var e = assertThrows(TraceException.class, () -> session("other").close());
      assertTrue(String.valueOf(e.getMessage()).contains("another spool"), e.toString());
    }
  }

  /** Else each would skip what the other one has loaded in its place. */
  @Test
  void noticesThatSomebodyElseLoadsFromACopy() throws Exception {
    try (var recording = record()) {
      Line.open(recording).exchange("set a 1", "ok");
    }
    try (var one = session();
        var other = session()) {
      var place = one.position().place();
      var next = new SpoolReader.Position(one.position().segment(), place + 1);
      one.commit(next);
      assertThrows(TraceException.class, () -> other.commit(next));
    }
  }

  /** A trace that somebody goes on with whenever a second cell is looked at. */
  private record Growing(StoredTrace trace, Cell second, Runnable growth) implements Trace {
    @Override
    public Writers writers(Cell cell, long before) {
      if (cell.equals(second)) {
        growth.run();
      }
      return trace.writers(cell, before);
    }

    @Override
    public Iterator<Operation> beside(Cell cell, Operation operation) {
      return trace.beside(cell, operation);
    }

    @Override
    public long end(Operation operation) {
      return trace.end(operation);
    }

    @Override
    public Optional<Break> lastBreak(Cell cell, long before) {
      return trace.lastBreak(cell, before);
    }

    @Override
    public <T extends @Nullable Object> T atOnce(Supplier<T> question) {
      return trace.atOnce(question);
    }
  }

  @Test
  void answersFromOneMomentWhateverIsLoadedMeanwhile() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long one = line.exchange("set a 1", "ok");
      long two = line.exchange("set b 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      Runnable growth =
          () -> {
            line.exchange("set a 2", "ok");
            line.exchange("set b 2", "ok");
            assertTrue(recording.awaitLoaded(LONG));
          };
      try (var trace = trace()) {
        var specification = StoreKind.named("tiny").orElseThrow().specification();
        var question = question(trace, Long.MAX_VALUE, "get", "a", "b");
        for (int i = 0; i < 2; i++) {
          var why = new Why(specification, new Growing(trace, key("b"), growth));
          var elements = why.ask(question, Why.Wish.ONE).witnesses().getFirst().elements();
          var rows =
              elements.stream().map(element -> ((Witness.Done) element).operation().row()).toList();
          if (i == 0) {
            assertEquals(List.of(one, two), rows);
          } else {
            assertTrue(rows.getFirst() > two, "the next question sees what was loaded");
          }
        }
      }
    }
  }

  @Test
  void followsAlsoWhatOthersOvertookWhileItCame() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var tail = new TraceTail(0);
      var body = line.spool().beginRequest(line.connection(), line.lane(), 0);
      body.add(Frames.bytes("set a 1"));
      var never = line.spool().beginRequest(line.connection(), line.lane(), 0);
      long other = line.exchange("set b 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(List.of(other), rows(tail.next(trace, 10).iterator()));
        body.end();
        line.spool().reply(body.number(), Frames.bytes("ok"));
        long last = line.exchange("set b 2", "ok");
        assertTrue(never.number() < last);
        assertTrue(recording.awaitLoaded(LONG));
        assertEquals(List.of(body.number(), last), rows(tail.next(trace, 10).iterator()));
        assertEquals(List.of(), tail.next(trace, 10));
      }
    }
  }

  /** A loader that dies of what somebody calls himself loads nothing any more. */
  @Test
  void takesAnyNames() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var odd = "\u0000".repeat(3) + "x".repeat(70_000);
      var client = new Client(odd, odd, odd, odd);
      line.spool().change(line.connection(), client);
      long id = line.spool().connect(line.epoch(), client);
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var known = trace.connection(id).orElseThrow().client();
        assertTrue(known.protocol().endsWith("x"), known.protocol());
        assertEquals(known.name(), known.user());
      }
    }
  }

  @Test
  void knowsWhatOverlapsOnALaneWhoseRecordWasDropped() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var other = new Line(line.spool(), line.epoch(), line.connection(), -8);
      line.spool().gap("the spool was full");
      long one = line.send("set a 1");
      long two = other.send("set a 2");
      line.spool().reply(two, Frames.bytes("ok"));
      line.spool().reply(one, Frames.bytes("ok"));
      line.spool().outside(Spool.DROPPED, Frames.bytes("key z"));
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var beside = trace.beside(key("a"), trace.operation(one).orElseThrow());
        assertEquals(List.of(two), rows(beside));
        var sign = trace.lastBreak(key("z"), Long.MAX_VALUE).orElseThrow();
        assertEquals(Trace.Break.Kind.OUTSIDE, sign.kind());
        assertEquals(
            Trace.Break.Kind.GAP, trace.lastBreak(key("a"), Long.MAX_VALUE).orElseThrow().kind());
      }
    }
  }

  /**
   * @param others so many of another key are under way for ever
   */
  @ParameterizedTest
  @ValueSource(ints = {0, LongOperations.MOST_KNOWN})
  void knowsWhatWasUnderWayTogetherWhateverWasAskedBefore(int others) throws Exception {
    var random = new Random(6);
    try (var recording = record()) {
      recordOverlaps(recording, random, 30_000, others);
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var all = trace.from(0, Integer.MAX_VALUE);
        var expected = new MemoryTrace(new TinyKind().specification());
        all.forEach(expected::add);
        assertTrue(all.stream().anyMatch(one -> trace.end(one) == Long.MAX_VALUE));
        assertTrue(
            all.stream()
                .mapToLong(one -> trace.end(one) - one.row())
                .anyMatch(span -> span > TraceDatabase.LONG && span < 100_000));
        for (int i = all.size() - 1; i >= 0; i -= 1 + random.nextInt(200)) {
          int place = random.nextInt(8) == 0 ? random.nextInt(all.size()) : i;
          var asked = all.get(place);
          for (var cell :
              others == 0
                  ? List.of(key("a"), key("b"), Cell.of("0"))
                  : List.of(key("a"), key("nobody"))) {
            assertEquals(
                Set.copyOf(rows(expected.beside(cell, asked))),
                Set.copyOf(rows(trace.beside(cell, asked))),
                () -> cell + " beside row " + asked.row());
          }
        }
      }
    }
  }

  /** Several lanes, on some of which most waits for long, or for ever. */
  private static void recordOverlaps(Recording recording, Random random, int events, int others) {
    var line = Line.open(recording);
    var silent =
        new Line(
            line.spool(),
            line.epoch(),
            line.connection(),
            line.spool().lane(line.epoch(), "silent"));
    for (int i = 0; i < others; i++) {
      silent.send("set other 1");
    }
    var lines = new ArrayList<>(List.of(line));
    for (int i = 1; i < 5; i++) {
      lines.add(
          new Line(
              line.spool(),
              line.epoch(),
              line.connection(),
              line.spool().lane(line.epoch(), "" + i)));
    }
    var open = new ArrayList<ArrayDeque<Long>>();
    lines.forEach(_ -> open.add(new ArrayDeque<>()));
    for (int i = 0; i < events; i++) {
      int lane = random.nextInt(lines.size());
      var waiting = open.get(lane);
      boolean slow = lane > 2 && random.nextInt(lane == 3 ? 500 : 3_000) != 0;
      if (waiting.isEmpty() || (!slow && random.nextInt(3) == 0)) {
        waiting.add(lines.get(lane).send("set " + (char) ('a' + random.nextInt(3)) + " 1"));
      } else if (!slow) {
        line.spool().reply(waiting.remove(), Frames.bytes("ok"));
      }
    }
  }

  @Test
  void knowsOfTheSameTraceWhatWasLoadedSinceTheLastQuestion() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var other =
          new Line(
              line.spool(),
              line.epoch(),
              line.connection(),
              line.spool().lane(line.epoch(), "second"));
      long one = line.send("set a 1");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var asked = trace.operation(one).orElseThrow();
        assertEquals(List.of(), trace.atOnce(() -> rows(trace.beside(key("a"), asked))));
        long two = other.exchange("set a 2", "ok");
        assertTrue(recording.awaitLoaded(LONG));
        assertEquals(List.of(two), trace.atOnce(() -> rows(trace.beside(key("a"), asked))));
      }
    }
  }

  @Test
  void followsWhatWasOvertakenAlsoWhereItSkips() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var body = line.spool().beginRequest(line.connection(), line.lane(), 0);
      body.add(Frames.bytes("set a 1"));
      for (int i = 0; i < 4; i++) {
        line.exchange("set b " + i, "ok");
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var tail = new TraceTail(0);
        assertEquals(2, tail.skipTo(trace, 2));
        assertEquals(2, tail.next(trace, 10).size());
        body.end();
        line.spool().reply(body.number(), Frames.bytes("ok"));
        assertTrue(recording.awaitLoaded(LONG));
        assertEquals(List.of(body.number()), rows(tail.next(trace, 10).iterator()));
      }
    }
  }

  @Test
  void givesLongRequestsThatWereOvertakenAFewAtATime() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var bodies = new ArrayList<SpooledBody>();
      for (int i = 0; i < 3; i++) {
        bodies.add(line.spool().beginRequest(line.connection(), line.lane(), 0));
      }
      line.exchange("set b 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var tail = new TraceTail(0);
        assertEquals(1, tail.next(trace, 10).size());
        for (var body : bodies) {
          var value = new byte[(int) (OperationReader.MOST_BYTES / 2)];
          Arrays.fill(value, (byte) 'x');
          body.add(Frames.bytes("set a "));
          body.add(ByteBuffer.wrap(value));
          body.end();
          line.spool().reply(body.number(), Frames.bytes("ok"));
        }
        assertTrue(recording.awaitLoaded(LONG));
        assertEquals(2, tail.next(trace, 10).size());
        assertEquals(1, tail.next(trace, 10).size());
        assertEquals(0, tail.next(trace, 10).size());
      }
    }
  }

  /** There is a gap before; what comes after is known as if the record of the lane were there. */
  @Test
  void knowsWhatIsDoneOnALaneWhoseRecordWasDropped() throws Exception {
    var rules = List.of(Pattern.compile("secret-\\d+"));
    try (var recording = record(Retention.ALL, rules)) {
      var spool = Line.open(recording).spool();
      var undeclared = new Line(spool, Spool.DROPPED, -7, -8);
      long row = undeclared.exchange("set a secret-1", "ok");
      long later = spool.lane(Spool.DROPPED, "a lane of an epoch that was dropped");
      long last = new Line(spool, Spool.DROPPED, -7, later).exchange("set a secret-2", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(List.of(last, row), rows(trace.writers(key("a"), Long.MAX_VALUE)));
        var value = trace.operation(row).orElseThrow().request().get(2);
        assertTrue(value.text().startsWith("<hidden:"), value.text());
      }
    }
  }

  /** PostgreSQL's texts cannot hold a zero, and a client may send one anywhere. */
  @Test
  void takesAnyBytes() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      recording.spool().change(line.connection(), new Client("a", "\u0000", "u", "p"));
      long row = line.exchange("se\u0000t a\u0000\u00FF 1", "\u0000");
      long set = line.exchange("set \u0000\u0001\u00FF \u0000", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(Bytes.of("\u0000"), trace.operation(row).orElseThrow().reply());
        var key = Cell.of("0").child(trace.operation(set).orElseThrow().request().get(1));
        assertEquals(List.of(set), rows(trace.writers(key, Long.MAX_VALUE)));
      }
    }
  }

  /** An index has no room for them, and they begin alike. */
  @Test
  void takesLongKeysThatCannotBeCompressed() throws Exception {
    var bytes = new byte[6_000];
    new Random(8).nextBytes(bytes);
    var beginning = HexFormat.of().formatHex(bytes);
    var keys = List.of(beginning + "a", beginning + "b", beginning, beginning.substring(0, 1_500));
    var expected = new ArrayList<Long>();
    for (int i = 0; i < 2; i++) {
      // The second recording has to find the cells of the first.
      try (var recording = record()) {
        var line = Line.open(recording);
        keys.forEach(key -> expected.add(line.exchange("set " + key + " 1", "ok")));
        line.exchange("set short 1", "ok");
        assertTrue(recording.awaitLoaded(LONG), () -> recording.loading().failure());
      }
    }
    assertEquals(keys.size() + 2, count("select count(*) from cell"));
    try (var trace = trace()) {
      for (int i = 0; i < keys.size(); i++) {
        assertEquals(
            List.of(expected.get(i + keys.size()), expected.get(i)),
            rows(trace.writers(key(keys.get(i)), Long.MAX_VALUE)));
      }
      var space = Cell.of("0");
      var below = trace.below(space, Bytes.of(beginning.substring(0, 9)), null, 9);
      var sorted = keys.stream().sorted().map(TraceStoreConformance::key).toList();
      assertEquals(sorted, below);
      assertEquals(
          sorted.subList(2, 4), trace.below(space, Bytes.EMPTY, sorted.get(1), 2), "a page");
    }
  }

  @Test
  void hidesWhatTheRulesSaySoThatEqualValuesAreSeenToBeEqual() throws Exception {
    long one;
    long same;
    long other;
    try (var recording = record(Retention.ALL, List.of(Pattern.compile("secret-\\d+")))) {
      var line = Line.open(recording);
      one = line.exchange("set a secret-1", "ok");
      same = line.exchange("get a", "secret-1");
      other = line.exchange("set a secret-2", "ok");
      line.exchange("set b public", "ok");
    }
    try (var trace = trace()) {
      var value = trace.operation(one).orElseThrow().request().get(2);
      assertTrue(value.text().startsWith("<hidden:"), value.text());
      assertEquals(value, trace.operation(same).orElseThrow().reply());
      assertNotEquals(value, trace.operation(other).orElseThrow().request().get(2));
    }
    try (var connection = database();
        var statement = connection.createStatement();
        var found = statement.executeQuery("select request, reply from op")) {
      while (found.next()) {
        assertFalse(Bytes.of(found.getBytes(1)).text().contains("secret"));
        assertFalse(Bytes.of(found.getBytes(2)).text().contains("secret"));
      }
    }
  }

  /** Else somebody else's write would be of another key than those that are on record. */
  @Test
  void hidesTheSameOfSignsAndOfWhatClientsAreCalled() throws Exception {
    var rules = List.of(Pattern.compile("secret-\\d+"));
    try (var recording = record(Retention.ALL, rules)) {
      var line = Line.open(recording);
      line.exchange("set secret-1 a", "ok");
      line.spool().outside(line.epoch(), Frames.bytes("key secret-1"));
      line.spool().change(line.connection(), new Client("", "of secret-2", "secret-3", ""));
      line.spool().connect(line.epoch(), new Client("secret-4", "", "", ""));
      line.spool().lane(line.epoch(), "for secret-5");
      assertTrue(recording.awaitLoaded(LONG));
      var hidden = recording.redactor().mark(Bytes.of("secret-1"));
      try (var trace = trace()) {
        var key = Cell.of("0").child(hidden);
        assertEquals(
            Trace.Break.Kind.OUTSIDE, trace.lastBreak(key, Long.MAX_VALUE).orElseThrow().kind());
      }
    }
    var names = "where name || user_name || address like '%secret%'";
    assertEquals(0, count("select count(*) from connection " + names));
    names = "where name || user_name like '%secret%'";
    assertEquals(0, count("select count(*) from connection_change " + names));
    assertEquals(0, count("select count(*) from lane where description like '%secret%'"));
  }

  /** The same value may have another mark then, and another value the same. */
  @Test
  void comparesNothingThatIsHiddenByOtherRulesOrByAnotherKey() throws Exception {
    var rules = List.of(Pattern.compile("secret-\\d+"));
    long epoch;
    try (var recording = record(Retention.ALL, rules)) {
      var line = Line.open(recording);
      epoch = line.epoch();
      line.exchange("set a secret-12", "ok");
    }
    assertEquals(Answer.Certainty.CERTAIN, certaintyOfNextLife(epoch, rules));
    assertEquals(0, count("select count(*) from gap"));
    var fewer = List.of(Pattern.compile("secret-\\d"));
    assertEquals(Answer.Certainty.GAP, certaintyOfNextLife(epoch, fewer));
    assertEquals(Answer.Certainty.GAP, certaintyOfNextLife(epoch, List.of()));
    try (var recording = record()) {
      line(recording, epoch).exchange("set a 2", "ok");
    }
    assertEquals(Answer.Certainty.CERTAIN, certaintyOfNextLife(epoch, List.of()));
    Files.delete(directory.resolve("key"));
    assertEquals(Answer.Certainty.GAP, certaintyOfNextLife(epoch, List.of()));
  }

  private static Line line(Recording recording, long epoch) {
    var spool = recording.spool();
    return new Line(spool, epoch, spool.connect(epoch, ANNA), spool.lane(epoch, "shared"));
  }

  private Answer.Certainty certaintyOfNextLife(long epoch, List<Pattern> rules) throws Exception {
    long row;
    try (var recording = record(Retention.ALL, rules)) {
      row = line(recording, epoch).exchange("get a", "secret-12");
    }
    try (var trace = trace()) {
      var specification = StoreKind.named("tiny").orElseThrow().specification();
      var question = trace.operation(row).orElseThrow();
      return new Why(specification, trace).ask(question, Why.Wish.ONE).certainty();
    }
  }

  @Test
  void goesOnWhereASpecificationFails() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      long fails = line.exchange("fail", "?");
      long fine = line.exchange("set a 1", "ok");
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(List.of(fine, fails), rows(trace.writers(key("a"), Long.MAX_VALUE)));
      }
    }
  }

  @Test
  void answersTheDocumentedQueries() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var spool = recording.spool();
      long other = spool.lane(line.epoch(), "own");
      long first = line.send("set a 1");
      long overlapping = spool.request(line.connection(), other, 0, Frames.bytes("set a 2"));
      spool.reply(first, Frames.bytes("ok"));
      spool.reply(overlapping, Frames.bytes("ok"));
      line.exchange("set b 1", "ok");
      long lost = line.send("set b 2");
      spool.endLane(line.lane(), true);
      assertTrue(recording.awaitLoaded(LONG));
      var queries = DocumentedQueries.all();
      assertEquals(5, queries.size());
      assertEquals("anna", first(queries.get(0), "name"));
      assertEquals("2", first(queries.get(1), "writes"));
      assertEquals("SET", first(queries.get(2), "verb"));
      assertEquals(Long.toString(lost), first(queries.get(3), "seq"));
      assertEquals(Long.toString(overlapping), first(queries.get(4), "other"));
    }
  }

  private String first(String sql, String column) throws SQLException {
    try (var connection = database();
        var statement = connection.createStatement();
        var found = statement.executeQuery(sql)) {
      assertTrue(found.next(), sql);
      return found.getString(column);
    }
  }

  /** A question has an iterator for each cell that it demands. */
  @Test
  void readsLongBodiesWhenTheirTurnHasCome() throws Exception {
    int length = 1 << 20;
    int writes = 16;
    try (var recording = record()) {
      var line = Line.open(recording);
      var value = "v".repeat(length);
      long last = 0;
      for (int i = 0; i < writes; i++) {
        last = line.exchange("set a " + value, "ok");
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        assertEquals(writes, rows(trace.writers(key("a"), Long.MAX_VALUE)).size());
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        var newest = trace.writers(key("a"), Long.MAX_VALUE).next();
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals(last, newest.row());
        assertEquals(length, newest.request().getLast().length());
        assertTrue(allocated < writes * (long) length / 2, allocated + " bytes");
      }
    }
  }

  /** Rows of one connection are no older than those of another because it began earlier. */
  @Test
  void mergesWhatTheConnectionsOfAClientDid() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      var spool = recording.spool();
      var other = new Line(spool, line.epoch(), spool.connect(line.epoch(), ANNA), line.lane());
      spool.connect(line.epoch(), ANNA);
      var expected = new ArrayList<Long>();
      for (int i = 0; i < 600; i++) {
        expected.addFirst((i % 3 == 0 ? line : other).exchange("get a", "none"));
      }
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        var ids = trace.connections("anna").stream().map(StoredTrace.Connected::id).toList();
        assertEquals(3, ids.size());
        assertEquals(expected, rows(trace.ofConnections(ids, Long.MAX_VALUE)));
        assertEquals(expected.subList(300, 600), rows(trace.ofConnections(ids, expected.get(299))));
      }
    }
  }

  @Test
  void knowsClientsByAllTheirNames() throws Exception {
    try (var recording = record()) {
      var line = Line.open(recording);
      line.spool().change(line.connection(), new Client("127.0.0.1:1", "bert", "admin", "tiny"));
      line.spool().disconnect(line.connection());
      assertTrue(recording.awaitLoaded(LONG));
      try (var trace = trace()) {
        for (var name : List.of("bert", "admin", "127.0.0.1:1")) {
          var connected = trace.connections(name).getFirst();
          assertEquals("bert", connected.client().name());
          assertTrue(connected.until() != null);
        }
      }
    }
  }
}
