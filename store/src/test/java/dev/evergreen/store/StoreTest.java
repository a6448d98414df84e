package dev.evergreen.store;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory under pressure: eviction, compaction, expiry, flushing, holding, limits. */
@Timeout(120)
class StoreTest {
  private static final long MIB = 1 << 20;

  private static String value(int length, long seed) {
    var random = new Random(seed);
    var text = new StringBuilder(length);
    while (text.length() < length) {
      text.append((char) ('a' + random.nextInt(26)));
    }
    return text.toString();
  }

  @Test
  void aHeldSmallValueStaysWhileItsItemIsReplacedAndMemoryRunsThrough() {
    try (var test = new TestStore(MIB)) {
      var held = new Item();
      test.set("held", value(200, 1));
      assertEquals(Outcome.FOUND, test.store.hold(test.key("held"), held));
      test.set("held", value(300, 2));
      for (int i = 0; i < 20_000; i++) {
        assertEquals(Outcome.STORED, test.set("other" + i, value(200, i)));
      }
      assertTrue(test.store.stats().evictions() > 0);
      assertEquals(
          value(200, 1),
          new String(
              held.valueFrom(0).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.ISO_8859_1));
      assertEquals(100, held.valueFrom(100).byteSize());
      assertEquals(0, held.valueFrom(200).byteSize());
      held.release();
      assertThrows(IllegalStateException.class, () -> held.valueFrom(0));
      test.checkAccounts();
    }
  }

  @Test
  void whatMayNotBeHeldCanBeCopiedInPartsAndOthersCanBeStored() {
    try (var test = new TestStore(MIB)) {
      int length = 100_000;
      var expected = value(length, 1);
      test.set("large", expected);
      test.set("held", value(length, 2));
      var held = new Item();
      assertEquals(Outcome.FOUND, test.store.hold(test.key("held"), held));
      var unheld = new Item();
      assertEquals(Outcome.BUSY, test.store.hold(test.key("large"), unheld));
      assertEquals(expected, copyOfUnheld(test, "large", unheld));
      assertNull(test.store.reserve(test.key("next"), length));
      try (var next = test.store.reserveAtOnce(test.key("next"), 500)) {
        assertNotNull(next);
        next.fill(MemorySegment.ofArray(expected.getBytes(StandardCharsets.ISO_8859_1)), 0, 500);
        assertEquals(Outcome.STORED, next.commit(new Change(), test.item));
      }
      assertEquals(expected.substring(0, 500), test.get("next"));
      held.release();
      test.checkAccounts();
    }
  }

  /** Seen: who may hold nothing was cut off as a value was replaced, however much was free. */
  @Test
  void whatMayNotBeHeldCanBeCopiedAfterItWasReplacedUntilItsMemoryIsUsedAgain() {
    int length = 100_000;
    for (boolean deleted : new boolean[] {false, true}) {
      try (var test = new TestStore(4 * MIB)) {
        test.set("large", value(length, 1));
        var unheld = unheld(test, "large");
        test.set("large", value(length, 2));
        if (deleted) {
          test.delete("large");
        }
        int others = 0;
        for (String copy = value(length, 1); copy != null; others++) {
          assertEquals(value(length, 1), copy);
          assertEquals(Outcome.STORED, test.set("other" + others, value(length, others)));
          copy = copyOfUnheld(test, "large", unheld);
        }
        assertTrue(others > 30, "others stored: " + others);
        test.checkAccounts();
      }
    }
  }

  @Test
  void whatWasReplacedIsNotCopiedFromMemoryThatWentBackToTheSystem() {
    try (var test = new TestStore(8 * MIB)) {
      test.set("large", value(100_000, 1));
      var unheld = unheld(test, "large");
      test.delete("large");
      for (int i = 0; i < 70; i++) {
        assertEquals(Outcome.STORED, test.set("other" + i, value(100_000, i)));
      }
      assertEquals(value(100_000, 1), copyOfUnheld(test, "large", unheld));
      assertTrue(test.store.limit(4 * MIB));
      assertNull(copyOfUnheld(test, "large", unheld));
    }
  }

  /** Seen: memory that had just come free of one was used for the next one. */
  @Test
  void whatWasReplacedLastIsUsedAgainLast() {
    int length = 100_000;
    try (var test = new TestStore(4 * MIB)) {
      var replaced = new ArrayDeque<Item>();
      for (int i = 0; i < 200; i++) {
        test.set("large", value(length, i));
        replaced.add(unheld(test, "large"));
        while (replaced.size() > 25) {
          replaced.remove();
        }
      }
      test.set("large", value(length, 200));
      int number = 200 - replaced.size();
      for (var each : replaced) {
        assertEquals(value(length, number++), copyOfUnheld(test, "large", each));
      }
    }
  }

  /** An item that shows a value that is not held. */
  private static Item unheld(TestStore test, String key) {
    var item = new Item();
    assertEquals(Outcome.FOUND, test.store.hold(test.key(key), item));
    item.release();
    return item;
  }

  /** All of the value, in parts; null if it is there no more. */
  private static @Nullable String copyOfUnheld(TestStore test, String key, Item item) {
    var copy = new byte[item.valueLength()];
    int each = 10_000;
    for (int at = 0; at < copy.length; at += each) {
      var part = MemorySegment.ofArray(copy).asSlice(at, each);
      if (!test.store.copyPart(test.key(key), item, at, part, each)) {
        return null;
      }
    }
    return new String(copy, StandardCharsets.ISO_8859_1);
  }

  @Test
  void holdersOfSmallValuesThatLieTogetherHoldTheirSegmentOnce() {
    try (var test = new TestStore(MIB)) {
      int count = fill(test, 200);
      var holders = new ArrayList<Item>();
      for (int i = 0; i < count; i++) {
        var item = new Item();
        if (test.store.hold(test.key("small" + i), item) == Outcome.FOUND) {
          holders.add(item);
        } else {
          assertEquals(value(200, i), test.get("small" + i), "refused, but can be copied");
        }
      }
      assertTrue(holders.size() > 300 && holders.size() < count / 5, "held " + holders.size());
      assertTrue(test.store.stats().heldBytes() <= MIB / 10);
      assertEquals(
          Outcome.FOUND, test.store.hold(test.key("small0"), new Item()), "of a segment held");
      holders.forEach(Item::release);
      assertTrue(test.store.stats().heldBytes() > 0, "by the one that was not released");
    }
  }

  /** Stores small items until just before the first eviction, and returns how many. */
  private static int fill(TestStore test, int length) {
    int count = 0;
    while (test.store.stats().memory() < test.store.stats().limit() * 9 / 10) {
      assertEquals(Outcome.STORED, test.set("small" + count, value(length, count)));
      count++;
    }
    assertEquals(0, test.store.stats().evictions());
    return count;
  }

  @Test
  void afterEveryOtherSmallItemIsDeletedLargeOnesFitWithoutEviction() {
    try (var test = new TestStore(16 * MIB)) {
      int count = fill(test, 100);
      for (int i = 0; i < count; i += 2) {
        assertEquals(Outcome.STORED, test.delete("small" + i));
      }
      int large = (int) (test.store.stats().limit() * 4 / 10 / 500_000);
      for (int i = 0; i < large; i++) {
        assertEquals(Outcome.STORED, test.set("large" + i, value(500_000, i)));
      }
      assertEquals(0, test.store.stats().evictions());
      for (int i = 1; i < count; i += 2) {
        assertEquals(value(100, i), test.get("small" + i));
      }
      for (int i = 0; i < large; i++) {
        assertEquals(value(500_000, i), test.get("large" + i));
      }
      test.checkAccounts();
    }
  }

  @Test
  void memoryStaysWithinTheLimitUnderAMixtureOfSizes() {
    try (var test = new TestStore(8 * MIB)) {
      var random = new Random(1);
      for (int i = 0; i < 20_000; i++) {
        int number = random.nextInt(5000);
        int length = random.nextInt(50) == 0 ? random.nextInt(300_000) : random.nextInt(2000);
        assertEquals(Outcome.STORED, test.set("key" + number, value(length, number)));
        int other = random.nextInt(5000);
        String found = test.get("key" + other);
        assertTrue(found == null || found.equals(value(found.length(), other)));
        assertTrue(test.store.stats().memory() <= 8 * MIB);
      }
      assertTrue(test.store.stats().evictions() > 0);
      // How well large ones pack depends on the hashes, which are others each time.
      assertTrue(test.store.stats().bytes() > 6.5 * MIB, () -> "used " + test.store.stats());
      test.checkAccounts();
    }
  }

  @Test
  void itemsThatAreReadSurviveManyThatAreNot() {
    try (var test = new TestStore(4 * MIB)) {
      for (int i = 0; i < 1000; i++) {
        test.set("loved" + i, value(200, i));
      }
      for (int i = 0; i < 100_000; i++) {
        test.set("scan" + i, value(200, i));
        assertEquals(value(200, i % 1000), test.get("loved" + i % 1000));
      }
      var stats = test.store.stats();
      assertTrue(stats.evictions() > 50_000);
      assertEquals(stats.evictions(), stats.evictedUnfetched());
      test.checkAccounts();
    }
  }

  @Test
  void aFullStoreThatMayNotEvictRefusesUntilSomethingIsDeleted() {
    try (var test = new TestStore(new StoreOptions(4 * MIB, (int) MIB, false))) {
      int count = 0;
      while (test.set("key" + count, value(300, count)) == Outcome.STORED) {
        count++;
      }
      assertEquals(Outcome.OUT_OF_MEMORY, test.set("more", value(300, 0)));
      assertTrue(test.store.stats().bytes() > 3.6 * MIB, () -> "" + test.store.stats());
      for (int i = 0; i < count; i++) {
        assertEquals(value(300, i), test.get("key" + i));
      }
      assertEquals(0, test.store.stats().evictions());
      for (int i = 0; i < count; i += 10) {
        test.delete("key" + i);
      }
      for (int i = 0; i < count / 20; i++) {
        assertEquals(Outcome.STORED, test.set("new" + i, value(300, i)));
      }
      assertEquals(0, test.store.stats().evictions());
      test.checkAccounts();
    }
  }

  @Test
  void expiredItemsAreMissesAndMakeRoomBeforeAnythingIsEvicted() {
    try (var test = new TestStore(4 * MIB)) {
      for (int i = 0; i < 5000; i++) {
        var change = new Change().expiry(test.clock.get() + 10);
        test.store("brief" + i, value(200, i), change);
        test.set("lasting" + i, value(200, i));
      }
      assertEquals(value(200, 3), test.get("brief3"));
      test.clock.addAndGet(9);
      assertEquals(value(200, 4), test.get("brief4"));
      test.clock.addAndGet(1);
      assertNull(test.get("brief3"));
      for (int i = 0; i < 9000; i++) {
        test.set("next" + i, value(200, i));
      }
      var stats = test.store.stats();
      assertEquals(0, stats.evictions());
      assertEquals(1, stats.missesExpired());
      assertTrue(stats.reclaimed() > 1000, () -> stats.toString());
      assertTrue(stats.reclaimed() - stats.expiredUnfetched() <= 2, () -> stats.toString());
      for (int i = 0; i < 5000; i++) {
        assertEquals(value(200, i), test.get("lasting" + i));
      }
    }
  }

  @Test
  void maintenanceTakesBackExpiredMemoryThatNobodyAsksFor() {
    try (var test = new TestStore(8 * MIB)) {
      for (int i = 0; i < 10_000; i++) {
        int lifetime = 5 + i % 20;
        test.store("brief" + i, value(100, i), new Change().expiry(test.clock.get() + lifetime));
      }
      test.set("lasting", "x");
      long before = test.store.stats().memory();
      for (int second = 0; second < 60; second++) {
        test.clock.incrementAndGet();
        test.store.maintain();
      }
      var stats = test.store.stats();
      // What lies in the segment that is still written to is left.
      assertTrue(stats.items() < 200, () -> stats.toString());
      assertTrue(stats.memory() < before / 4, () -> stats.toString());
      assertEquals("x", test.get("lasting"));
    }
  }

  /** However an item came by its time. */
  @ParameterizedTest
  @ValueSource(strings = {"touched", "overwritten", "counted"})
  void maintenanceTakesBackWhatGotItsTimeLater(String how) {
    try (var test = new TestStore(8 * MIB)) {
      int count = 10_000;
      for (int i = 0; i < count; i++) {
        test.set("key" + i, "%0100d".formatted(i));
      }
      int soon = test.clock.get() + 5;
      for (int i = 0; i < count; i++) {
        var key = "key" + i;
        switch (how) {
          case "touched" -> test.fetch(key, new Fetch().touch(soon));
          case "overwritten" ->
              test.store(key, "%0100d".formatted(i + 1), new Change().expiry(soon));
          default -> test.add(key, new Change().increment(1).expiry(soon));
        }
      }
      for (int second = 0; second < 30; second++) {
        test.clock.incrementAndGet();
        test.store.maintain();
      }
      // What lies in the segment that is still written to is left.
      assertTrue(test.store.stats().items() < 200, () -> test.store.stats().toString());
    }
  }

  /** Seen: its first fragment was evicted, as its head had used up the read. */
  @Test
  void aValueInFragmentsThatWasReadStaysAsLongAsOthersWould() {
    try (var test = new TestStore(2L << 20)) {
      test.set("large", "x".repeat(20_000));
      test.get("large");
      long segments = 0;
      for (int i = 0; segments < test.store.stats().limit() / 20_000; i++) {
        test.set("k" + i, "v".repeat(1_000));
        segments = test.store.stats().evictions() / 20;
      }
      assertEquals(1, test.store.queues().provenItems());
      assertNotNull(test.get("large"));
      test.checkAccounts();
    }
  }

  /** What was evicted too early is told by its return. */
  @Test
  void aKeyThatComesBackAfterItsEvictionStaysLongerThanANewOne() {
    try (var test = new TestStore(4 * MIB)) {
      test.set("back", value(200, 1));
      int count = 0;
      while (test.store.peek(test.key("back"), test.item) == Outcome.FOUND) {
        test.set("scan" + count++, value(200, 1));
      }
      test.set("back", value(200, 1));
      test.set("fresh", value(200, 1));
      while (test.store.peek(test.key("fresh"), test.item) == Outcome.FOUND) {
        test.set("scan" + count++, value(200, 1));
      }
      assertEquals(Outcome.FOUND, test.store.peek(test.key("back"), test.item));
    }
  }

  @Test
  void whatWasNeverReadIsNotEvictedAsActive() {
    try (var test = new TestStore(MIB)) {
      for (int i = 0; i < 20_000; i++) {
        test.set("key" + i, value(100, 1));
      }
      assertTrue(test.store.stats().evictions() > 0);
      assertEquals(0, test.store.upkeep().evictedActive());
    }
  }

  @Test
  void flushingEndsWhatIsThereAtItsTimeAndNothingLater() {
    try (var test = new TestStore(2 * MIB)) {
      test.set("a", "1");
      test.store.flush(0);
      assertNull(test.get("a"));
      test.set("a", "2");
      assertEquals("2", test.get("a"));
      test.store.flush(test.clock.get() + 5);
      test.clock.addAndGet(4);
      test.set("b", "3");
      assertEquals("2", test.get("a"));
      test.clock.addAndGet(1);
      assertNull(test.get("a"));
      assertEquals(Outcome.STORED, test.store("b", "4", new Change().mode(Mode.ADD)));
      assertEquals("4", test.get("b"));
      assertEquals(1, test.store.stats().items());
      assertEquals(2, test.store.stats().missesFlushed());
    }
  }

  @Test
  void manyFlushesBringNothingBack() {
    try (var test = new TestStore(2 * MIB)) {
      test.set("a", "1");
      for (int i = 0; i < 1 << 16; i++) {
        test.store.flush(0);
      }
      assertNull(test.get("a"));
      test.checkAccounts();
    }
  }

  /** Seen: writers that needed room, and the clock, waited until all items had been looked at. */
  @Test
  void maintenanceGoesOnAmidTheLookAtAllItems() {
    var flusher = Thread.currentThread();
    Runnable[] amid = {() -> {}};
    IntSupplier clock =
        () -> {
          if (Thread.currentThread() == flusher) {
            amid[0].run();
          }
          return 1_000;
        };
    try (var store = Store.open(StoreOptions.of(MIB), clock)) {
      for (int i = 1; i < 1 << 14; i++) {
        store.flush(0);
      }
      var rounds = store.upkeep().rounds();
      amid[0] =
          () -> {
            var maintenance = CompletableFuture.runAsync(store::maintain);
            assertDoesNotThrow(() -> maintenance.get(20, TimeUnit.SECONDS));
          };
      store.flush(0);
      store.flush(0);
      assertTrue(store.upkeep().rounds() > rounds);
    }
  }

  /** Else items of long ago would live again. */
  @Test
  void noEpochBeginsBeforeNothingIsLeftOfThoseOfLongAgo() {
    var life = new Life(() -> 1_000, true);
    while (life.flush(0)) {
      assertTrue(life.epochs() < 1 << 16);
    }
    int epochs = life.epochs();
    assertFalse(life.flush(0));
    assertFalse(life.flush(2_000));
    assertEquals(epochs, life.epochs());
    life.purged(epochs);
    assertTrue(life.flush(0));
    assertEquals(epochs + 1, life.epochs());
  }

  /** Most is counted while a bucket is locked, and stays so if an error comes of it. */
  @Test
  void countingFindsNoMemoryMissing() throws Exception {
    var counters = new Counters();
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long expected = 0;
    for (int round = 0; round < 3; round++) {
      // Each of them warm in the second round, and all at the same numbers.
      var allocated = new AtomicLong();
      var all = new ArrayList<Thread>();
      for (int i = 0; i < 4; i++) {
        all.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      long me = Thread.currentThread().threadId();
                      long before = threads.getThreadAllocatedBytes(me);
                      for (int k = 0; k < 1_000_000; k++) {
                        counters.totalItems.increment();
                        counters.bytes.add(1);
                      }
                      allocated.addAndGet(threads.getThreadAllocatedBytes(me) - before);
                    }));
      }
      for (var thread : all) {
        thread.join();
      }
      expected += 4_000_000;
      assertEquals(expected, counters.totalItems.sum());
      assertEquals(expected, counters.bytes.sum());
      assertEquals(0, allocated.get(), "bytes allocated in round " + round);
    }
    counters.reset();
    assertEquals(0, counters.totalItems.sum());
    assertEquals(expected, counters.bytes.sum(), "what is held");
  }

  /** Values of which only the first part has come; the larger ones lie in several records. */
  @ParameterizedTest
  @ValueSource(ints = {300, 3_000})
  void reservationsThatLieTogetherHoldTheirSegmentsOnce(int length) {
    try (var test = new TestStore(MIB)) {
      var held = new ArrayList<Reservation>();
      for (int i = 0; i < 15; i++) {
        var next = test.store.reserve(test.key("k" + i), length);
        assertNotNull(next, i + " before");
        held.add(next);
      }
      long segments = Math.ceilDiv(15L * (length + 100), Segments.sizeFor(MIB)) + 1;
      assertTrue(
          test.store.stats().heldBytes() <= segments * Segments.sizeFor(MIB),
          () -> "held " + test.store.stats().heldBytes());
      var value = MemorySegment.ofArray(new byte[length]);
      for (var next : held) {
        next.fill(value, 0, length);
        assertEquals(Outcome.STORED, next.commit(new Change(), test.item));
      }
      var items = new ArrayList<Item>();
      for (int i = 0; i < 15; i++) {
        items.add(new Item());
        assertEquals(Outcome.FOUND, test.store.hold(test.key("k" + i), items.getLast()));
      }
      assertTrue(test.store.stats().heldBytes() <= segments * Segments.sizeFor(MIB));
      items.forEach(Item::release);
      test.checkAccounts();
    }
  }

  @Test
  void anAbandonedReservationIsGivenBack() {
    try (var test = new TestStore(4 * MIB)) {
      test.set("key", "old");
      long before = test.store.liveBytes();
      for (int i = 0; i < 1000; i++) {
        var reservation = test.store.reserve(test.key("key"), 200_000);
        assertNotNull(reservation);
        assertTrue(test.store.liveBytes() >= before + 200_000);
        assertTrue(test.store.stats().heldBytes() >= 200_000);
        reservation.fill(MemorySegment.ofArray(new byte[1000]), 0, 1000);
        reservation.close();
        assertEquals(before, test.store.liveBytes());
      }
      assertEquals("old", test.get("key"));
      assertEquals(0, test.store.stats().evictions());
      test.checkAccounts();
    }
  }

  @Test
  void reservationsAndReadersHoldNoMoreThanATenth() {
    try (var test = new TestStore(16 * MIB)) {
      test.set("read", value(200_000, 1));
      var held = new ArrayList<Reservation>();
      for (var next = test.store.reserve(test.key("a"), 200_000);
          next != null;
          next = test.store.reserve(test.key("a"), 200_000)) {
        held.add(next);
        assertTrue(test.store.stats().heldBytes() <= 1.6 * MIB);
      }
      assertTrue(held.size() >= 4, "only " + held.size());
      assertEquals(Outcome.BUSY, test.store.get(test.key("read"), test.item));
      held.removeFirst().close();
      held.removeFirst().close();
      assertEquals(value(200_000, 1), test.get("read"));
      for (int i = 0; i < 100_000; i++) {
        assertEquals(Outcome.STORED, test.set("other" + i, value(300, i)));
      }
      held.forEach(Reservation::close);
      test.checkAccounts();
    }
  }

  @Test
  void aHeldValueOutlivesDeletionCompactionAndEviction() {
    try (var test = new TestStore(4 * MIB)) {
      String large = value(100_000, 7);
      test.set("large", large);
      var reader = new Item();
      assertEquals(Outcome.FOUND, test.store.get(test.key("large"), reader));
      assertTrue(reader.isHeld());
      test.delete("large");
      for (int i = 0; i < 50_000; i++) {
        test.set("other" + i, value(300, i));
      }
      assertTrue(test.store.stats().evictions() > 0);
      var copy = Arena.ofAuto().allocate(100_000);
      for (int at = 0; at < 100_000; at += 777) {
        reader.copyPart(at, copy, at, Math.min(777, 100_000 - at));
      }
      assertEquals(
          -1,
          copy.mismatch(
              MemorySegment.ofArray(large.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1))));
      reader.release();
      reader.release();
      test.checkAccounts();
    }
  }

  @Test
  void theLimitCanBeLoweredAndRaised() {
    try (var test = new TestStore(16 * MIB)) {
      fill(test, 200);
      assertTrue(test.store.limit(4 * MIB));
      assertTrue(test.store.stats().memory() <= 4 * MIB);
      assertTrue(test.store.stats().bytes() > 3 * MIB);
      test.checkAccounts();
      assertTrue(test.store.limit(32 * MIB));
      long evictions = test.store.stats().evictions();
      for (int i = 0; i < 70_000; i++) {
        test.set("more" + i, value(200, i));
      }
      assertTrue(test.store.stats().memory() > 20 * MIB);
      assertEquals(evictions, test.store.stats().evictions());
      test.checkAccounts();
      assertFalse(test.store.limit(1000));
    }
  }

  /** Seen: more than half of what may be held could be had by one only. */
  @Test
  void manyMayHoldOneLargeValueAsItTakesNoMore() {
    try (var test = new TestStore(new StoreOptions(8 * MIB, (int) MIB, true))) {
      test.set("large", value(600_000, 1));
      test.set("other", value(600_000, 2));
      var items = new ArrayList<Item>();
      for (int i = 0; i < 3; i++) {
        items.add(new Item());
        assertEquals(Outcome.FOUND, test.store.get(test.key("large"), items.getLast()));
      }
      assertEquals(Outcome.BUSY, test.store.get(test.key("other"), test.item));
      items.removeLast().release();
      items.removeFirst().release();
      assertEquals(Outcome.BUSY, test.store.get(test.key("other"), test.item));
      items.removeLast().release();
      assertEquals(0, test.store.stats().heldBytes());
      assertEquals(Outcome.FOUND, test.store.get(test.key("other"), test.item));
      test.item.release();
      test.checkAccounts();
    }
  }

  @Test
  void aListenerHearsOfEveryEviction() {
    try (var test = new TestStore(2 * MIB)) {
      var keys = new HashSet<String>();
      long[] size = new long[1];
      test.store.listener(
          (key, item) -> {
            keys.add(
                new String(
                    key.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE),
                    java.nio.charset.StandardCharsets.ISO_8859_1));
            size[0] += item.size();
          });
      long stored = 0;
      for (int i = 0; i < 20_000; i++) {
        test.set("key" + i, value(100, i));
        stored += test.item.size();
      }
      assertEquals(test.store.stats().evictions(), keys.size());
      assertEquals(stored - test.store.stats().bytes(), size[0]);
      for (String key : keys) {
        assertNull(test.get(key));
      }
    }
  }

  @Test
  void thirtyByteKeysWithTwoHundredByteValuesTakeLessThanInMemcached() {
    try (var test = new TestStore(64 * MIB)) {
      int count = 200_000;
      for (int i = 0; i < count; i++) {
        test.set("%030d".formatted(i), value(200, 1));
      }
      var stats = test.store.stats();
      assertEquals(0, stats.evictions());
      assertEquals(264, stats.bytes() / count);
      assertTrue(stats.indexBytes() / count < 20, () -> stats.indexBytes() / count + " of index");
      // Memcached: 304 bytes of its size class, and at least 5 of its hash table.
      assertTrue((stats.memory() + stats.indexBytes()) / count < 304);
    }
  }

  @Test
  void anItemOfTheLargestSizeIsStoredAndOneByteMoreIsNot() {
    try (var test = new TestStore(8 * MIB)) {
      int most = (1 << 20) - 59 - 3;
      assertEquals(Outcome.STORED, test.set("key", value(most, 1)));
      assertEquals(value(most, 1), test.get("key"));
      assertEquals(Outcome.TOO_LARGE, test.set("key", value(most + 1, 1)));
      assertEquals(Outcome.TOO_LARGE, test.store("key", "x", new Change().mode(Mode.APPEND)));
      assertEquals(Outcome.TOO_LARGE, test.store("key", value(most, 1), new Change().flags(1)));
      assertThrows(
          IllegalArgumentException.class, () -> test.store.reserve(test.key("key"), most + 1));
      assertThrows(IllegalArgumentException.class, () -> new StoreOptions(8 * MIB, 5 << 20, true));
      assertThrows(IllegalArgumentException.class, () -> new StoreOptions(1000, 10, true));
    }
  }

  @Test
  void aValueOfAlmostHalfTheMemoryIsStoredReplacedAndAppendedTo() {
    try (var test = new TestStore(new StoreOptions(4 * MIB, 2 << 20, true))) {
      for (int i = 0; i < 20_000; i++) {
        test.set("small" + i, value(100, i));
      }
      for (int i = 0; i < 5; i++) {
        String large = value(1_200_000 + i * 37_777, i);
        assertEquals(Outcome.STORED, test.set("large", large));
        assertEquals(large, test.get("large"));
        assertEquals(Outcome.STORED, test.store("large", "end", new Change().mode(Mode.APPEND)));
        assertEquals(large + "end", test.get("large"));
        test.checkAccounts();
      }
    }
  }

  @Test
  void lookupsAndOverwritesAllocateNothingOnTheHeap() {
    try (var test = new TestStore(8 * MIB)) {
      var key =
          new Key()
              .set(
                  MemorySegment.ofArray(
                      "some key".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1)),
                  0,
                  8);
      var value = Arena.ofAuto().allocate(200);
      var change = new Change();
      var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      long thread = Thread.currentThread().threadId();
      long allocated = 0;
      for (int round = 0; round < 2; round++) {
        long before = threads.getThreadAllocatedBytes(thread);
        for (int i = 0; i < 200_000; i++) {
          var stored = test.store.store(key, value, 0, 100 + i % 100, change, test.item);
          var found = test.store.get(key, test.item);
          if (stored != Outcome.STORED
              || found != Outcome.FOUND
              || !test.item.copyValue(value, 0)) {
            throw new AssertionError(stored + ", " + found);
          }
        }
        allocated = threads.getThreadAllocatedBytes(thread) - before;
      }
      assertTrue(allocated < 200_000, allocated + " bytes in 400,000 requests");
    }
  }

  @Test
  void theStaleItemIsWonByOneReader() {
    try (var test = new TestStore(2 * MIB)) {
      test.set("key", "old");
      long cas = test.item.cas();
      assertEquals(
          Outcome.STORED,
          test.store.delete(test.key("key"), new Change().invalidate().expiry(1030), test.item));
      assertTrue(test.item.cas() > cas);
      var seen = new ArrayList<List<Boolean>>();
      for (int i = 0; i < 2; i++) {
        assertEquals("old", test.fetch("key", new Fetch()));
        seen.add(List.of(test.item.isWon(), test.item.isStale(), test.item.isWonBefore()));
      }
      assertEquals(List.of(List.of(true, true, false), List.of(false, true, true)), seen);
      assertEquals(1030, test.item.expiry());
      assertEquals(Outcome.STORED, test.store("key", "late", new Change().ifCas(cas).invalidate()));
      assertEquals("late", test.get("key"));
      assertTrue(test.item.isStale());
      assertEquals(1030, test.item.expiry());
    }
  }

  /** For those who watch it: which items are there, for how long, and what was evicted. */
  @Test
  void whatIsNewAndWhatIsProvenIsKnownWithItsAge() {
    try (var test = new TestStore(2 * MIB)) {
      var value = "x".repeat(500);
      for (int i = 0; i < 100; i++) {
        test.store("old" + i, value, new Change().expiry(i % 2 == 0 ? 0 : 9000));
      }
      test.get("old0");
      test.clock.addAndGet(7);
      assertEquals(new StoreQueues(0, usedSegments(test), 7, 0, 1, 0), test.store.queues());
      for (int i = 0; test.store.stats().evictions() == 0; i++) {
        test.set("k" + i, value);
      }
      var upkeep = test.store.upkeep();
      assertEquals(7, upkeep.evictedIdle());
      assertTrue(upkeep.evictedExpiring() > 0);
      assertTrue(upkeep.evictedExpiring() < test.store.stats().evictions());
      // It was read, so it is kept, and proven from now on.
      assertEquals(1, test.store.queues().provenItems());
      assertEquals(0, test.store.queues().provenSeconds());
      test.clock.addAndGet(5);
      test.get("old0");
      assertEquals(5, test.store.queues().provenSeconds());
      assertEquals(1, test.store.queues().provenHits());
      test.checkAccounts();
      assertEquals(Outcome.STORED, test.delete("old0"));
      assertEquals(0, test.store.queues().provenItems());
      assertEquals(0, test.store.queues().provenSeconds());
      test.store.resetCounts();
      assertEquals(0, test.store.upkeep().evictedIdle());
    }
  }

  private static int usedSegments(TestStore test) {
    return (int) (test.store.stats().memory() / Segments.sizeFor(2 * MIB));
  }
}
