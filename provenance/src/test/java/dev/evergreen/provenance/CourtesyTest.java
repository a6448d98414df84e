package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.provenance.CoreTime.Reading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When a loader pauses, and for how long. */
final class CourtesyTest {
  private static final long MILLI = 1_000_000;
  private static final Duration NEAR = Duration.ofMillis(300);

  @TempDir Path directory;

  @Test
  void itDoesNotPauseWhileItGetsItsCore() {
    assertEquals(0, Courtesy.pauseNanos(new Reading(2 * MILLI, 0), NEAR));
    assertEquals(0, Courtesy.pauseNanos(new Reading(2 * MILLI, MILLI / 5), NEAR));
    // Where the system does not tell.
    assertEquals(0, Courtesy.pauseNanos(Reading.NONE, NEAR));
  }

  @Test
  void itPausesWhereOthersWantTheCores() {
    assertEquals(40 * MILLI, Courtesy.pauseNanos(new Reading(2 * MILLI, MILLI / 2), NEAR));
    assertEquals(200 * MILLI, Courtesy.pauseNanos(new Reading(20 * MILLI, 20 * MILLI), NEAR));
  }

  @Test
  void itIsNotBehindForLong() {
    var wanted = new Reading(2 * MILLI, 2 * MILLI);
    var far = Courtesy.MOST_BEHIND;
    assertTrue(Courtesy.pauseNanos(wanted, far.minusNanos(1)) > 0);
    assertEquals(0, Courtesy.pauseNanos(wanted, far));
  }

  @Test
  void theSystemTellsHowLongAThreadHasRun() throws IOException {
    assumeTrue(Files.exists(Path.of("/proc/thread-self/schedstat")), "it does not");
    try (var time = CoreTime.ofThisThread()) {
      var before = time.read();
      while (time.read().since(before).ran() < MILLI) {
        Thread.onSpinWait();
      }
    }
  }

  /** It says up to where, as the clock may be set back meanwhile. */
  @Test
  void whoReadsMayAskItToHurryWithWhatIsRecorded() throws IOException {
    assertEquals(0, Hurry.asked(directory));
    Hurry.ask(directory, 7);
    Files.setLastModifiedTime(directory.resolve("wanted"), FileTime.from(Instant.EPOCH));
    assertEquals(7, Hurry.asked(directory));
    Hurry.ask(directory, 1L << 40);
    assertEquals(1L << 40, Hurry.asked(directory));
    Files.write(directory.resolve("wanted"), new byte[3]);
    assertEquals(0, Hurry.asked(directory));
  }

  /** Who waits for a trace on this machine wants its loader to hurry. */
  @Test
  void whoWaitsForWhatIsRecordedAsksForIt() throws IOException {
    var redactor = Redactor.open(directory, List.of());
    var settings = TraceStoreConformance.settings();
    Recording.open(directory, "", settings, redactor, Retention.ALL).close();
    var place = directory.resolve("spool");
    // Nobody loads what is in it.
    try (var spool = Spool.open(place, settings);
        var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      spool.gap("of a test");
      assertEquals(0, Hurry.asked(place));
      assertFalse(trace.awaitLoaded(Duration.ofMillis(1)).whole());
      assertEquals(spool.report().nextNumber() - 1, Hurry.asked(place));
      spool.gap("of a test");
      assertEquals(List.of(), new TraceTail(0).next(trace, 10));
      assertEquals(spool.report().nextNumber() - 1, Hurry.asked(place));
    }
  }

  /** It waits as long as it would have without asking. */
  @Test
  void whatOthersMayNotWriteIsNoHindrance() {
    Hurry.ask(directory.resolve("missing"), 7);
    assertEquals(0, Hurry.asked(directory.resolve("missing")));
  }

  /** What is loaded is seen when its transaction ends: one with pauses in it is not to be long. */
  @Test
  void aTransactionMayEndAfterEachPortion() throws IOException, SQLException {
    var redactor = Redactor.open(directory, List.of());
    var settings = TraceStoreConformance.settings();
    Recording.open(directory, "", settings, redactor, Retention.ALL).close();
    var place = directory.resolve("spool");
    var id = Files.readString(place.resolve("id"));
    try (var spool = Spool.open(place, settings);
        var session = LoadSession.open(TraceDatabase.of(directory, ""), redactor, id);
        var reader = new SpoolReader(place, session.position())) {
      Loader.loadAll(session, reader, System.nanoTime() + Duration.ofMinutes(1).toNanos());
      for (int i = 0; i < 2 * Courtesy.PORTION; i++) {
        spool.gap("of a test");
      }
      assertEquals(
          Courtesy.PORTION - 1, Loader.batch(session, reader, Integer.MAX_VALUE, () -> true));
      session.commit(reader.position());
      assertEquals(
          Courtesy.PORTION + 1, Loader.batch(session, reader, Integer.MAX_VALUE, () -> false));
    }
  }
}
