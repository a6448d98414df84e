package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.storage.WriterProcess.Told;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What several processes, killed ones and a killed server leave in a database. */
@Timeout(120)
final class PostgresProcessTest {

  private final PostgresServer server = PostgresServer.get();
  private final String url = server.newSchema();

  PostgresProcessTest() throws Exception {}

  @Test
  void everyAcknowledgedSaveIsThereAfterAKill() throws Exception {
    var acknowledged = new HashMap<GrainId, Long>();
    for (int run = 0; run < Integer.getInteger("evergreen.kill.runs", 3); run++) {
      try (var writer = WriterProcess.start(url)) {
        for (int saves = 0; saves < 100 + 37 * (run % 20); saves++) {
          note(assertInstanceOf(Told.Saved.class, writer.next()), acknowledged);
        }
        writer.kill();
        for (var told = writer.next(); told != null; told = writer.next()) {
          note(assertInstanceOf(Told.Saved.class, told), acknowledged);
        }
      }
      try (var storage = PostgresStorage.open(url)) {
        acknowledged.forEach(
            (grain, revision) -> {
              // The last save of each may have been cut off between its commit and its telling.
              long found = revision(storage, grain);
              assertTrue(
                  found == revision || found == revision + 1,
                  () -> grain + " is at " + found + ", acknowledged was " + revision);
            });
      }
    }
  }

  @Test
  void perRevisionOneOfTwoProcessesWins() throws Exception {
    var ours = new ConcurrentLinkedQueue<Told>();
    var theirs = new ConcurrentLinkedQueue<Told>();
    var stop = new AtomicBoolean();
    try (var storage = PostgresStorage.open(url);
        var writer = WriterProcess.start(url)) {
      var increments =
          CompletableFuture.runAsync(() -> WriterProcess.increment(storage, stop, ours::add));
      while (theirs.size() < 300 || ours.size() < 300) {
        theirs.add(assertInstanceOf(Told.Saved.class, writer.next()));
      }
      stop.set(true);
      writer.finish();
      for (var told = writer.next(); told != null; told = writer.next()) {
        theirs.add(told);
      }
      increments.join();

      var saves = new HashMap<GrainId, Long>();
      var winners = new HashMap<Told, Integer>();
      for (var all : List.of(ours, theirs)) {
        for (var told : all) {
          assertEquals(1, winners.merge(told, 1, Integer::sum), () -> "twice: " + told);
          saves.merge(assertInstanceOf(Told.Saved.class, told).grain(), 1L, Long::sum);
        }
      }
      saves.forEach(
          (grain, count) -> assertEquals(count, revision(storage, grain), grain::toString));
    }
  }

  @Test
  void whenTheServerIsKilledUnderLoadNothingAcknowledgedIsLostAndSavingGoesOn() throws Exception {
    var told = new LinkedBlockingQueue<Told>();
    var stop = new AtomicBoolean();
    var settings = PostgresStorage.Settings.of(url).withPatience(Duration.ofSeconds(5));
    try (var storage = PostgresStorage.open(settings)) {
      var increments =
          CompletableFuture.runAsync(() -> WriterProcess.increment(storage, stop, told::add));
      var acknowledged = new HashMap<GrainId, Long>();
      int failures = 0;
      try {
        for (int restart = 0; restart < 3; restart++) {
          failures += awaitSaves(told, 300, acknowledged);
          server.stopImmediately();
          server.start();
        }
        failures += awaitSaves(told, 300, acknowledged);
      } finally {
        stop.set(true);
        increments.join();
      }
      for (var last : told) {
        if (last instanceof Told.Saved saved) {
          note(saved, acknowledged);
        }
      }
      assertTrue(failures > 0, "no writer noticed that the server was killed");
      acknowledged.forEach(
          (grain, revision) ->
              assertTrue(
                  revision(storage, grain) >= revision,
                  () -> grain + " is at " + revision(storage, grain) + " after " + revision));
    }
  }

  /** Awaits as many acknowledged saves, and counts the failed ones among them. */
  private static int awaitSaves(
      LinkedBlockingQueue<Told> all, int count, Map<GrainId, Long> acknowledged)
      throws InterruptedException {
    int failures = 0;
    for (int saves = 0; saves < count; ) {
      switch (all.take()) {
        case Told.Saved saved -> {
          note(saved, acknowledged);
          saves++;
        }
        case Told.Failed(var message) -> {
          assertTrue(message.contains("StorageException"), message);
          failures++;
        }
      }
    }
    return failures;
  }

  private static void note(Told.Saved saved, Map<GrainId, Long> acknowledged) {
    acknowledged.merge(saved.grain(), saved.revision(), Math::max);
  }

  /** The revision, of which the state must be. */
  private static long revision(Storage storage, GrainId grain) {
    var stored = storage.load(grain).orElse(new Stored(Storage.NONE, new byte[0]));
    WriterProcess.assertIntact(grain, stored);
    return stored.revision();
  }
}
