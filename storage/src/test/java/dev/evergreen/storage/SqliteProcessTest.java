package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.storage.WriterProcess.Told;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What several processes, or killed ones, leave in a file. */
final class SqliteProcessTest {

  private static final Path PRLIMIT = Path.of("/usr/bin/prlimit");

  private final Path file;

  SqliteProcessTest(@TempDir Path directory) {
    file = directory.resolve("grains.db");
  }

  @Test
  void everyAcknowledgedSaveIsThereAfterAKill() throws Exception {
    var acknowledged = new HashMap<GrainId, Long>();
    int runs = Integer.getInteger("evergreen.kill.runs", 3);
    for (int run = 0; run < runs; run++) {
      try (var writer = WriterProcess.start(file.toString())) {
        awaitSaves(writer, 100 + 37 * (run % 20), acknowledged);
        writer.kill();
        for (var told = writer.next(); told != null; told = writer.next()) {
          note(told, acknowledged);
        }
      }
      assertAcknowledgedIsThere(acknowledged);
    }
  }

  @Test
  @Timeout(120)
  void afterTheDiskWasFullEverythingAcknowledgedIsThereAndSavingGoesOn() throws Exception {
    assumeTrue(Files.isExecutable(PRLIMIT), "no " + PRLIMIT + " to limit the size of files with");
    var acknowledged = new HashMap<GrainId, Long>();
    try (var writer = WriterProcess.start(file.toString())) {
      awaitSaves(writer, 50, acknowledged);
      limitFileSize(writer, "100000");
      for (int failures = 0; failures < 20; ) {
        var told = writer.next();
        if (told instanceof Told.Failed(var message)) {
          assertTrue(message.contains("SQLITE_FULL") || message.contains("SQLITE_IOERR"), message);
          failures++;
        } else {
          note(told, acknowledged);
        }
      }
      limitFileSize(writer, "unlimited");
      // Those that had begun before may still fail.
      int before = total(acknowledged);
      while (total(acknowledged) < before + 100) {
        var told = writer.next();
        if (!(told instanceof Told.Failed)) {
          note(told, acknowledged);
        }
      }
      writer.kill();
      for (var told = writer.next(); told != null; told = writer.next()) {
        note(told, acknowledged);
      }
    }
    assertAcknowledgedIsThere(acknowledged);
  }

  @Test
  @Timeout(120)
  void perRevisionOneOfTwoProcessesWins() throws Exception {
    var ours = new ConcurrentLinkedQueue<Told>();
    var theirs = new ArrayList<Told>();
    var stop = new AtomicBoolean();
    try (var storage = SqliteStorage.open(file);
        var writer = WriterProcess.start(file.toString())) {
      var increments =
          CompletableFuture.runAsync(() -> WriterProcess.increment(storage, stop, ours::add));
      while (theirs.size() < 200 || ours.size() < 200) {
        theirs.add(assertInstanceOf(Told.Saved.class, writer.next()));
      }
      stop.set(true);
      writer.finish();
      for (var told = writer.next(); told != null; told = writer.next()) {
        theirs.add(told);
      }
      increments.join();

      var winners = new HashSet<Told>();
      var saves = new HashMap<GrainId, Long>();
      for (var all : List.of(ours, theirs)) {
        for (var told : all) {
          assertTrue(winners.add(told), "twice: " + told);
          saves.merge(assertInstanceOf(Told.Saved.class, told).grain(), 1L, Long::sum);
        }
      }
      saves.forEach(
          (grain, count) -> {
            var stored = storage.load(grain).orElseThrow();
            assertEquals(count, stored.revision(), grain::toString);
            WriterProcess.assertIntact(grain, stored);
          });
    }
  }

  @Test
  @Timeout(120)
  void threeProcessesShareAFileAndTheDeathOfOneHarmsNothing() throws Exception {
    var acknowledged = new HashMap<GrainId, Long>();
    var winners = new HashSet<Told>();
    try (var one = WriterProcess.start(file.toString());
        var two = WriterProcess.start(file.toString());
        var three = WriterProcess.start(file.toString())) {
      var all = List.of(one, two, three);
      for (int saves = 0; saves < 100; saves++) {
        for (var writer : all) {
          noteWinner(writer.next(), winners, acknowledged);
        }
      }
      one.kill();
      for (int saves = 0; saves < 100; saves++) {
        noteWinner(two.next(), winners, acknowledged);
        noteWinner(three.next(), winners, acknowledged);
      }
      two.finish();
      three.finish();
      for (var writer : all) {
        for (var told = writer.next(); told != null; told = writer.next()) {
          noteWinner(told, winners, acknowledged);
        }
      }
    }
    assertAcknowledgedIsThere(acknowledged);
  }

  private static void noteWinner(
      @Nullable Told told, Set<Told> winners, Map<GrainId, Long> acknowledged) {
    note(told, acknowledged);
    assertTrue(winners.add(assertInstanceOf(Told.class, told)), () -> "twice: " + told);
  }

  private static void awaitSaves(WriterProcess writer, int count, Map<GrainId, Long> acknowledged)
      throws IOException {
    for (int i = 0; i < count; i++) {
      note(writer.next(), acknowledged);
    }
  }

  private static void note(@Nullable Told told, Map<GrainId, Long> acknowledged) {
    var saved = assertInstanceOf(Told.Saved.class, told);
    acknowledged.merge(saved.grain(), saved.revision(), Math::max);
  }

  private static int total(Map<GrainId, Long> acknowledged) {
    return Math.toIntExact(acknowledged.values().stream().mapToLong(Long::longValue).sum());
  }

  private static void limitFileSize(WriterProcess writer, String bytes) throws Exception {
    var prlimit =
        new ProcessBuilder(
                PRLIMIT.toString(), "--pid", Long.toString(writer.pid()), "--fsize=" + bytes + ":")
            .inheritIO()
            .start();
    assertEquals(0, prlimit.waitFor());
  }

  private void assertAcknowledgedIsThere(Map<GrainId, Long> acknowledged) throws Exception {
    try (var storage = SqliteStorage.open(file)) {
      acknowledged.forEach(
          (grain, revision) -> {
            var stored = storage.load(grain).orElse(new Stored(Storage.NONE, new byte[0]));
            assertTrue(
                stored.revision() == revision || stored.revision() == revision + 1,
                () -> grain + " is at " + stored.revision() + ", acknowledged was " + revision);
            WriterProcess.assertIntact(grain, stored);
          });
    }
    try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        var statement = connection.createStatement();
        var row = statement.executeQuery("pragma integrity_check")) {
      assertEquals("ok", row.getString(1));
    }
  }
}
