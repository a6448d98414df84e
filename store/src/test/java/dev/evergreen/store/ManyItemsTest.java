package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/**
 * As many items of 100 bytes as {@code -Devergreen.store.items} says; ten million take about 20
 * seconds on a quiet machine.
 */
class ManyItemsTest {
  private final int count = Integer.getInteger("evergreen.store.items", 500_000);
  private final Key key = new Key();
  private final Item item = new Item();

  @Test
  void allItemsThatWereLoadedAreServed() {
    // 16 bytes of key and 100 of value make a record of 152 bytes; the ends of segments are lost.
    var options = StoreOptions.of((long) (count * 152L * 1.02) + (1 << 20));
    try (var store = Store.open(options, () -> 1);
        var arena = Arena.ofConfined()) {
      var keyBytes = arena.allocate(16);
      var value = arena.allocate(100);
      var change = new Change();
      for (long i = 0; i < count; i++) {
        keyBytes.set(JAVA_LONG_UNALIGNED, 0, i);
        value.set(JAVA_LONG_UNALIGNED, 90, ~i);
        var outcome = store.store(key.set(keyBytes, 0, 16), value, 0, 100, change, item);
        if (outcome != Outcome.STORED) {
          throw new AssertionError("item " + i + ": " + outcome);
        }
      }
      for (long i = 0; i < count; i++) {
        keyBytes.set(JAVA_LONG_UNALIGNED, 0, i);
        if (store.get(key.set(keyBytes, 0, 16), item) != Outcome.FOUND
            || !item.copyValue(value, 0)
            || value.get(JAVA_LONG_UNALIGNED, 90) != ~i) {
          throw new AssertionError("item " + i + " was not served");
        }
      }
      var stats = store.stats();
      assertEquals(count, stats.items());
      assertEquals(152L * count, stats.bytes());
      assertEquals(0, stats.evictions());
      assertTrue(stats.memory() <= stats.limit());
      assertTrue(stats.indexBytes() < 20L * count + (1 << 17), () -> stats.toString());
    }
  }
}
