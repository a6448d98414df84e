package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static dev.evergreen.proxy.storage.TestStorage.find;
import static dev.evergreen.proxy.storage.TestStorage.put;
import static dev.evergreen.proxy.storage.TestStorage.version;
import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/**
 * Segment files that say nonsense with sums that are right, so that it is not found out by these.
 * What is found is right, or nothing is; and nothing ends by a fault of the program. Those of the
 * corpus are in the resource {@code segments.csv}. With {@code -Devergreen.proxy.fuzz=N} there are
 * N/100 mutated ones beside them, and {@code -Devergreen.proxy.seed=S} says where they begin.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SegmentFuzzTest {
  private static final int ROUNDS = Integer.getInteger("evergreen.proxy.fuzz", 3_000) / 100;
  private static final long SEED = Long.getLong("evergreen.proxy.seed", 20261125);

  private static final int OBJECTS = 60;
  private static final int SEGMENT = 1 << 20;

  @TempDir Path directory;

  private Storage open(int segments) throws IOException {
    return Storage.open(
        StorageOptions.memory(4 << 20)
            .memoryObject(20_000)
            .onDisk(directory, (long) segments * SEGMENT)
            .segment(SEGMENT));
  }

  /** The first segments are full. The first object has pieces, the others have not. */
  @BeforeEach
  void fill() throws Exception {
    try (var storage = open(8)) {
      for (int i = 0; i < OBJECTS; i++) {
        put(storage, "o" + i, 1, i % 6 == 0 ? 200_000 : 3000 + i);
        assertEquals(1, version(storage, "o" + i));
      }
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

  /** A file in memory whose sums are made right. */
  private final class File implements AutoCloseable {
    private final Path path;
    private final byte[] content;
    private final ByteBuffer bytes;

    File(int segment) throws IOException {
      path = directory.resolve(SegmentLog.fileName(segment));
      content = Files.readAllBytes(path);
      bytes = ByteBuffer.wrap(content).order(LITTLE_ENDIAN);
    }

    int length() {
      return bytes.limit();
    }

    /** Where the record is that begins at a place or before it. */
    int record(int at) {
      int record = SegmentLog.SEGMENT_HEADER;
      while (record + bytes.getInt(record + 4) <= at) {
        record += bytes.getInt(record + 4);
      }
      return record;
    }

    /** Where the record is of the first object without pieces, or with them. */
    int firstObject(boolean withPieces) {
      int record = SegmentLog.SEGMENT_HEADER;
      while (bytes.getInt(record + 48) > 0 != withPieces || bytes.getInt(record + 40) == 0) {
        record += bytes.getInt(record + 4);
      }
      return record;
    }

    void put(int at, byte[] changed) {
      bytes.put(at, changed);
    }

    void sumRecord(int at) {
      int prefix = bytes.getInt(at + 40);
      int rest = bytes.getInt(at + 44);
      if (prefix >= 0 && rest >= 0 && at + 64L + prefix + rest <= length()) {
        bytes.putInt(at + 52, DiskRecord.sum(bytes, at + 64, prefix));
        bytes.putInt(at + 56, DiskRecord.sum(bytes, at + 64 + prefix, rest));
      }
      bytes.putInt(at + 60, DiskRecord.sum(bytes, at, 60));
    }

    void sumFooter() {
      int trailer = length() - Footer.TRAILER;
      int count = bytes.getInt(trailer + 4);
      int at = bytes.getInt(trailer + 16);
      if (count >= 0 && at >= 0 && at + (long) count * Footer.ENTRY <= length()) {
        bytes.putInt(trailer + 20, DiskRecord.sum(bytes, at, count * Footer.ENTRY));
      }
      bytes.putInt(trailer + 28, DiskRecord.sum(bytes, trailer, 28));
    }

    void sumHeader() {
      bytes.putInt(60, DiskRecord.sum(bytes, 0, 60));
    }

    @Override
    public void close() throws IOException {
      Files.write(path, content);
    }
  }

  /** What is changed, and which sums are right afterwards. */
  private enum Part {
    HEADER,
    RECORD,
    /** The header of the first object without pieces. */
    OBJECT,
    /** The header of the first object with pieces. */
    LARGE,
    /** Behind the header of the first object without pieces. */
    IMAGE,
    FOOTER,
    TRAILER
  }

  private void change(Part part, int at, byte[] changed) throws IOException {
    try (var file = new File(0)) {
      int trailer = file.length() - Footer.TRAILER;
      switch (part) {
        case HEADER -> {
          file.put(at, changed);
          file.sumHeader();
        }
        case RECORD -> {
          int record = file.record(at);
          file.put(at, changed);
          file.sumRecord(record);
        }
        case OBJECT, LARGE -> {
          int record = file.firstObject(part == Part.LARGE);
          file.put(record + at, changed);
          file.sumRecord(record);
        }
        case IMAGE -> {
          int record = file.firstObject(false);
          file.put(record + DiskRecord.HEADER + at, changed);
          file.sumRecord(record);
        }
        case FOOTER -> {
          file.put(file.bytes.getInt(trailer + 16) + at, changed);
          file.sumFooter();
        }
        case TRAILER -> {
          file.put(trailer + at, changed);
          file.sumFooter();
        }
      }
    }
  }

  private void assertServes(String what) throws IOException {
    try (var storage = open(8)) {
      int found = found(storage);
      assertTrue(found > 0, () -> what + ": the other segments are not lost");
      put(storage, "more", 1, 1000);
      assertEquals(1, version(storage, "more"), () -> what + ": the log goes on");
    }
  }

  @ParameterizedTest(name = "{0}")
  @CsvFileSource(resources = "segments.csv", delimiter = ';')
  void nonsenseWithTheRightSumsIsNotServed(String what, Part part, int at, String bytes)
      throws IOException {
    change(part, at, HexFormat.of().parseHex(bytes));
    assertServes(what);
  }

  @Test
  void anyNonsenseWithTheRightSumsIsNotServed() throws IOException {
    var random = new Random(SEED);
    for (int i = 0; i < ROUNDS; i++) {
      var before = Files.readAllBytes(directory.resolve(SegmentLog.fileName(0)));
      // What is in an image is right if its sum is.
      var part = List.of(Part.HEADER, Part.RECORD, Part.FOOTER, Part.TRAILER).get(i % 4);
      int at =
          switch (part) {
            case HEADER, OBJECT, LARGE, IMAGE -> random.nextInt(56);
            case RECORD -> {
              try (var file = new File(0)) {
                yield file.record(random.nextInt(SEGMENT / 2)) + random.nextInt(56);
              }
            }
            case FOOTER -> random.nextInt(100);
            case TRAILER -> random.nextInt(24);
          };
      var changed = new byte[1 + random.nextInt(4)];
      random.nextBytes(changed);
      change(part, at, changed);
      assertServes(part + " " + at + " " + HexFormat.of().formatHex(changed));
      Files.write(directory.resolve(SegmentLog.fileName(0)), before);
    }
  }

  /** Objects of which a part was in files that are no more. */
  @Test
  void aSmallerDiskLosesWhatWasInTheRestOnly() throws Exception {
    try (var storage = open(8)) {
      for (int i = 0; i < 120; i++) {
        put(storage, "o" + i % OBJECTS, 1, 300_000);
        assertEquals(1, version(storage, "o" + i % OBJECTS));
      }
    }
    for (int segments = 7; segments > 3; segments--) {
      try (var storage = open(segments)) {
        assertTrue(found(storage) > 0);
      }
    }
  }
}
