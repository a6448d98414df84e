package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class SimStorageTest {

  private static final GrainId GRAIN = new GrainId("Cell", "a");
  private static final byte[] ONE = {1};
  private static final byte[] TWO = {2};

  private final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              new SplittableRandom(1), new RandomPolicy.Pace(1_000, 0, 0, 0, false, 0, 100_000)),
          new Trace(true));
  private final SimStorage storage = new SimStorage(scheduler, new SplittableRandom(2), 5_000_000);

  @Test
  void whatWasSavedIsLoaded() {
    scheduler.run(
        () -> {
          assertTrue(storage.load(GRAIN).isEmpty());
          long revision = storage.save(GRAIN, Storage.NONE, ONE);
          var stored = storage.load(GRAIN).orElseThrow();
          assertEquals(revision, stored.revision());
          assertArrayEquals(ONE, stored.state());
        });
  }

  @Test
  void ofTwoSavesUponTheSameRevisionOneFails() {
    scheduler.run(
        () -> {
          var saved = new AtomicInteger();
          var refused = new AtomicInteger();
          for (int i = 0; i < 5; i++) {
            scheduler.start(
                scheduler.world(),
                "saver",
                () -> {
                  try {
                    storage.save(GRAIN, Storage.NONE, ONE);
                    saved.incrementAndGet();
                  } catch (RevisionConflictException e) {
                    refused.incrementAndGet();
                  }
                });
          }
          scheduler.sleep(1_000_000_000);
          assertEquals(1, saved.get());
          assertEquals(4, refused.get());
        });
  }

  @Test
  void aFailedSaveHasTakenEffectOrNot() {
    scheduler.run(
        () -> {
          storage.failures(1);
          for (int i = 0; i < 20; i++) {
            var grain = new GrainId("Cell", "c" + i);
            assertThrows(StorageException.class, () -> storage.save(grain, Storage.NONE, ONE));
          }
          storage.failures(0);
          int effects = 0;
          for (int i = 0; i < 20; i++) {
            effects += storage.load(new GrainId("Cell", "c" + i)).isPresent() ? 1 : 0;
          }
          assertTrue(effects > 0 && effects < 20, "effects: " + effects);
        });
  }

  @Test
  void aSaveOfAPausedNodeTakesEffectNonetheless() {
    scheduler.run(
        () -> {
          var life = new Life("node");
          scheduler.start(life, "saver", () -> storage.save(GRAIN, Storage.NONE, TWO));
          scheduler.sleep(2_000);
          scheduler.pause(life);
          scheduler.sleep(1_000_000_000);
          assertArrayEquals(TWO, storage.load(GRAIN).orElseThrow().state());
        });
  }
}
