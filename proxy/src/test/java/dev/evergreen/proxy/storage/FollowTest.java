package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.body;
import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.head;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.reader;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reading responses while they are received. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FollowTest {
  private static final StorageOptions SMALL = StorageOptions.memory(2 << 20).memoryObject(100_000);

  @TempDir Path directory;

  private Storage open(boolean disk) throws IOException {
    return Storage.open(disk ? SMALL.onDisk(directory, 64 << 20) : SMALL);
  }

  @Test
  void readersSeeWhatIsThereSoFarAndThenTheRest() throws Exception {
    try (var storage = open(false);
        var appender = storage.append(entry("a", 1, 10, storage.stamp()));
        var lease = appender.follow()) {
      assertEquals(Lease.Source.ORIGIN, lease.source());
      assertEquals(10, lease.length());
      var body = body("a", 1, 10);
      appender.append(ByteBuffer.wrap(body, 0, 4));
      assertEquals(4, lease.read(0, 100)[0].remaining());
      var rest = reader(appender.follow(), "a");
      appender.append(ByteBuffer.wrap(body, 4, 6));
      appender.commit();
      assertEquals(1, rest.get());
      assertEquals(1, check(appender.follow(), "a"), "also who comes late");
    }
  }

  @Test
  void manyReadersOfManyPacesGetLargeAndSmallOnes() throws Exception {
    for (boolean disk : new boolean[] {false, true}) {
      for (int length : new int[] {0, 1, 65_471, 65_472, 65_473, 99_000, 150_000, 3_000_000}) {
        for (boolean known : new boolean[] {true, false}) {
          try (var storage = open(disk)) {
            follow(storage, length, known);
            if (disk || length < 99_500) {
              assertEquals(1, version(storage, "a"), length + " bytes");
            }
          }
        }
      }
    }
  }

  private static void follow(Storage storage, int length, boolean known) throws Exception {
    var body = body("a", 1, length);
    var random = new Random(length);
    var entry = new Entry(key("a"), head("a", 1, length), storage.stamp(), known ? length : -1);
    var readers = new ArrayList<CompletableFuture<Long>>();
    try (var appender = storage.append(entry)) {
      readers.add(reader(appender.follow(), "a"));
      readers.add(reader(appender.follow(), "a"));
      for (int at = 0; at < length; ) {
        int n = Math.min(length - at, 1 + random.nextInt(40_000));
        appender.append(ByteBuffer.wrap(body, at, n));
        at += n;
      }
      appender.commit();
    }
    for (var reader : readers) {
      assertEquals(1, reader.get());
    }
  }

  @Test
  void aSlowReaderNeitherHoldsTheOriginNorPilesUpMemoryWhenItCanBeStored() throws Exception {
    try (var storage = open(true)) {
      var body = body("a", 1, 12_000_000);
      int before = Buffers.count();
      try (var appender = storage.append(entry("a", 1, body.length, storage.stamp()));
          var slow = appender.follow()) {
        appender.append(ByteBuffer.wrap(body, 0, 100));
        var firstBytes = slow.read(0, 100)[0];
        appender.append(ByteBuffer.wrap(body, 100, body.length - 100));
        assertTrue(appender.commit());
        assertTrue(Buffers.count() - before < 64, "it took " + (Buffers.count() - before));
        assertEquals(body[0], firstBytes.get(0));
        assertEquals(1, check(slow, "a"));
      }
    }
  }

  @Test
  void aReaderThatTakesNothingIsCutOffWhereItCannotBeStored() throws Exception {
    // Long enough for the other one also where its thread does not run at once.
    try (var storage = Storage.open(SMALL.patience(Duration.ofSeconds(2)))) {
      var body = body("a", 1, 3_000_000);
      int before = Buffers.count();
      try (var appender = storage.append(entry("a", 1, body.length, storage.stamp()));
          var stuck = appender.follow()) {
        var good = reader(appender.follow(), "a");
        appender.append(ByteBuffer.wrap(body));
        assertFalse(appender.commit());
        assertEquals(1, good.get());
        assertThrows(IncompleteException.class, () -> stuck.read(0, 1));
        assertTrue(Buffers.count() - before < 16);
      }
    }
  }

  @Test
  void whatIsNotStoredIsAbandonedWithItsLastReader() throws Exception {
    try (var storage = open(false)) {
      var body = body("a", 1, 3_000_000);
      try (var appender = storage.append(entry("a", 1, body.length, storage.stamp()))) {
        try (var last = appender.follow()) {
          appender.append(ByteBuffer.wrap(body, 0, 100));
          assertEquals(100, last.read(0, 200)[0].remaining());
        }
        var rest = ByteBuffer.wrap(body, 100, 1);
        assertThrows(IncompleteException.class, () -> appender.append(rest));
        try (var late = appender.follow()) {
          assertThrows(IncompleteException.class, () -> late.read(0, 1));
        }
      }
      assertEquals(1, storage.stats().abandoned());
    }
  }

  @Test
  void anAbandonedResponseEndsItsReaders() throws Exception {
    try (var storage = open(true)) {
      for (int length : List.of(10, 1_000_000)) {
        var body = body("a", 1, length);
        CompletableFuture<Long> reader;
        try (var appender = storage.append(entry("a", 1, length, storage.stamp()))) {
          reader = reader(appender.follow(), "a");
          appender.append(ByteBuffer.wrap(body, 0, length - 1));
        }
        var failure = assertThrows(Exception.class, reader::get);
        assertTrue(failure.getCause() instanceof IncompleteException, failure::toString);
        assertEquals(0, version(storage, "a"));
      }
    }
  }
}
