package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A trace in an SQLite file. */
class SqliteTraceTest extends TraceStoreConformance {
  @Override
  String newUrl() {
    return "";
  }

  @Test
  void isReadableByItsUserOnly() throws Exception {
    try (var recording = record()) {
      Line.open(recording);
      recording.awaitLoaded(java.time.Duration.ofSeconds(60));
      try (var files = Files.list(directory)) {
        for (var file : files.filter(Files::isRegularFile).toList()) {
          assertEquals(
              "rw-------",
              PosixFilePermissions.toString(Files.getPosixFilePermissions(file)),
              file.toString());
        }
      }
    }
  }

  /** They are in a table until the last one has come, as they are. */
  @Test
  void leavesNothingOfPiecesThatWereNotHiddenYet() throws Exception {
    var secret = "secret-" + "1".repeat(50);
    try (var recording = record(Retention.ALL, List.of(Pattern.compile("secret-1+")))) {
      var line = Line.open(recording);
      var body = line.spool().beginRequest(line.connection(), line.lane(), 0);
      body.add(Frames.bytes("set a " + secret + " " + "x".repeat(100_000)));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)));
      assertEquals(2, count("select count(*) from piece"));
      body.end();
      line.spool().reply(body.number(), Frames.bytes("ok"));
    }
    assertEquals(1, count("select count(*) from op where outcome = 1"));
    var file = Bytes.of(Files.readAllBytes(directory.resolve("trace.db"))).latin1();
    assertFalse(file.contains(secret));
    assertTrue(file.contains("<hidden:"));
  }

  /** The burst is over, nothing more comes, and the recorder is killed. */
  @Test
  void noAnswerIsCertainAcrossWhatAFullSpoolHasDropped() throws Exception {
    var settings =
        settings().withBytes(512 << 10).withSegmentBytes(256 << 10).withOverflow(Overflow.DROP);
    var killed = directory.resolve("killed");
    try (var spool = Spool.open(directory.resolve("spool"), settings)) {
      long epoch = spool.epoch("tiny", "here", StoreKind.EMPTY);
      var line = new Line(spool, epoch, spool.connect(epoch, ANNA), spool.lane(epoch, "shared"));
      line.exchange("set k 1", "ok");
      var filler = "set filler " + "v".repeat(300);
      while (line.exchange(filler, "ok") > 0) {
        // Until it is full.
      }
      assertTrue(line.exchange("set k 2", "ok") < 0);
      Frames.copy(spool.directory(), killed.resolve("spool"));
    }
    try (var trace = StoredTrace.open(killed.toString(), Duration.ofSeconds(60))) {
      var kind = StoreKind.named("tiny").orElseThrow();
      var words = kind.typed("get k");
      long epoch = trace.epoch(Long.MAX_VALUE);
      var question =
          new Operation(
              Long.MAX_VALUE, epoch, 0, 0, "0", java.time.Instant.now(), null, words, null);
      var answer = new Why(kind.specification(), trace).ask(question, Why.Wish.ONE);
      assertEquals(Answer.Certainty.GAP, answer.certainty());
    }
  }

  private static final Retention SMALL = new Retention(Duration.ofDays(1), Retention.LEAST_BYTES);

  private long size() throws Exception {
    try (var connection = database()) {
      return TraceDatabase.of(directory, "").size(connection);
    }
  }

  /** Else nobody would see that it may have come after what is kept. */
  @Test
  void keepsWhatWasUnderWayWhenTheOldestThatIsKeptWasSent() throws Exception {
    var value = "y".repeat(300);
    long late;
    try (var recording = record()) {
      var line = Line.open(recording);
      var spool = line.spool();
      line.exchange("set b 1", "ok");
      var other =
          new Line(spool, line.epoch(), line.connection(), spool.lane(line.epoch(), "other"));
      late = other.send("set a 2");
      for (int i = 0; i < 4_000; i++) {
        line.exchange("set key" + i + " " + value, "ok");
      }
      line.exchange("set a 1", "ok");
      spool.reply(late, Frames.bytes("ok"));
    }
    keepSmall();
    assertTrue(count("select horizon from trace") > late);
    assertEquals(1, count("select count(*) from op where seq = " + late));
    try (var trace = trace()) {
      var why = new Why(StoreKind.named("tiny").orElseThrow().specification(), trace);
      var asked = question(trace, Long.MAX_VALUE, "get", "a");
      assertEquals(Answer.Certainty.ONE_OF, why.ask(asked, Why.Wish.ONE).certainty());
    }
  }

  private void keepSmall() throws Exception {
    try (var session = session()) {
      while (session.fold(SMALL)) {
        // A part at a time.
      }
    }
  }

  @Test
  void foldsNoMoreThanBringsItBelowItsLimit() throws Exception {
    var value = "y".repeat(300);
    long last = 0;
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < 4_000; i++) {
        last = line.exchange("set a " + i + value, "ok");
      }
    }
    assertTrue(size() > Retention.LEAST_BYTES);
    keepSmall();
    assertTrue(size() <= Retention.LEAST_BYTES, size() + " bytes");
    assertTrue(size() > Retention.LEAST_BYTES / 2, size() + " bytes");
    assertEquals(0, count("select horizon from trace"), "nothing that is needed went");
    assertEquals(last, count("select max(seq) from op"));
  }

  @Test
  void removesTheOldestWithItsCellsIfFoldingIsNotEnough() throws Exception {
    var value = "y".repeat(300);
    long first;
    long last = 0;
    try (var recording = record()) {
      var line = Line.open(recording);
      first = line.exchange("set key0 " + value, "ok");
      for (int i = 1; i < 4_000; i++) {
        last = line.exchange("set key" + i + " " + value, "ok");
      }
    }
    keepSmall();
    assertTrue(size() <= Retention.LEAST_BYTES, size() + " bytes");
    assertTrue(size() > Retention.LEAST_BYTES / 2, size() + " bytes");
    assertEquals(0, count("select count(*) from op where seq = " + first));
    assertEquals(last, count("select max(seq) from op"));
    // And the cell of all keys.
    assertEquals(count("select count(*) from op") + 1, count("select count(*) from cell"));
    try (var trace = trace()) {
      assertEquals(Trace.Break.Kind.BEGINNING, kindOfBreak(trace, Long.MAX_VALUE));
    }
  }

  /** What is small but for tables that hold no operations is not emptied for their sake. */
  @Test
  void forgetsConnectionsThatHaveEndedWithWhatTheyDid() throws Exception {
    long kept;
    try (var recording = record()) {
      var line = Line.open(recording);
      for (int i = 0; i < 6_000; i++) {
        var name = "c".repeat(200);
        line.spool().disconnect(line.spool().connect(line.epoch(), new Client(name, "", "", "")));
      }
      kept = line.exchange("set a 1", "ok");
    }
    assertTrue(size() > Retention.LEAST_BYTES);
    keepSmall();
    assertEquals(kept, count("select max(seq) from op"));
    assertEquals(1, count("select count(*) from connection"));
  }
}
