package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random requests against a map, with restarts. A cache may forget, so what is checked is what it
 * may show: of each key and variant the version stored last, stale if it was softly purged since it
 * was asked for, and never one that was purged. After a restart an older version may show itself
 * again if the newer one was in memory only, unless it was purged.
 */
@Timeout(120)
class ModelTest {
  private static final int SEEDS = Integer.getInteger("evergreen.storage.seeds", 12);
  private static final int STEPS = 1500;
  private static final List<String> TAGS = List.of("red", "green", "blue");
  private static final List<String> VARIANTS = List.of("", "gzip", "br");

  @TempDir Path directory;

  static List<Integer> seeds() {
    var seeds = new ArrayList<Integer>();
    for (int i = 0; i < SEEDS; i++) {
      seeds.add(i);
    }
    return seeds;
  }

  /** What was stored once. */
  private static final class Version {
    final String uri;
    final Set<String> tags;
    boolean purged;
    boolean stale;

    Version(String uri, Set<String> tags) {
      this.uri = uri;
      this.tags = tags;
    }
  }

  /** A response that is being received. */
  private record Fetch(String name, String uri, long number, Appender appender, byte[] body) {}

  private final class Model {
    final Random random;
    final boolean disk;
    Storage storage;

    /** By the number of the version. */
    final Map<Long, Version> versions = new HashMap<>();

    /** The versions that may be found, by key and variant; the one stored last is at the end. */
    final Map<String, List<Long>> stored = new HashMap<>();

    final List<Fetch> fetches = new ArrayList<>();
    long numbers;
    long hits;

    Model(int seed) throws IOException {
      random = new Random(seed);
      disk = seed % 4 != 0;
      storage = open();
    }

    Storage open() throws IOException {
      var memory = StorageOptions.memory(1 << 20).memoryObject(100_000);
      return Storage.open(disk ? memory.onDisk(directory, 8 << 20).segment(1 << 20) : memory);
    }

    Version version(long number) {
      return Objects.requireNonNull(versions.get(number));
    }

    void step() throws IOException {
      int what = random.nextInt(1000);
      if (what < 450) {
        look();
      } else if (what < 700) {
        begin();
        end(fetches.size() - 1);
      } else if (what < 780) {
        begin();
      } else if (what < 850) {
        end(random.nextInt(fetches.size() + 1) - 1);
      } else if (what < 930) {
        validate();
      } else if (what < 990) {
        purge();
      } else if (what < 995) {
        restart();
      } else {
        prefixPurge();
      }
    }

    String uri() {
      // Few are asked for often.
      int number = random.nextInt(1 + random.nextInt(200));
      return "/%d/%d".formatted(number % 7, number);
    }

    void look() throws IOException {
      var uri = uri();
      var variant = VARIANTS.get(random.nextInt(3));
      try (var lease = find(storage, uri, variant)) {
        if (lease != null) {
          see(lease, uri + variant);
        }
      }
    }

    void see(Lease lease, String name) throws IOException {
      hits++;
      long number = check(lease, name);
      var possible = stored.getOrDefault(name, List.of());
      assertTrue(possible.contains(number), () -> name + " was not stored as " + number);
      var version = version(number);
      assertFalse(version.purged, () -> name + " " + number + " was purged");
      assertEquals(version.stale, lease.isStale(), () -> name + " " + number + " stale");
    }

    void begin() {
      var uri = uri();
      var variant = VARIANTS.get(random.nextInt(3));
      long number = ++numbers;
      int length = random.nextInt(20) == 0 ? random.nextInt(400_000) : random.nextInt(3000);
      var tags = new HashSet<String>();
      for (var tag : TAGS) {
        if (random.nextInt(4) == 0) {
          tags.add(tag);
        }
      }
      versions.put(number, new Version(uri, tags));
      var entry = entry(uri, variant, number, length, storage.stamp(), List.copyOf(tags));
      var body = TestStorage.body(uri + variant, number, length);
      fetches.add(new Fetch(uri + variant, uri, number, storage.append(entry), body));
    }

    void end(int which) throws IOException {
      if (which < 0) {
        return;
      }
      var fetch = fetches.remove(which);
      boolean whole = random.nextInt(10) > 0;
      int end = whole ? fetch.body.length : random.nextInt(fetch.body.length + 1);
      try (var appender = fetch.appender) {
        appender.append(ByteBuffer.wrap(fetch.body, 0, end));
        if (whole && appender.commit()) {
          assertFalse(version(fetch.number).purged, "it was purged while it was received");
          var there = stored.computeIfAbsent(fetch.name, name -> new ArrayList<>());
          there.clear();
          there.add(fetch.number);
          older.computeIfAbsent(fetch.name, name -> new ArrayList<>()).add(fetch.number);
        }
      } catch (IncompleteException e) {
        assertFalse(disk, "on disk there is room for it");
      }
    }

    /** All that was ever stored under a name: on disk some of it may be left. */
    final Map<String, List<Long>> older = new HashMap<>();

    void validate() throws IOException {
      var uri = uri();
      var variant = VARIANTS.get(random.nextInt(3));
      try (var lease = find(storage, uri, variant)) {
        if (lease != null) {
          long number = check(lease, uri + variant);
          var version = version(number);
          var head = TestStorage.bytes(lease.head());
          boolean done =
              storage.replaceHead(lease, head, List.copyOf(version.tags), storage.stamp());
          if (done) {
            version.stale = false;
            revived.add(number);
          }
        }
      }
    }

    /** Softly purged and validated again: after a restart it may be either. */
    final Set<Long> revived = new HashSet<>();

    void purge() throws IOException {
      boolean soft = random.nextInt(3) == 0;
      if (random.nextInt(3) == 0) {
        var tag = TAGS.get(random.nextInt(3));
        var purge = Purge.tag(tag);
        storage.purge(soft ? purge.softly() : purge);
        mark(version -> version.tags.contains(tag), soft);
      } else {
        var uri = uri();
        var purge = Purge.uri(key(uri));
        if (soft) {
          storage.purge(purge.softly());
        } else if (random.nextBoolean()) {
          storage.purge(purge);
        } else {
          storage.invalidate(purge);
        }
        mark(version -> version.uri.equals(uri), soft);
      }
    }

    void prefixPurge() throws IOException {
      var prefix = "/" + random.nextInt(8) + (random.nextBoolean() ? "/" : "/1");
      storage.purge(Purge.prefix(key(prefix)));
      mark(version -> version.uri.startsWith(prefix), false);
    }

    void mark(Predicate<Version> which, boolean soft) {
      for (var version : versions.values()) {
        if (which.test(version)) {
          version.purged |= !soft;
          version.stale |= soft;
        }
      }
    }

    void restart() throws IOException {
      for (var fetch : fetches) {
        fetch.appender.close();
      }
      fetches.clear();
      storage.close();
      storage = open();
      if (disk) {
        older.forEach((name, numbers) -> stored.put(name, new ArrayList<>(numbers)));
        // What was validated in memory may be on disk as it was before.
        for (long number : revived) {
          version(number).purged = true;
        }
        for (var numbers : stored.values()) {
          numbers.removeAll(revived);
        }
        forgetRevived();
      } else {
        stored.clear();
      }
    }

    /** Purges for good what would need two answers. */
    void forgetRevived() throws IOException {
      var uris = new HashSet<String>();
      for (long number : revived) {
        uris.add(version(number).uri);
      }
      for (var uri : uris) {
        storage.purge(Purge.uri(key(uri)));
        mark(version -> version.uri.equals(uri), false);
      }
      revived.clear();
    }

    void finish() throws IOException {
      for (var fetch : fetches) {
        fetch.appender.close();
      }
      var stats = storage.stats();
      assertTrue(stats.memoryBytes() <= stats.memoryLimit());
      assertTrue(stats.diskBytes() <= stats.diskLimit());
      assertEquals(0, stats.corrupt());
      assertEquals(0, stats.diskErrors());
      assertTrue(hits > 20, () -> "it found something: " + hits);
      storage.close();
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void showsOnlyWhatItMay(int seed) throws IOException {
    var model = new Model(seed);
    for (int i = 0; i < STEPS; i++) {
      model.step();
    }
    model.finish();
  }
}
