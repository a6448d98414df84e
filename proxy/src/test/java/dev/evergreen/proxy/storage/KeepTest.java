package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.head;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is written again when its segment is emptied, as it was asked for. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KeepTest {
  private static final int MIB = 1 << 20;
  private static final int SEGMENTS = 8;
  private static final int SIZE = 15_000;
  private static final int TO_DISK_AT_ONCE = 21_000;
  private static final int BATCH = 20;
  private static final int HOT = 10;

  @TempDir Path directory;
  private int others;

  private TieredStorage open() throws IOException {
    return TieredStorage.open(
        StorageOptions.memory(4 * MIB)
            .memoryObject(20_000)
            .onDisk(directory, SEGMENTS * MIB)
            .segment(MIB)
            .meanObject(1_000)); // So that no part of the directory is full.
  }

  private static DiskTier disk(TieredStorage storage) {
    return Objects.requireNonNull(storage.disk());
  }

  /** Stores it, and asks for it, so that it is written. */
  private static void store(TieredStorage storage, String name) throws IOException {
    put(storage, name, 1, SIZE);
    assertEquals(1, version(storage, name));
  }

  /** Waits until the log has written what it was handed before. */
  private void awaitLog(TieredStorage storage) throws IOException {
    assertTrue(put(storage, "toDiskAtOnce" + others++, 1, TO_DISK_AT_ONCE));
  }

  /** Now and then a copy to disk is taken back for another's sake, see {@link Generations}. */
  private void storeOnDisk(TieredStorage storage, String name) throws IOException {
    do {
      store(storage, name);
      awaitLog(storage);
    } while (disk(storage).directory.get(storage.hashOf(key(name))) == 0);
  }

  private void storeOthers(TieredStorage storage) throws IOException {
    for (int i = 0; i < BATCH; i++) {
      store(storage, "other" + others++);
    }
    awaitLog(storage);
  }

  /** As if it had left memory. */
  private static long versionOnDisk(TieredStorage storage, String name) throws IOException {
    storage.memory().remove(storage.hashOf(key(name)));
    return version(storage, name);
  }

  private static long rounds(TieredStorage storage) {
    long last = 0;
    for (int i = 0; i < SEGMENTS; i++) {
      last = Math.max(last, disk(storage).log.segment(i).sequence);
    }
    return last / SEGMENTS;
  }

  @Test
  void whatIsAskedForInEachRoundStaysAndTheDiskIsFull() throws Exception {
    try (var storage = open()) {
      for (int i = 0; i < HOT; i++) {
        storeOnDisk(storage, "hot" + i);
      }
      while (rounds(storage) < 4) {
        storeOthers(storage);
        for (int i = 0; i < HOT; i++) {
          assertEquals(1, versionOnDisk(storage, "hot" + i), "hot" + i);
        }
        if (rounds(storage) > 0) {
          // Two segments are free, and one is being written to.
          long full = (SEGMENTS - 4) * (MIB / (SIZE + 500));
          long objects = storage.stats().diskObjects();
          assertTrue(objects >= full, () -> objects + " objects are on disk");
        }
      }
      assertTrue(storage.stats().keptDisk() >= 3 * HOT);
    }
  }

  /** Else what was asked for earlier could be taken for what was asked for later. */
  @Test
  void whatIsWrittenAgainTellsWhenItWasAskedFor() throws Exception {
    try (var storage = open()) {
      storeOnDisk(storage, "hot");
      long asked = stampOnDisk(storage, "hot");
      for (long kept = 0; kept < 2; kept = storage.stats().keptDisk()) {
        storeOthers(storage);
        assertEquals(asked, stampOnDisk(storage, "hot"));
      }
      try (var lease = findOnDisk(storage, "hot")) {
        boolean done = storage.replaceHead(lease, head("hot", 1, SIZE), List.of(), storage.stamp());
        assertTrue(done, "it is still the one that was found");
      }
    }
  }

  private static Lease findOnDisk(TieredStorage storage, String name) {
    storage.memory().remove(storage.hashOf(key(name)));
    return Objects.requireNonNull(find(storage, name));
  }

  private static long stampOnDisk(TieredStorage storage, String name) {
    try (var lease = findOnDisk(storage, name)) {
      assertEquals(Lease.Source.DISK, lease.source());
      return lease.stamp();
    }
  }

  @Test
  void aPurgeMeetsWhatIsWrittenAgainAtThatMoment() throws Exception {
    try (var storage = open()) {
      storeOnDisk(storage, "hot");
      assertEquals(1, versionOnDisk(storage, "hot"));
      var purger = new Thread(() -> purge(storage, "hot"));
      // As if another purge were being made, which may take a while.
      synchronized (disk(storage).marks) {
        purger.start();
        while (purger.getState() != Thread.State.BLOCKED) {
          Thread.onSpinWait();
        }
        while (storage.stats().keptDisk() == 0 && !waitsForMarks()) {
          store(storage, "other" + others++);
        }
      }
      purger.join();
      assertEquals(0, versionOnDisk(storage, "hot"));
    }
    try (var storage = open()) {
      assertEquals(0, version(storage, "hot"), "after a restart");
    }
  }

  private static void purge(Storage storage, String name) {
    try {
      storage.purge(Purge.uri(key(name)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether the log's thread is held up by who makes a purge. */
  private static boolean waitsForMarks() {
    return Thread.getAllStackTraces().entrySet().stream()
        .anyMatch(
            thread ->
                thread.getKey().getName().equals("storage-log")
                    && thread.getKey().getState() == Thread.State.BLOCKED
                    && thread.getValue().length > 0
                    && thread.getValue()[0].getClassName().equals(Marks.class.getName()));
  }
}
