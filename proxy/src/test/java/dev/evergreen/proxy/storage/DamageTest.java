package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.key;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that were changed while nobody looked. What is found is right, or nothing is. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DamageTest {
  private static final int OBJECTS = 300;

  @TempDir Path directory;

  private Storage open() throws IOException {
    return Storage.open(
        StorageOptions.memory(4 << 20)
            .memoryObject(50_000)
            .onDisk(directory, 16 << 20)
            .segment(1 << 20));
  }

  /** Two full segments and a part of another. */
  @BeforeEach
  void fill() throws Exception {
    try (var storage = open()) {
      for (int i = 0; i < OBJECTS; i++) {
        put(storage, "o" + i, 1, i % 50 == 0 ? 200_000 : 100 * (i % 80));
        assertEquals(1, version(storage, "o" + i));
      }
    }
    try (var storage = open()) {
      assertEquals(OBJECTS, found(storage), "all of it is on disk");
    }
  }

  /** How many are found; each is right. */
  private static int found(Storage storage) {
    int found = 0;
    for (int i = 0; i < OBJECTS; i++) {
      try (var lease = find(storage, "o" + i)) {
        if (lease != null) {
          assertEquals(1, check(lease, "o" + i));
          found++;
        }
      } catch (IOException e) {
        // A large body of which a piece is damaged is cut off.
      }
    }
    return found;
  }

  private interface Damage {
    void to(RandomAccessFile file) throws IOException;
  }

  private void damage(String name, Damage damage) throws IOException {
    try (var file = new RandomAccessFile(directory.resolve(name).toFile(), "rw")) {
      damage.to(file);
    }
  }

  /** The last one that was written to. */
  private int lastSegment() throws IOException {
    int last = 0;
    while (Files.size(directory.resolve(SegmentLog.fileName(last + 1))) > 0) {
      last++;
    }
    return last;
  }

  private static void flip(RandomAccessFile file, long position, int bit) throws IOException {
    file.seek(position);
    int there = file.read();
    file.seek(position);
    file.write(there ^ (1 << bit));
  }

  @Test
  void flippedBitsAreNeverServed() throws Exception {
    long seed = System.nanoTime();
    var random = new Random(seed);
    for (int round = 0; round < 8; round++) {
      damage(
          SegmentLog.fileName(random.nextInt(lastSegment() + 1)),
          file -> {
            for (int i = 0; i < 6; i++) {
              flip(file, random.nextLong(file.length()), random.nextInt(8));
            }
          });
      try (var storage = open()) {
        int found = found(storage);
        assertTrue(found > OBJECTS / 20, "found " + found + ", seed " + seed);
      }
    }
  }

  /** What is lost. */
  private enum Loss {
    NONE,
    ONE,
    SOME,
    ALL;

    static Loss of(int found) {
      return switch (OBJECTS - found) {
        case 0 -> NONE;
        case 1 -> ONE;
        case OBJECTS -> ALL;
        default -> SOME;
      };
    }
  }

  /** One for each place that is looked at when a file is read. */
  @ParameterizedTest(name = "{0}")
  @CsvFileSource(resources = "damages.csv", delimiter = ';')
  void whatIsOverwrittenCostsNoMoreThanItMust(
      String what, String name, long at, @Nullable String bytes, String loss) throws Exception {
    damage(
        name,
        file -> {
          file.seek(at < 0 ? file.length() + at : at);
          file.write(HexFormat.of().parseHex(bytes == null ? "" : bytes));
        });
    try (var storage = open()) {
      assertEquals(Loss.valueOf(loss.toUpperCase(Locale.ROOT)), Loss.of(found(storage)), what);
      put(storage, "more", 1, 1000);
      assertEquals(1, version(storage, "more"), "the log goes on");
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 63, 64, 65, 127, 128, 200, 1 << 19, (1 << 20) - 32, (1 << 20) - 1})
  void aFileThatWasCutShortCostsWhatIsBehind(long length) throws Exception {
    damage(SegmentLog.fileName(0), file -> file.setLength(length));
    try (var storage = open()) {
      int found = found(storage);
      assertTrue(found > OBJECTS / 4, "the other segments: " + found);
      assertEquals(length == (1 << 20) - 32 || length == (1 << 20) - 1, found == OBJECTS);
    }
  }

  @Test
  void aFlippedBitInABodyCostsThatObjectOnly() throws Exception {
    try (var storage = open()) {
      // While it is open: what the directory knows is checked when it is read.
      damage(SegmentLog.fileName(0), file -> flip(file, file.length() / 2, 3));
      int found = found(storage);
      assertTrue(found >= OBJECTS - 1 && found < OBJECTS, "found " + found);
      assertEquals(1, storage.stats().corrupt());
    }
  }

  @Test
  void aTornTailCostsWhatIsInIt() throws Exception {
    var name = SegmentLog.fileName(lastSegment());
    damage(name, file -> file.setLength(file.length() - 777));
    int before;
    try (var storage = open()) {
      before = found(storage);
      assertTrue(before > OBJECTS / 2 && before < OBJECTS, "found " + before);
      put(storage, "more", 1, 1000);
      assertEquals(1, version(storage, "more"));
    }
    try (var storage = open()) {
      assertEquals(before, found(storage));
      assertEquals(1, version(storage, "more"), "the log goes on behind the last good record");
    }
    // Garbage in place of what was written last, as a system that goes down may leave it.
    damage(
        name,
        file -> {
          var garbage = new byte[3000];
          new Random(1).nextBytes(garbage);
          file.seek(file.length() - garbage.length);
          file.write(garbage);
        });
    try (var storage = open()) {
      assertTrue(found(storage) > OBJECTS / 2);
    }
  }

  @Test
  void aSegmentOfAFormerUseIsNotTakenForOneOfThis() throws Exception {
    // The second segment's content under the first one's name: a header that says otherwise.
    Files.copy(directory.resolve(SegmentLog.fileName(1)), directory.resolve("copy"));
    damage(
        SegmentLog.fileName(0),
        file -> {
          var content = Files.readAllBytes(directory.resolve("copy"));
          file.seek(SegmentLog.SEGMENT_HEADER);
          file.write(
              content, SegmentLog.SEGMENT_HEADER, content.length - SegmentLog.SEGMENT_HEADER);
        });
    try (var storage = open()) {
      int found = found(storage);
      assertTrue(found > OBJECTS / 4 && found < OBJECTS, "found " + found);
    }
  }

  @Test
  void aDamagedLogOfPurgesMeansThatNothingIsFound() throws Exception {
    try (var storage = open()) {
      storage.purge(Purge.uri(key("o1")));
      storage.purge(Purge.uri(key("o2")));
    }
    damage(PurgeLog.NAME, file -> flip(file, 5, 1));
    try (var storage = open()) {
      assertEquals(0, found(storage));
      put(storage, "o3", 1, 100);
      assertEquals(1, version(storage, "o3"));
    }
    try (var storage = open()) {
      assertEquals(1, version(storage, "o3"), "it began anew");
    }
  }

  @Test
  void aTornTailOfTheLogOfPurgesLosesNoConfirmedOne() throws Exception {
    try (var storage = open()) {
      storage.purge(Purge.uri(key("o1")));
    }
    damage(
        PurgeLog.NAME,
        file -> {
          file.seek(file.length());
          file.write(new byte[17]);
        });
    try (var storage = open()) {
      assertNull(find(storage, "o1"));
      assertEquals(OBJECTS - 1, found(storage));
      storage.purge(Purge.uri(key("o2")));
    }
    try (var storage = open()) {
      assertNull(find(storage, "o1"));
      assertNull(find(storage, "o2"));
    }
  }
}
