package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.body;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What may as well be left unwritten is in nobody's way on a disk that is slower than that. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlowDiskTest {
  private static final int MANY = 15_000;
  private static final int FEW = 50;

  @TempDir Path directory;

  /** Writes wait for it. */
  private volatile CountDownLatch gate = new CountDownLatch(0);

  /** Those before this place of a file do not. */
  private volatile long gatedFrom;

  private final CountDownLatch waits = new CountDownLatch(1);

  private final class Gated extends Volume {
    Gated() throws IOException {
      super(directory);
    }

    @Override
    DiskFile open(String name) throws IOException {
      return new DiskFile(channel(name)) {
        @Override
        void write(ByteBuffer from, long position) throws IOException {
          if (position >= gatedFrom && gate.getCount() > 0) {
            waits.countDown();
            await(gate);
          }
          super.write(from, position);
        }
      };
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private TieredStorage open() throws IOException {
    var options = StorageOptions.memory(64 << 20).onDisk(directory, 1 << 30);
    return TieredStorage.open(options, new Gated());
  }

  private static void awaitOnDisk(TieredStorage storage, String name) throws InterruptedException {
    var disk = storage.disk();
    for (int i = 0; i < FEW && disk != null; i++) {
      while (disk.directory.get(storage.hashOf(TestStorage.key(name + i))) == 0) {
        Thread.sleep(1);
      }
    }
  }

  private static void storeAndHit(Storage storage, String name, long version) throws IOException {
    for (int i = 0; i < FEW; i++) {
      put(storage, name + i, version, 1000);
      assertEquals(version, version(storage, name + i));
    }
  }

  private static void storeMany(Storage storage) throws IOException {
    for (int i = 0; i < MANY; i++) {
      put(storage, "once" + i, 1, 100);
    }
  }

  @Test
  void whatIsHitIsWrittenHoweverMuchIsOnlyStored() throws Exception {
    try (var storage = open()) {
      gate = new CountDownLatch(1);
      storeMany(storage);
      storeAndHit(storage, "hit", 1);
      gate.countDown();
      awaitOnDisk(storage, "hit");
    }
  }

  @Test
  void whatReplacesAnotherOnDiskIsWrittenHoweverMuchIsOnlyStored() throws Exception {
    try (var storage = open()) {
      storeAndHit(storage, "hit", 1);
      awaitOnDisk(storage, "hit");
      gate = new CountDownLatch(1);
      storeMany(storage);
      storeAndHit(storage, "hit", 2);
      gate.countDown();
    }
    try (var storage = open()) {
      for (int i = 0; i < FEW; i++) {
        assertEquals(2, version(storage, "hit" + i));
      }
    }
  }

  /** They keep the log's thread from ever being idle, and do not fill what it writes at once. */
  @Test
  void aLargeResponseDoesNotWaitForSmallOnes() throws Exception {
    int length = 10 << 20;
    try (var storage = open()) {
      var stop = new AtomicBoolean();
      var small = new AtomicInteger();
      var others =
          Thread.startVirtualThread(
              () -> {
                try {
                  while (!stop.get()) {
                    put(storage, "small" + small.getAndIncrement(), 1, 100);
                    Thread.sleep(1);
                  }
                } catch (IOException | InterruptedException e) {
                  throw new AssertionError(e);
                }
              });
      int before = small.get();
      try (var appender = storage.append(entry("large", 1, length, storage.stamp()))) {
        appender.append(ByteBuffer.wrap(body("large", 1, length)));
        assertTrue(appender.commit());
      } finally {
        stop.set(true);
        others.join();
      }
      int meanwhile = small.get() - before;
      assertTrue(meanwhile < 2_000, () -> meanwhile + " small ones were stored meanwhile");
    }
  }

  @Test
  void aDiskThatWasMadeLargerHasRoomAgain() throws Exception {
    var options = StorageOptions.memory(4 << 20).memoryObject(1000);
    try (var storage = Storage.open(options.onDisk(directory, 8 << 20).segment(1 << 20))) {
      // Too large for memory, so that they are on disk without having been hit.
      for (int i = 0; i < 15_000; i++) {
        put(storage, "large" + i, 1, 5_000);
      }
      assertTrue(storage.stats().evictedDisk() > 0);
    }
    try (var storage = TieredStorage.open(options.onDisk(directory, 64 << 20).segment(1 << 20))) {
      for (int i = 0; i < FEW; i++) {
        put(storage, "once" + i, 1, 100);
      }
      awaitOnDisk(storage, "once");
    }
  }

  private static void readOn(Lease lease) {
    try {
      TestStorage.read(lease);
    } catch (IOException e) {
      // It is not completed.
    }
  }

  /**
   * Its length is not known, so that it outgrows the quarter of the disk that it may have when the
   * log has all of its pieces already, and is about to copy one.
   */
  @Test
  void whatIsPassedOnIsNotWrittenWithBytesOfOthers() throws Exception {
    int segment = 1 << 20;
    int pieces = segment / Buffers.SIZE;
    var options =
        StorageOptions.memory(4 << 20).memoryObject(20_000).onDisk(directory, 4L * segment);
    var body = body("a", 1, (pieces + 4) * PiecePlace.LENGTH);
    try (var storage = TieredStorage.open(options.segment(segment), new Gated());
        var appender = storage.append(new Entry(key("a"), new byte[1], storage.stamp(), -1));
        var reader = appender.follow()) {
      Thread.startVirtualThread(() -> readOn(reader));
      gatedFrom = (long) segment - Footer.TRAILER;
      gate = new CountDownLatch(1);
      // With their headers they are a little more than a segment.
      appender.append(ByteBuffer.wrap(body, 0, pieces * PiecePlace.LENGTH + 1));
      await(waits);
      int rest = body.length - pieces * PiecePlace.LENGTH - 1;
      appender.append(ByteBuffer.wrap(body, body.length - rest, rest));
      var others = new ArrayList<Buffers.Loan>();
      for (int i = 0; i < 2 * pieces; i++) {
        var loan = Buffers.borrow();
        loan.buffer().put(new byte[Buffers.SIZE]);
        others.add(loan);
      }
      gate.countDown();
      // What the log takes after it.
      assertTrue(put(storage, "b", 1, 100_000));
      others.forEach(Buffers.Loan::close);
      long at = (pieces - 1L) * PiecePlace.LENGTH;
      try (var late = appender.follow()) {
        var found = TestStorage.bytes(late.read(at, PiecePlace.LENGTH)[0]);
        assertEquals(PiecePlace.LENGTH, found.length);
        assertArrayEquals(Arrays.copyOfRange(body, (int) at, (int) at + found.length), found);
      }
    }
  }
}
