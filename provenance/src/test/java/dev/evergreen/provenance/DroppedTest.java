package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.TraceStoreConformance.Line;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * No answer is certain while a request that had no room on record may still take effect: it may do
 * so after all that is on record.
 */
@Timeout(60)
final class DroppedTest {
  static final SpoolSettings SMALL =
      SpoolSettings.DEFAULT
          .withSegmentBytes(256 << 10)
          .withBytes(512 << 10)
          .withDurability(Durability.NONE)
          .withOverflow(Overflow.DROP);

  private static final String LONG = "set filler " + "v".repeat(300);

  @TempDir Path directory;
  private Path trace = Path.of("");
  private Spool spool;
  private Line recorded;
  private Line other;
  private long dropped;

  @BeforeEach
  void drop() throws IOException {
    trace = directory.resolve("trace");
    begin();
    epoch("one", StoreKind.EMPTY);
    recorded.exchange("set k 1", "ok");
    dropped = fill("set k 2");
    load();
    assertEquals(Certainty.GAP, ask("get k"));
    set("3");
  }

  @AfterEach
  void end() throws IOException {
    spool.close();
  }

  private void begin() throws IOException {
    spool = Spool.open(trace.resolve("spool"), SMALL);
  }

  private void epoch(String process, String... more) {
    var facts = StoreKind.PROCESS + process + "\n" + String.join("\n", more);
    long epoch = spool.epoch("tiny", "here", facts);
    long connection = spool.connect(epoch, TraceStoreConformance.ANNA);
    recorded = new Line(spool, epoch, connection, spool.lane(epoch, "recorded"));
    other = new Line(spool, epoch, connection, spool.lane(epoch, "other"));
  }

  /** Fills the spool until a request on the other lane is dropped. */
  private long fill(String request) {
    while (recorded.exchange(LONG, "ok") > 0) {
      // Until it is full.
    }
    long number = other.send(request);
    assertTrue(number < 0);
    return number;
  }

  /** Brings all that is there into the database, and makes room. */
  private void load() throws IOException {
    spool.release(load(trace, spool.directory()));
    while (spool.push(0, recorded.lane(), Frames.bytes("room")) < 0) {
      Thread.onSpinWait();
    }
  }

  /** Answers the index of the file up to which all is loaded. */
  private long load(Path place) {
    return load(trace, place);
  }

  /** The same of what is recorded there. */
  static long load(Path trace, Path place) {
    try (var session =
            LoadSession.open(
                TraceDatabase.of(trace, ""), Redactor.open(trace, List.of()), "the spool");
        var reader = new SpoolReader(place, session.position())) {
      Loader.loadAll(session, reader, System.nanoTime() + Duration.ofSeconds(60).toNanos());
      return session.position().segment();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** What replaces all that was before, and is answered. */
  private void set(String value) throws IOException {
    recorded.exchange("set k " + value, "ok");
    long _ = load(spool.directory());
  }

  private Certainty ask(String line) {
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      return ask(stored, line);
    }
  }

  private static Certainty ask(StoredTrace stored, String line) {
    var asked = TraceStoreConformance.question(stored, Long.MAX_VALUE, line.split(" ", -1));
    var specification = stored.kind(asked.epoch()).specification();
    return new Why(specification, stored).ask(asked, Why.Wish.ONE).certainty();
  }

  @Test
  void theGapReachesUntilTheReply() throws IOException {
    assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
    spool.reply(dropped, Frames.bytes("ok"));
    long _ = load(spool.directory());
    assertEquals(Certainty.GAP, ask("get k"), "it was carried out somewhere before");
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** A lane that was given up may have left requests with the store, which it has not read yet. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theGapReachesBeyondALaneThatWasGivenUp(boolean byStore) throws IOException {
    spool.endLane(other.lane(), byStore);
    set("4");
    assertEquals(byStore ? Certainty.CERTAIN : Certainty.GAP, ask("get k"));
    epoch("one");
    set("5");
    assertEquals(byStore ? Certainty.CERTAIN : Certainty.GAP, ask("get k"), "the same process");
    epoch("two");
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    epoch("one");
    set("7");
    assertEquals(byStore ? Certainty.CERTAIN : Certainty.GAP, ask("get k"), "it is there again");
    epoch("two");
    set("8");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    spool.close();
    begin();
    epoch("three");
    set("9");
    assertEquals(byStore ? Certainty.CERTAIN : Certainty.GAP, ask("get k"), "who knows of one");
  }

  @ParameterizedTest
  @EnumSource(Unanswered.class)
  void theGapReachesBeyondWhatIsNotAnswered(Unanswered reason) throws IOException {
    spool.unanswered(dropped, reason);
    set("4");
    boolean over = reason == Unanswered.NOT_SENT;
    assertEquals(over ? Certainty.CERTAIN : Certainty.GAP, ask("get k"));
    // What comes behind it on its lane tells that it is over.
    long second = fill("set k 5");
    load();
    spool.reply(second, Frames.bytes("ok"));
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** The store may be asked no more by the process that was killed, but has its request. */
  @Test
  void theGapReachesBeyondTheEndOfTheRecorder() throws IOException {
    spool.close();
    begin();
    epoch("one");
    set("4");
    assertEquals(Certainty.GAP, ask("get k"));
    // That this one has dropped nothing that is not over tells nothing of the other's.
    long own = fill("set k 5");
    load();
    spool.reply(own, Frames.bytes("ok"));
    set("6");
    assertEquals(Certainty.GAP, ask("get k"));
    spool.close();
    begin();
    epoch("two");
    set("7");
    assertEquals(Certainty.GAP, ask("get k"), "what the last one found may have had no room");
    epoch("two");
    set("8");
    assertEquals(Certainty.GAP, ask("get k"), "the same process");
    epoch("three");
    set("9");
    assertEquals(Certainty.GAP, ask("get k"), "so may this one, and be there again");
  }

  /** The last gap of a file is written when the first of many things is dropped. */
  @Test
  void whatIsDroppedBehindTheLastGapOfAFileIsNotForgotten() throws Exception {
    spool.reply(dropped, Frames.bytes("ok"));
    fillWithPushes();
    long again = other.send("set k 5");
    assertTrue(again < 0);
    killed();
    try (var first = spool) {
      begin();
      epoch("one");
      set("6");
      assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
      spool.close();
      spool = first;
    }
  }

  /** What the last gap of a file could not know is told when there is room. */
  @Test
  void theGapEndsWhenThereIsRoomToTellIt() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    fillWithPushes();
    load();
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"), "nothing but messages had no room");
    fillWithPushes();
    long again = other.send("set k 5");
    spool.reply(again, Frames.bytes("ok"));
    load();
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  private void fillWithPushes() {
    while (spool.push(0, recorded.lane(), Frames.bytes("room")) > 0) {
      // Until it is full.
    }
  }

  /** From here on the trace is one whose recorder was killed. */
  private void killed() throws IOException {
    var copy = directory.resolve("killed");
    Frames.copyTrace(trace, copy);
    trace = copy;
  }

  /** The recorder knows which process the store is, and the trace does not. */
  @Test
  void anEpochThatHadNoRoomEndsNoGap() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    long again = fill("set k 5");
    assertTrue(spool.epoch("tiny", "here", StoreKind.PROCESS + "two") < 0);
    load();
    spool.reply(again, Frames.bytes("ok"));
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    long later = fill("set k 7");
    load();
    var before = other;
    epoch("two");
    set("8");
    assertEquals(Certainty.GAP, ask("get k"), "it is for this process");
    spool.endLane(before.lane(), false);
    epoch("two");
    set("9");
    assertEquals(Certainty.GAP, ask("get k"), "it is for this process");
    assertTrue(later < 0);
    epoch("three");
    set("10");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** The process that an epoch without room told of may be there again, long after. */
  @Test
  void aProcessThatHadNoRoomOnRecordMayBeThereAgain() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    long again = fill("set k 5");
    assertTrue(spool.epoch("tiny", "here", StoreKind.PROCESS + "two") < 0);
    load();
    spool.reply(again, Frames.bytes("ok"));
    set("6");
    epoch("three");
    set("7");
    spool.close();
    begin();
    epoch("two", StoreKind.EMPTY);
    long _ = load(spool.directory());
    assertEquals(Certainty.BEFORE_RECORDING, ask("get k"), "what was done to it then is a cause");
  }

  /** What is recorded of it counts as of the epoch before, which was another process. */
  @ParameterizedTest
  @ValueSource(strings = {"two", "three two", "one three two"})
  void whatAProcessThatHadNoRoomOnRecordWasSentMayStillCome(String processes) throws IOException {
    long _ = sendToTheNext("two");
    spool.close();
    begin();
    for (var process : processes.split(" ", -1)) {
      epoch(process);
      set("7");
      assertNotEquals(Certainty.CERTAIN, ask("get k"), "it may be carried out now by " + process);
    }
  }

  /** Sends something to a process whose epoch has no room on record, and is not answered. */
  private long sendToTheNext(String process) throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    long epoch = dropEpoch(process);
    var late = new Line(spool, epoch, other.connection(), spool.lane(epoch, "late"));
    long row = late.send("set k 6");
    assertTrue(row > 0);
    spool.endLane(late.lane(), false);
    return row;
  }

  /** An epoch has no room, and all requests that had none are over. */
  private long dropEpoch(String process) throws IOException {
    long again = fill("set k 5");
    long epoch = spool.epoch("tiny", "here", StoreKind.PROCESS + process);
    assertTrue(epoch < 0);
    load();
    spool.reply(again, Frames.bytes("ok"));
    return epoch;
  }

  /** So may what a process on record was sent, if that is there again in an epoch without room. */
  @Test
  void theLastEpochMayBeSeveral() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    epoch("zero");
    long early = other.send("set k 4");
    spool.endLane(other.lane(), false);
    epoch("one");
    set("5");
    try (var held = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      assertEquals(Certainty.CERTAIN, ask(held, "get k"), "it was for zero: " + early);
      long _ = dropEpoch("zero");
      set("6");
      assertEquals(Certainty.ONE_OF, ask(held, "get k"), "zero may have done it now");
      assertEquals(Certainty.ONE_OF, ask("get k"));
      epoch("three");
      set("7");
      assertEquals(Certainty.CERTAIN, ask(held, "get k"), "this is not zero");
    }
  }

  /** Retention removes many gaps, and not that there may have been an epoch. */
  @Test
  void whatIsRemovedDoesNotTellWhichProcessItWas() throws Exception {
    long late = sendToTheNext("two");
    epoch("two");
    long later = fill("set k 7");
    load();
    spool.reply(later, Frames.bytes("ok"));
    for (int i = 0; i < 200; i++) {
      recorded.exchange("set k" + i + " " + "v".repeat(16 << 10), "ok");
      if (i % 10 == 0) {
        load();
      }
    }
    load();
    shrink();
    epoch("three");
    set("8");
    assertNotEquals(Certainty.CERTAIN, ask("get k"), "it may be carried out now");
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      assertTrue(stored.operation(late).isPresent());
      // Behind what was removed there may be more, where a request came before there was room.
      long horizon = marks(stored, StoredTrace.Mark.Kind.HORIZON, Long.MAX_VALUE).getFirst().row();
      var gaps = marks(stored, StoredTrace.Mark.Kind.GAP, horizon);
      assertEquals(2, gaps.size(), "one of each epoch");
    }
  }

  private static List<StoredTrace.Mark> marks(
      StoredTrace stored, StoredTrace.Mark.Kind kind, long before) {
    return stored.marks(Cell.ALL, 0, before, 100).stream()
        .filter(mark -> mark.kind() == kind)
        .toList();
  }

  /** Brings the database below the least limit. */
  private void shrink() throws Exception {
    try (var session =
        LoadSession.open(
            TraceDatabase.of(trace, ""), Redactor.open(trace, List.of()), "the spool")) {
      while (session.fold(new Retention(Duration.ofDays(1), Retention.LEAST_BYTES))) {
        // A part at a time.
      }
    }
  }

  /** So may that have been of a recorder which was killed. */
  @Test
  void theNextRecorderDoesNotKnowWhichProcessTheLastOneHadFound() throws Exception {
    assertTrue(spool.reply(dropped, Frames.bytes("ok")) < 0);
    fill("set k 5");
    assertTrue(spool.epoch("tiny", "here", StoreKind.PROCESS + "two") < 0);
    killed();
    try (var first = spool) {
      begin();
      epoch("two");
      set("6");
      assertEquals(Certainty.GAP, ask("get k"), "it is for this process");
      epoch("three");
      epoch("two");
      set("7");
      assertEquals(Certainty.GAP, ask("get k"), "it is there again");
      spool.close();
      spool = first;
    }
  }

  /** Who was there before the epoch was told may be a client of this process already. */
  @Test
  void theGapReachesBeyondAnEpochOnLanesThatHaveNotEnded() throws IOException {
    var before = other;
    epoch("two");
    set("4");
    assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
    spool.endLane(before.lane(), true);
    set("5");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** Where frames are lost, and the next one tells of what was dropped, both are on record. */
  @Test
  void whatIsLostHidesNotWhatWasDropped() throws Exception {
    spool.reply(dropped, Frames.bytes("ok"));
    try (var session =
        LoadSession.open(
            TraceDatabase.of(trace, ""), Redactor.open(trace, List.of()), "the spool")) {
      session.lost(3, true);
      try (var reader = new SpoolReader(spool.directory(), session.position())) {
        Loader.loadAll(session, reader, System.nanoTime() + Duration.ofSeconds(60).toNanos());
      }
    }
    set("4");
    assertEquals(Certainty.GAP, ask("get k"), "of what is lost nobody tells that it is over");
    epoch("two");
    set("5");
    assertEquals(Certainty.GAP, ask("get k"), "it is for this process");
    epoch("three");
    set("6");
    assertEquals(Certainty.GAP, ask("get k"), "this one may have been there before");
  }

  /** What is destroyed is a request that the store carries out after the one that is on record. */
  @Test
  void whatIsLostMayComeAfterWhatIsOnRecord() throws Exception {
    spool.reply(dropped, Frames.bytes("ok"));
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    long lost = other.send("set k lostlostlost");
    recorded.exchange("set k 5", "ok");
    spool.reply(lost, Frames.bytes("ok"));
    spool.close();
    tear("lostlostlost");
    begin();
    long _ = load(spool.directory());
    assertEquals(Certainty.GAP, ask("get k"), "it was answered last");
    epoch("one");
    set("6");
    epoch("one");
    set("7");
    assertEquals(Certainty.GAP, ask("get k"), "the same process");
    epoch("two");
    epoch("one");
    set("8");
    assertEquals(Certainty.GAP, ask("get k"), "it is there again");
  }

  /** The next recorder begins, and finds nothing of this one at some processes. */
  private void beginAnew(String... processes) throws IOException {
    spool.close();
    begin();
    for (var process : processes) {
      spool.formerIsOver(process);
    }
  }

  /** Whatever a recorder has dropped that has ended: for such a process it is over. */
  @Test
  void theGapEndsAtAProcessThatHasNothingLeft() throws IOException {
    beginAnew("one");
    epoch("one");
    assertEquals(Certainty.GAP, askNow("get k"), "it was carried out somewhere before");
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    epoch("two");
    set("5");
    assertEquals(Certainty.GAP, ask("get k"), "this one may have it");
    spool.formerIsOver("two");
    assertEquals(Certainty.GAP, askNow("get k"), "it may have been carried out until now");
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    epoch("one");
    set("7");
    assertEquals(Certainty.CERTAIN, ask("get k"), "it has still nothing");
    beginAnew();
    epoch("one");
    set("8");
    assertEquals(Certainty.GAP, ask("get k"), "what the last one has dropped it knows alone");
    beginAnew("one");
    epoch("one");
    set("9");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  private Certainty askNow(String line) throws IOException {
    long _ = load(spool.directory());
    return ask(line);
  }

  /** What this recorder drops itself is not over then. */
  @Test
  void thatNothingIsLeftOfOthersEndsNoOtherGap() throws IOException {
    beginAnew("one");
    epoch("one");
    long own = fill("set k 4");
    load();
    set("5");
    assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
    spool.formerIsOver("one");
    set("6");
    assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
    spool.reply(own, Frames.bytes("ok"));
    set("7");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** That it is another process now has no room on record. */
  @Test
  void theGapIsThereAgainWhereAnEpochHasNoRoom() throws IOException {
    beginAnew("one");
    epoch("one");
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    long own = fill("set k 5");
    assertTrue(spool.epoch("tiny", "here", StoreKind.PROCESS + "two") < 0);
    load();
    spool.reply(own, Frames.bytes("ok"));
    set("6");
    assertEquals(Certainty.GAP, ask("get k"), "two may do now what was dropped first");
  }

  @Test
  void whatIsLostIsOverWhereNothingIsLeft() throws Exception {
    spool.reply(dropped, Frames.bytes("ok"));
    long lost = other.send("set k lostlostlost");
    recorded.exchange("set k 5", "ok");
    spool.reply(lost, Frames.bytes("ok"));
    spool.close();
    tear("lostlostlost");
    begin();
    spool.formerIsOver("one");
    epoch("one");
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    try (var session =
        LoadSession.open(
            TraceDatabase.of(trace, ""), Redactor.open(trace, List.of()), "the spool")) {
      session.lost(3, true);
      session.commit(session.position());
    }
    epoch("one");
    set("7");
    assertEquals(Certainty.GAP, ask("get k"), "this may be of the present recorder");
    beginAnew("one");
    epoch("one");
    set("8");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }

  /** A recorder that was killed has left a request; nothing had no room. */
  @ParameterizedTest
  @ValueSource(strings = {"one", "two"})
  void whatWasUnderWayIsOverWhereNothingIsLeft(String process) throws IOException {
    spool.close();
    trace = directory.resolve("another");
    begin();
    assertFalse(spool.hasFormer());
    epoch("one", StoreKind.EMPTY);
    other.send("set k 1");
    set("2");
    assertEquals(Certainty.ONE_OF, ask("get k"));
    beginAnew();
    assertTrue(spool.hasFormer());
    epoch("one");
    set("3");
    assertEquals(Certainty.ONE_OF, ask("get k"), "it may be carried out now");
    beginAnew(process);
    epoch(process);
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      var marks = stored.marks(Cell.ALL, 0, Long.MAX_VALUE, 100);
      assertTrue(marks.stream().noneMatch(mark -> mark.kind() == StoredTrace.Mark.Kind.GAP));
    }
    beginAnew();
    epoch(process);
    set("5");
    assertEquals(Certainty.CERTAIN, ask("get k"), "it has still nothing");
    epoch("three");
    epoch("one");
    set("6");
    var again = process.equals("one") ? Certainty.CERTAIN : Certainty.ONE_OF;
    assertEquals(again, ask("get k"), "one may be there again");
  }

  /** What is sent then may be on record as of an epoch of the recorder before. */
  @Test
  void whoseEpochHasNoRoomDoesNotTellWhatIsOver() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    while (recorded.exchange(LONG, "ok") > 0) {
      // Until it is full.
    }
    killed();
    try (var first = spool) {
      begin();
      spool.formerIsOver("one");
      while (spool.push(0, 0, Frames.bytes("room")) > 0) {
        // Until it is full again.
      }
      long epoch = spool.epoch("tiny", "here", StoreKind.PROCESS + "one");
      assertTrue(epoch < 0);
      load();
      var late = new Line(spool, epoch, 0, spool.lane(epoch, "late"));
      late.send("set k 5");
      epoch("one");
      set("6");
      assertNotEquals(Certainty.CERTAIN, ask("get k"), "it may be carried out now");
      spool.close();
      spool = first;
    }
  }

  /** Changes a bit of the frame that holds a text. */
  private void tear(String text) throws IOException {
    for (long index : SpoolFiles.list(trace.resolve("spool"))) {
      var file = SpoolFiles.path(trace.resolve("spool"), index);
      var bytes = Files.readAllBytes(file);
      int at = Bytes.of(bytes).latin1().indexOf(text);
      if (at >= 0) {
        var torn = bytes.clone();
        torn[at] ^= 1;
        Files.write(file, torn);
      }
    }
  }

  /** What it was answered may be because of what had no room. */
  @Test
  void whatWasUnderWayMeanwhileIsNotCertain() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    recorded.exchange("set k 4", "ok");
    long asked = recorded.send("get k");
    long again = fill("set k 5");
    load();
    spool.reply(asked, Frames.bytes("5"));
    spool.reply(again, Frames.bytes("ok"));
    long later = recorded.exchange("set k 6", "ok") + 2;
    assertEquals(later, recorded.exchange("get k", "6"));
    long _ = load(spool.directory());
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      var why = new Why(StoreKind.named("tiny").orElseThrow().specification(), stored);
      var early = stored.operation(asked).orElseThrow();
      assertEquals(Certainty.GAP, why.ask(early, Why.Wish.ONE).certainty());
      var last = stored.operation(later).orElseThrow();
      assertEquals(Certainty.CERTAIN, why.ask(last, Why.Wish.ONE).certainty());
    }
  }

  /** Retention removes the gap itself, and not that it lasts. */
  @Test
  void theGapReachesBeyondWhatIsRemoved() throws Exception {
    for (int i = 0; i < 12_000; i++) {
      recorded.exchange("set k" + i + " " + "v".repeat(300), "ok");
      if (i % 200 == 0) {
        load();
      }
    }
    load();
    shrink();
    set("4");
    assertEquals(Certainty.GAP, ask("get k"));
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      assertTrue(
          stored.marks(Cell.ALL, 0, Long.MAX_VALUE, 100).stream()
              .anyMatch(mark -> mark.kind() == StoredTrace.Mark.Kind.HORIZON));
    }
  }

  /** Of a request in pieces some may have no room: it takes effect all the same. */
  @Test
  void aRequestWhoseEndHadNoRoomIsNotForgotten() throws IOException {
    spool.reply(dropped, Frames.bytes("ok"));
    set("4");
    assertEquals(Certainty.CERTAIN, ask("get k"));
    var body = spool.beginRequest(other.connection(), other.lane(), 0);
    body.add(Frames.bytes("set k "));
    while (recorded.exchange(LONG, "ok") > 0) {
      // Until it is full.
    }
    body.add(ByteBuffer.allocate(Spool.PIECE));
    body.end();
    load();
    set("5");
    assertEquals(Certainty.GAP, ask("get k"), "it may be carried out now");
    spool.reply(body.number(), Frames.bytes("ok"));
    long _ = load(spool.directory());
    try (var stored = StoredTrace.open(trace.toString(), Duration.ZERO)) {
      assertTrue(stored.operation(body.number()).orElseThrow().cut());
    }
    set("6");
    assertEquals(Certainty.CERTAIN, ask("get k"));
  }
}
