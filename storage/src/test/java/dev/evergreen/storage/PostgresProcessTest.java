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

  /** So that callers give up soon. */
  private static final Duration SHORT = Duration.ofMillis(500);

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
    underLoad(
        Duration.ofSeconds(5),
        load -> {
          load.begin();
          for (int restart = 0; restart < 3; restart++) {
            load.awaitSaves(300);
            server.stopImmediately();
            server.start();
          }
          load.awaitSaves(300);
          assertTrue(load.failures > 0, "no writer noticed that the server was killed");
        });
  }

  @Test
  void whenTheServersProcessesHangWhileNothingIsAskedSavingGoesOnWithoutThem() throws Exception {
    underLoad(
        SHORT,
        load -> {
          load.storage.load(WriterProcess.grains().getFirst());
          // Idle ones hold no locks, not even the server's own, that others would wait for.
          try (var _ = server.hang()) {
            load.begin();
            load.awaitFailures(1);
            load.awaitSaves(30);
          }
        });
  }

  @Test
  void whatHangsUnderLoadAndGoesOnOrIsReplacedLosesNothingAcknowledged() throws Exception {
    underLoad(
        SHORT,
        load -> {
          load.begin();
          load.awaitSaves(300);
          try (var _ = server.hang()) {
            load.awaitFailures(WriterProcess.THREADS);
          }
          load.awaitSaves(300);
          try (var _ = server.hang()) {
            load.awaitFailures(WriterProcess.THREADS);
            server.failOver();
          }
          load.awaitSaves(300);
        });
  }

  private interface Trouble {
    void make(Load load) throws Exception;
  }

  /** Makes trouble for a storage, then looks for what was acknowledged. */
  private void underLoad(Duration patience, Trouble trouble) throws Exception {
    var settings = PostgresStorage.Settings.of(url).withPatience(patience);
    try (var storage = PostgresStorage.open(settings)) {
      var load = new Load(storage);
      try {
        trouble.make(load);
      } finally {
        load.end();
      }
      load.told.forEach(load::note);
      load.acknowledged.forEach(
          (grain, revision) ->
              assertTrue(
                  revision(storage, grain) >= revision,
                  () -> grain + " is at " + revision(storage, grain) + " after " + revision));
    }
  }

  /** Writers, and what they tell. */
  private static final class Load {
    final Storage storage;
    final LinkedBlockingQueue<Told> told = new LinkedBlockingQueue<>();
    final Map<GrainId, Long> acknowledged = new HashMap<>();
    private final AtomicBoolean stop = new AtomicBoolean();
    private CompletableFuture<?> writers = CompletableFuture.completedFuture(null);
    int saves;
    int failures;

    Load(Storage storage) {
      this.storage = storage;
    }

    void begin() {
      writers = CompletableFuture.runAsync(() -> WriterProcess.increment(storage, stop, told::add));
    }

    void end() {
      stop.set(true);
      writers.join();
    }

    void awaitSaves(int more) throws InterruptedException {
      for (int enough = saves + more; saves < enough; ) {
        note(told.take());
      }
    }

    void awaitFailures(int more) throws InterruptedException {
      for (int enough = failures + more; failures < enough; ) {
        note(told.take());
      }
    }

    void note(Told next) {
      switch (next) {
        case Told.Saved saved -> {
          PostgresProcessTest.note(saved, acknowledged);
          saves++;
        }
        case Told.Failed(var message) -> {
          assertTrue(message.contains("StorageException"), message);
          failures++;
        }
      }
    }
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
