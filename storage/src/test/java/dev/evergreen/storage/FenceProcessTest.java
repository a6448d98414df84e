package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.WriterProcess.Told;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that is stopped in the midst of its saves, given up, and goes on: it has learned of
 * nothing, and its time has not passed.
 */
@Timeout(120)
final class FenceProcessTest {

  private static final NodeId NODE = new NodeId("there:1", 7);
  private static final NodeId REBORN = new NodeId("there:1", 8);

  private final Path file;

  FenceProcessTest(@TempDir Path directory) {
    file = directory.resolve("grains.db");
  }

  @Test
  void inPostgresqlItSavesNothingMore() throws Exception {
    var url = PostgresServer.get().newSchema();
    try (var storage = PostgresStorage.open(url)) {
      stopGiveUpAndGoOn(storage, url);
    }
  }

  /** A process that holds SQLite's lock when it is stopped is let go on, and stopped again. */
  @Test
  void inAnSqliteFileItSavesNothingMore() throws Exception {
    try (var storage = SqliteStorage.open(file, Duration.ofMillis(500))) {
      stopGiveUpAndGoOn(storage, file.toString());
    }
  }

  private static void stopGiveUpAndGoOn(Storage storage, String place) throws Exception {
    var acknowledged = new HashMap<GrainId, Long>();
    try (var writer = WriterProcess.start(place, NODE)) {
      awaitSaves(writer, acknowledged);
      stopAndGiveUp(writer, storage);
      var taken = revisions(storage);
      writer.signal("CONT");
      int refused = 0;
      while (refused < 100) {
        if (writer.next() instanceof Told.Saved saved) {
          // It was told before the stop, or has learned only now what became of its save.
          note(saved, acknowledged);
        } else {
          refused++;
        }
      }
      assertEquals(taken, revisions(storage), "what was loaded when it was given up");
      acknowledged.forEach(
          (grain, revision) ->
              assertTrue(
                  taken.getOrDefault(grain, 0L) >= revision, () -> grain + " lost " + revision));
    }
    try (var writer = WriterProcess.start(place, REBORN)) {
      awaitSaves(writer, acknowledged);
      writer.kill();
    }
    acknowledged.forEach(
        (grain, revision) ->
            assertTrue(revision(storage, grain) >= revision, () -> grain + " lost " + revision));
  }

  private static void awaitSaves(WriterProcess writer, Map<GrainId, Long> acknowledged)
      throws Exception {
    for (int saves = 0; saves < 200; saves++) {
      note(assertInstanceOf(Told.Saved.class, writer.next()), acknowledged);
    }
  }

  private static void note(Told.Saved saved, Map<GrainId, Long> acknowledged) {
    acknowledged.merge(saved.grain(), saved.revision(), Math::max);
  }

  private static void stopAndGiveUp(WriterProcess writer, Storage storage) throws Exception {
    var fence = storage.fence(WriterProcess.CLUSTER).orElseThrow();
    while (true) {
      writer.signal("STOP");
      try {
        fence.giveUp(NODE);
        assertFalse(fence.isAlive(NODE));
        return;
      } catch (StorageException e) {
        writer.signal("CONT");
        assertInstanceOf(Told.Saved.class, writer.next());
      }
    }
  }

  private static Map<GrainId, Long> revisions(Storage storage) {
    var revisions = new HashMap<GrainId, Long>();
    for (var grain : WriterProcess.grains()) {
      revisions.put(grain, revision(storage, grain));
    }
    return revisions;
  }

  private static long revision(Storage storage, GrainId grain) {
    return storage.load(grain).map(Stored::revision).orElse(Storage.NONE);
  }
}
