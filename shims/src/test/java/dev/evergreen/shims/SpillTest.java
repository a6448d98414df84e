package dev.evergreen.shims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What waits for who does not take it. */
class SpillTest {
  private static final Path OPEN_FILES = Path.of("/proc/self/fd");

  @TempDir private Path directory;

  private static ByteBuffer bytes(long from, int count) {
    var bytes = ByteBuffer.allocate(count);
    for (int i = 0; i < count; i++) {
      bytes.put((byte) (((from + i) * 31) >> 3));
    }
    return bytes.flip();
  }

  /** How long the file is that only this process knows, and that has no name any more. */
  private long length() throws IOException {
    try (var files = Files.list(OPEN_FILES)) {
      for (var file : files.toList()) {
        if (Files.isSymbolicLink(file)
            && Files.readSymbolicLink(file).startsWith(directory.toRealPath())) {
          return Files.size(file);
        }
      }
    }
    return 0;
  }

  /** Also if its reader is never quite there. */
  @Test
  void theFileIsNeverLongerThanWhatMayWait() throws IOException {
    assumeTrue(Files.isDirectory(OPEN_FILES), "what is open is not told here");
    int most = 1 << 20;
    int piece = 60_000;
    try (var spill = new Spill(directory, most)) {
      long added = 0;
      for (; spill.add(bytes(added, piece)); added += piece) {}
      long taken = 0;
      for (int i = 0; i < 200; i++) {
        var some = ByteBuffer.allocate(piece);
        spill.take(some);
        assertEquals(bytes(taken, piece), some.flip());
        taken += piece;
        assertTrue(spill.add(bytes(added, piece)));
        added += piece;
      }
      long length = length();
      assertTrue(length > most / 2 && length <= most, () -> length + " bytes");
      assertFalse(spill.add(bytes(added, piece)), "more than may wait");
    }
  }

  @Test
  void whatWaitsIsTakenInItsOrder() throws IOException {
    var random = new Random(1);
    for (int most : new int[] {1, 1000, Spill.IN_MEMORY, 300_001}) {
      try (var spill = new Spill(directory, most)) {
        long added = 0;
        long taken = 0;
        for (int i = 0; i < 3000; i++) {
          int piece = random.nextInt(random.nextBoolean() ? 9 : 70_000);
          if (random.nextInt(5) > 0) {
            boolean fits = added - taken + piece <= most;
            assertEquals(fits, spill.add(bytes(added, piece)));
            added += fits ? piece : 0;
          } else {
            var some = ByteBuffer.allocate(random.nextInt(4) * piece);
            spill.take(some);
            int n = (int) Math.min(some.capacity(), added - taken);
            assertEquals(bytes(taken, n), some.flip());
            taken += n;
          }
          assertEquals(added - taken, spill.size());
          assertEquals(added == taken, spill.isEmpty());
        }
      }
    }
  }
}
