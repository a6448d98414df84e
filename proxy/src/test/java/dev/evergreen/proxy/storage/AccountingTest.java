package dev.evergreen.proxy.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What an object costs beside its own bytes. */
class AccountingTest {

  @Test
  void anObjectOnDiskTakesSixteenBytesOfDirectory() {
    int objects = 1_000_000;
    var random = new Random(1);
    try (var directory = new Directory(objects)) {
      for (int i = 0; i < objects; i++) {
        assertTrue(directory.put(random.nextLong(), place(i)));
      }
      assertTrue(directory.objects() > objects * 0.99999, "few displace one another");
      double each = (double) directory.bytes() / directory.objects();
      assertTrue(each < 16.01, each + " bytes an object");
      random.setSeed(1);
      int found = 0;
      for (int i = 0; i < objects; i++) {
        found += Place.isSame(directory.get(random.nextLong()), place(i)) ? 1 : 0;
      }
      assertTrue(found > objects * 0.99999, "found " + found);
    }
  }

  private static long place(int number) {
    return Place.of(number >>> 16, 64 + 16 * (number & 0xffff), 1000);
  }

  @Test
  void anObjectInMemoryTakesAtMost96BytesBesideItsOwn() throws Exception {
    try (var storage = Storage.open(StorageOptions.memory(128 << 20))) {
      int objects = 60_000;
      long own = 0;
      for (int i = 0; i < objects; i++) {
        var entry = TestStorage.entry("/a/path/" + i, i, 300 + i % 900, storage.stamp());
        own += entry.key().byteSize() + entry.head().length + entry.length();
        TestStorage.put(storage, entry);
      }
      var stats = storage.stats();
      assertEquals(objects, stats.memoryObjects());
      double each = (double) (stats.memoryBytes() + stats.memoryIndexBytes() - own) / objects;
      assertTrue(each <= 96, each + " bytes an object");
    }
  }

  @Test
  void aDirectoryFindsWhatAMapFinds() {
    var random = new Random(2);
    var map = new HashMap<Long, Long>();
    try (var directory = new Directory(1000)) {
      for (int i = 0; i < 200_000; i++) {
        // Few tables and few homes, so that their rows are long and wrap around.
        long hash = (long) random.nextInt(300) << 54 | random.nextInt(4);
        long place = place(1 + random.nextInt(1 << 20));
        switch (random.nextInt(4)) {
          case 0 -> assertEquals(map.remove(hash) != null, directory.remove(hash));
          case 1 -> {
            var there = map.get(hash);
            boolean same = there != null && Place.isSame(there, place);
            assertEquals(same, directory.remove(hash, place));
            if (same) {
              map.remove(hash);
            }
          }
          default -> {
            if (directory.put(hash, place)) {
              map.put(hash, place);
            }
          }
        }
        if (i % 1000 == 0) {
          check(map, directory);
        }
        if (i % 50_000 == 49_999) {
          int segment = Place.segment(map.values().iterator().next());
          int before = map.size();
          map.values().removeIf(there -> Place.segment(there) == segment);
          assertNotEquals(before, map.size());
          assertEquals(before - map.size(), directory.removeAll(segment));
        }
      }
      check(map, directory);
    }
  }

  private static void check(Map<Long, Long> map, Directory directory) {
    assertEquals(map.size(), directory.objects());
    map.forEach((hash, place) -> assertEquals(place, directory.get(hash)));
  }
}
