package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Threads that store, find, validate and purge the same few responses, in memory and on a disk that
 * are both too small for them. Bodies prove themselves, and what was purged or replaced before a
 * lookup began is not found by it. Each response is stored by one thread, so that it is known which
 * version is the last.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StressTest {
  private static final int SECONDS = Integer.getInteger("evergreen.storage.seconds", 5);
  private static final int THREADS = 6;
  private static final int URIS = 402;
  private static final int ROUNDS = 200;

  @TempDir Path directory;

  private final AtomicLong numbers = new AtomicLong();
  private final AtomicLong found = new AtomicLong();
  private final AtomicLong cut = new AtomicLong();

  /** The version of each URI that was stored last. */
  private final AtomicLongArray stored = new AtomicLongArray(URIS);

  /** Versions up to this were purged, for each URI. */
  private final AtomicLongArray gone = new AtomicLongArray(URIS);

  @Test
  void bodiesAreRightAndPurgesHoldUnderLoad() throws Exception {
    var options =
        StorageOptions.memory(1 << 20)
            .memoryObject(100_000)
            .onDisk(directory, 8 << 20)
            .segment(1 << 20);
    try (var storage = Storage.open(options)) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        var running = new ArrayList<Future<?>>();
        for (int i = 0; i < THREADS; i++) {
          int seed = i;
          running.add(threads.submit(() -> work(storage, seed, end)));
        }
        for (var thread : running) {
          thread.get();
        }
      }
      var stats = storage.stats();
      assertTrue(found.get() > 1000, "found " + found);
      assertTrue(cut.get() < found.get() / 10, "cut off " + cut + " of " + found);
      assertTrue(stats.diskHits() > 100 && stats.evictedDisk() > 100, stats::toString);
      assertEquals(0, stats.corrupt(), stats::toString);
      assertTrue(stats.memoryBytes() <= stats.memoryLimit());
    }
  }

  /** Several that were asked for one after the other come at once, as they happen to. */
  @Test
  void whatWasAskedForLastIsThereWhateverComesLast() throws Exception {
    var options =
        StorageOptions.memory(256 << 20).memoryObject(100_000).onDisk(directory, 256 << 20);
    try (var storage = Storage.open(options);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int seed = 0; seed < ROUNDS; seed++) {
        var uri = "/" + seed;
        var random = new Random(seed);
        var entries = new ArrayList<Entry>();
        var appenders = new ArrayList<Appender>();
        for (int version = 1; version <= THREADS; version++) {
          var variant = seed % 2 == 0 ? "" : "v" + random.nextInt(3);
          int length = random.nextInt(4) == 0 ? 150_000 : random.nextInt(4000);
          entries.add(entry(uri, variant, version, length, storage.stamp(), List.of()));
          appenders.add(storage.append(entries.getLast()));
        }
        var begins = new CyclicBarrier(THREADS);
        var running = new ArrayList<Future<Boolean>>();
        for (int i = 0; i < THREADS; i++) {
          var appender = appenders.get(i);
          var body = ByteBuffer.wrap(TestStorage.bodyOf(entries.get(i).head()));
          running.add(
              threads.submit(
                  () -> {
                    begins.await();
                    try (appender) {
                      appender.append(body);
                      return appender.commit();
                    }
                  }));
        }
        var expected = new LinkedHashMap<String, Long>();
        for (int i = THREADS - 1; i >= 0; i--) {
          if (running.get(i).get()) {
            var variant = new String(entries.get(i).variant(), ISO_8859_1);
            expected.putIfAbsent(variant, i + 1L);
          }
        }
        assertEquals(expected.toString(), versions(storage, uri).toString(), uri);
      }
    }
  }

  /** Of all variants, that which is listed first first. */
  private static Map<String, Long> versions(Storage storage, String uri) throws IOException {
    var versions = new LinkedHashMap<String, Long>();
    for (var lease : storage.findAll(key(uri), THREADS, _ -> true)) {
      try (lease) {
        var variant = new String(lease.variant(), ISO_8859_1);
        versions.put(variant, check(lease, uri + variant));
      }
    }
    return versions;
  }

  private Void work(Storage storage, int thread, long end) throws IOException {
    var random = new Random(thread);
    while (System.nanoTime() < end) {
      int number = Math.min(random.nextInt(URIS), random.nextInt(URIS));
      var uri = "/" + number;
      int what = random.nextInt(100);
      if (what < 30) {
        // The stamp before the number: a purge that covers the number comes after both.
        long stamp = storage.stamp();
        number = number / THREADS * THREADS + thread;
        uri = "/" + number;
        long version = numbers.incrementAndGet();
        int length = random.nextInt(10) == 0 ? random.nextInt(300_000) : random.nextInt(4000);
        if (TestStorage.put(storage, entry(uri, version, length, stamp))) {
          stored.set(number, version);
        }
      } else if (what < 92) {
        look(storage, number, uri, what < 35);
      } else {
        long until = numbers.get();
        storage.purge(Purge.uri(key(uri)));
        gone.accumulateAndGet(number, until, Math::max);
      }
    }
    return null;
  }

  private void look(Storage storage, int number, String uri, boolean validates) throws IOException {
    long purged = gone.get(number);
    long last = stored.get(number);
    try (var lease = TestStorage.find(storage, uri)) {
      if (lease != null) {
        found.incrementAndGet();
        long version = check(lease, uri);
        if (version <= purged) {
          throw new AssertionError(uri + " " + version + " was purged up to " + purged);
        }
        if (version < last) {
          throw new AssertionError(uri + " " + version + " was replaced by " + last);
        }
        if (validates) {
          var head = TestStorage.bytes(lease.head());
          storage.replaceHead(lease, head, List.of(), lease.stamp());
        }
      }
    } catch (DamagedException e) {
      // More is read at once than may be pinned of so small a disk. That nothing is corrupt is
      // looked at in the end.
      cut.incrementAndGet();
    }
  }
}
