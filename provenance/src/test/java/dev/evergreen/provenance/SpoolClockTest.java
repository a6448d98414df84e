package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** By which clock a question of now is asked: that of the recorder, whatever the asker's says. */
final class SpoolClockTest {
  @TempDir Path directory;

  @BeforeEach
  void record() throws Exception {
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", TraceStoreConformance.settings(), redactor, Retention.ALL)) {
      var before = SpoolClock.now(spool()).orElseThrow();
      var recorded = recording.spool().now();
      assertFalse(recorded.isBefore(before));
      assertFalse(SpoolClock.now(spool()).orElseThrow().isBefore(recorded));
      recording.spool().epoch("steps", "here", StoreKind.EMPTY);
    }
  }

  private Path spool() {
    return directory.resolve("spool");
  }

  private Operation question() {
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      return trace.question(Long.MAX_VALUE, trace.epoch(Long.MAX_VALUE), "", List.of(), null);
    }
  }

  /** As if this machine's clock had been set an hour back before it began. */
  @Test
  void onTheSameMachineItIsTheRecorders() throws Exception {
    long offset = -3_600_000_000_000L;
    new SpoolClock(offset, Reservation.thisBoot()).write(spool());
    var before = OpRows.instant(System.nanoTime() + offset);
    var asked = question();
    assertNull(asked.replied());
    assertFalse(asked.sent().isBefore(before));
    assertFalse(OpRows.instant(System.nanoTime() + offset).isBefore(asked.sent()));
  }

  /** Then only this much is known: it is after what is on record. */
  @Test
  void elsewhereItIsNotBeforeWhatIsOnRecord() throws Exception {
    new SpoolClock(0, "another").write(spool());
    var before = Instant.now();
    var asked = question();
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      assertEquals(trace.reached(), asked.sent());
    }
    assertNotNull(asked.replied());
    assertFalse(asked.replied().isBefore(before));
  }

  @Test
  void soItIsWhereNoClockIsOnRecord() throws Exception {
    Files.delete(spool().resolve("clock"));
    assertNotNull(question().replied());
  }

  /** The clock of another spool tells nothing of this trace. */
  @Test
  void soItIsWhereTheSpoolIsThatOfAnotherTrace() throws Exception {
    assertNull(question().replied());
    Files.writeString(spool().resolve("id"), "another");
    assertNotNull(question().replied());
  }

  @Test
  void whatAnEpochSaysOfTheStoresClockIsRead() {
    var skew = new Skew(-20, 35);
    assertEquals(skew, Skew.of("run_id: x\n" + skew.fact() + "\nrole: master"));
    assertEquals(Skew.UNKNOWN, Skew.of("run_id: x"));
    assertEquals(65, skew.earliest(100));
    assertEquals(120, skew.latest(100));
    assertEquals(80, skew.earliestThere(100));
    assertEquals(135, skew.latestThere(100));
    assertEquals(Long.MAX_VALUE, skew.latest(Long.MAX_VALUE));
  }
}
