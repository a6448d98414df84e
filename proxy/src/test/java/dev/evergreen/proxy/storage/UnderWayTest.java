package dev.evergreen.proxy.storage;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What was asked for later, and is stored. */
class UnderWayTest {
  private static final long URI = 1;
  private static final int VARIANTS = 200;

  private final UnderWay underWay = new UnderWay();

  private boolean store(long hash, long stamp) {
    return underWay.store(URI, hash, stamp, () -> true);
  }

  @Test
  void ofManyVariantsThoseAreStoredThatWereAskedForLately() {
    underWay.begin(URI);
    for (int stamp = 1; stamp <= VARIANTS; stamp++) {
      assertTrue(store(1000 + stamp, stamp));
      assertTrue(store(2000 + stamp, Math.max(1, stamp - 10)), "it came a little later");
    }
    for (int stamp = 1; stamp <= VARIANTS; stamp++) {
      assertFalse(store(1000 + stamp, stamp - 1), "what was asked for later is stored");
    }
  }
}
