package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a node remembers of another one's calls. */
final class SeenCallsTest {

  private final SeenCalls seen = new SeenCalls();

  @Test
  void noCallIsNewTwice() {
    var random = new Random(7);
    Set<Long> added = new HashSet<>();
    long oldest = 1;
    for (int i = 0; i < 100_000; i++) {
      oldest += random.nextInt(4) == 0 ? random.nextInt(8) : 0;
      long id = oldest - 20 + random.nextInt(3_000);
      assertEquals(id >= oldest && added.add(id), seen.add(id, oldest), "call " + id);
    }
    assertTrue(seen.size() <= 4 * 1_024, () -> "room for " + seen.size());
  }

  /** With a number kept for each, a call that lasts half a minute would cost hundreds of MB. */
  @Test
  void tenMillionCallsThatFollowUponOneOpenCallFitInLittleMemory() {
    long before = used();
    for (long id = 1; id <= 10_000_000; id++) {
      if (!seen.add(id, 1)) {
        throw new AssertionError(id + " was not seen before");
      }
    }
    long kept = used() - before;
    assertFalse(seen.add(5_000_000, 1));
    assertTrue(kept < 16 << 20, () -> kept + " bytes are kept");
    assertTrue(seen.add(10_000_001, 10_000_001));
    assertEquals(1_024, seen.size());
  }

  @Test
  void aNodeThatUsesNumbersFarApartCannotFillTheMemory() {
    for (long id = 0; id < 10 * SeenCalls.MAX_PAGES; id++) {
      assertTrue(seen.add(id * 1_024 + 1, 0));
    }
    assertTrue(seen.size() <= SeenCalls.MAX_PAGES * 1_024, () -> "room for " + seen.size());
    assertFalse(seen.add(1, 0), "what was forgotten counts as seen");
  }

  private static long used() {
    System.gc();
    var heap = Runtime.getRuntime();
    return heap.totalMemory() - heap.freeMemory();
  }
}
