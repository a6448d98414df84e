package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.body;
import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A disk that is full, or fails. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingDiskTest {
  @TempDir Path directory;

  /** How many bytes may still be written to all files. */
  private final AtomicLong room = new AtomicLong(Long.MAX_VALUE);

  private volatile boolean unreadable;
  private volatile boolean unforceable;

  /** A volume as one that is full: a write that does not fit is done in part, and fails. */
  private final class Full extends Volume {
    Full() throws IOException {
      super(directory);
    }

    @Override
    DiskFile open(String name) throws IOException {
      return new DiskFile(channel(name)) {
        @Override
        void write(ByteBuffer from, long position) throws IOException {
          long left = room.addAndGet(-from.remaining());
          if (left < 0) {
            room.set(0);
            var part = from.duplicate();
            part.limit(part.position() + part.remaining() / 2);
            super.write(part, position);
            throw new IOException("No space left on device");
          }
          super.write(from, position);
        }

        @Override
        void force() throws IOException {
          if (unforceable) {
            throw new IOException("Input/output error");
          }
          super.force();
        }

        @Override
        void read(ByteBuffer into, long position) throws IOException {
          if (unreadable) {
            throw new IOException("Input/output error");
          }
          super.read(into, position);
        }
      };
    }
  }

  private Storage open() throws IOException {
    return TieredStorage.open(
        StorageOptions.memory(1 << 20)
            .memoryObject(50_000)
            .onDisk(directory, 16 << 20)
            .segment(1 << 20),
        new Full());
  }

  /** Counts what is said above the level of information while it is open. */
  private static final class Warnings extends Handler implements AutoCloseable {
    private final AtomicInteger count = new AtomicInteger();
    private final Logger logger = Logger.getLogger("dev.evergreen.proxy.storage");

    Warnings() {
      logger.addHandler(this);
    }

    @Override
    public void publish(LogRecord record) {
      if (record.getLevel().intValue() > Level.INFO.intValue()) {
        count.incrementAndGet();
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      logger.removeHandler(this);
    }
  }

  @Test
  void whenTheDiskIsFullResponsesPassUnstoredAndThatIsSaidOnce() throws Exception {
    try (var warnings = new Warnings();
        var storage = open()) {
      put(storage, "before", 1, 200_000);
      room.set(100_000);
      for (int i = 0; i < 10; i++) {
        var body = body("large" + i, 1, 300_000);
        var entry = TestStorage.entry("large" + i, 1, body.length, storage.stamp());
        try (var appender = storage.append(entry);
            var follower = appender.follow()) {
          var origin =
              Thread.startVirtualThread(
                  () -> {
                    try {
                      appender.append(ByteBuffer.wrap(body));
                      assertFalse(appender.commit());
                    } catch (IOException e) {
                      throw new AssertionError(e);
                    }
                  });
          assertEquals(1, check(follower, "large" + i), "the client gets it");
          origin.join();
        }
        assertEquals(0, version(storage, "large" + i));
        put(storage, "small" + i, 1, 1000);
        assertEquals(1, version(storage, "small" + i), "memory works");
      }
      assertEquals(1, version(storage, "before"), "what is on disk can be read");
      assertEquals(1, warnings.count.get());
      room.set(Long.MAX_VALUE);
      while (!put(storage, "after", 1, 200_000)) {
        Thread.onSpinWait();
      }
      assertEquals(1, version(storage, "after"));
      room.set(0);
      while (put(storage, "again", 1, 200_000)) {
        Thread.onSpinWait();
      }
      while (warnings.count.get() < 2) {
        // It is said again when it happens again.
        Thread.onSpinWait();
      }
      room.set(Long.MAX_VALUE);
    }
    try (var storage = open()) {
      assertEquals(1, version(storage, "before"));
      assertEquals(1, version(storage, "after"));
      assertEquals(0, storage.stats().corrupt());
    }
  }

  @Test
  void aSegmentWhoseFirstWriteFailsIsThereAfterARestart() throws Exception {
    try (var storage = open()) {
      room.set(10);
      assertFalse(put(storage, "a", 1, 200_000));
      room.set(Long.MAX_VALUE);
      while (!put(storage, "a", 2, 200_000)) {
        Thread.onSpinWait();
      }
    }
    try (var storage = open()) {
      assertEquals(2, version(storage, "a"));
    }
  }

  @Test
  void aPurgeThatTheDiskDoesNotTakeIsNotConfirmedButHolds() throws Exception {
    try (var storage = open()) {
      put(storage, "a", 1, 100);
      put(storage, "b", 1, 100);
      room.set(0);
      assertThrows(IOException.class, () -> storage.purge(Purge.uri(key("a"))));
      assertEquals(0, version(storage, "a"));
      room.set(Long.MAX_VALUE);
      unforceable = true;
      assertThrows(IOException.class, () -> storage.purge(Purge.uri(key("a"))));
      unforceable = false;
      storage.purge(Purge.uri(key("b")));
    }
    try (var storage = open()) {
      assertEquals(0, version(storage, "b"));
    }
  }

  @Test
  void whatCannotBeReadIsAMiss() throws Exception {
    try (var storage = open()) {
      put(storage, "large", 1, 200_000);
      put(storage, "small", 1, 100);
      unreadable = true;
      assertEquals(0, version(storage, "large"));
      assertEquals(1, version(storage, "small"));
      unreadable = false;
      assertEquals(1, version(storage, "large"));
      try (var lease = TestStorage.find(storage, "large")) {
        unreadable = true;
        assertTrue(lease != null);
        assertThrows(IOException.class, () -> lease.read(0, 1));
      }
    }
  }
}
