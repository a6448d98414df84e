package dev.evergreen.store;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens at the edges: of sizes and limits, amid a request, and when a caller fails. */
@Timeout(60)
class EdgesTest {
  private static final int MIB = 1 << 20;

  private static String held(Item item) {
    return new String(item.valueFrom(0).toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
  }

  // A held value

  @Test
  void aHeldSmallValueStaysWhileItsItemIsReplacedByOneOfItsSize() {
    try (var test = new TestStore(MIB)) {
      test.set("k", "first");
      var item = new Item();
      assertEquals(Outcome.FOUND, test.store.hold(test.key("k"), item));
      assertEquals(Outcome.STORED, test.set("k", "other"));
      assertEquals("first", held(item));
      assertEquals("other", test.get("k"));
      item.release();
      test.checkAccounts();
    }
  }

  @Test
  void aHeldNumberStaysWhileItIsIncremented() {
    try (var test = new TestStore(MIB)) {
      test.set("k", "41");
      var item = new Item();
      assertEquals(Outcome.FOUND, test.store.hold(test.key("k"), item));
      assertEquals(Outcome.STORED, test.add("k", new Change().increment(1)));
      assertEquals("41", held(item));
      assertEquals("42", test.get("k"));
      item.release();
      test.checkAccounts();
    }
  }

  // Callers that fail

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aSourceThatIsTooShortDoesNoHarm(boolean thereIsOne) {
    try (var test = new TestStore(MIB)) {
      if (thereIsOne) {
        test.set("k", "value");
      }
      var source = MemorySegment.ofArray(new byte[4]);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> test.store.store(test.key("k"), source, 0, 5, new Change(), test.item));
      assertEquals(thereIsOne ? "value" : null, test.get("k"));
      test.checkAccounts();
    }
  }

  @Test
  void aSourceThatWasFreedDoesNoHarm() {
    try (var test = new TestStore(MIB)) {
      test.set("k", "value");
      var arena = Arena.ofConfined();
      var source = arena.allocate(5);
      arena.close();
      assertThrows(
          IllegalStateException.class,
          () -> test.store.store(test.key("k"), source, 0, 5, new Change(), test.item));
      assertEquals("value", test.get("k"));
      test.checkAccounts();
    }
  }

  /** Seen: the bucket of the item was locked meanwhile. */
  @Test
  void aListenerHoldsUpNobodyWhoReads() throws Exception {
    try (var test = new TestStore(MIB);
        var others = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory())) {
      var found = new CompletableFuture<Outcome>();
      test.store.listener(
          (key, _) -> {
            if (!found.isDone()) {
              var read = new Key().set(key, 0, (int) key.byteSize());
              var other = others.submit(() -> test.store.get(read, new Item()));
              try {
                found.complete(other.get(20, TimeUnit.SECONDS));
              } catch (Exception e) {
                found.completeExceptionally(e);
              }
            }
          });
      for (int i = 0; i < 20_000; i++) {
        test.set("k" + i, "y".repeat(100));
      }
      assertEquals(Outcome.NOT_FOUND, found.get());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aListenerThatThrowsDoesNoHarm(boolean error) {
    try (var test = new TestStore(MIB)) {
      int[] calls = {0};
      test.store.listener(
          (_, _) -> {
            calls[0]++;
            if (error) {
              throw new StackOverflowError("of the listener");
            }
            throw new IllegalStateException("of the listener");
          });
      for (int i = 0; i < 20_000; i++) {
        assertEquals(Outcome.STORED, test.set("k" + i, "y".repeat(100)));
      }
      assertEquals(1, calls[0]);
      assertTrue(test.store.stats().evictions() > 0);
      test.checkAccounts();
    }
  }

  // Sizes

  /** Seen: the head of an item of more than a thousand fragments was larger than a segment. */
  @ParameterizedTest
  @CsvSource({"1, 1", "2, 1", "4, 3", "7, 3", "8, 7", "15, 7"})
  void everyValueUpToTheItemLimitCanBeStored(int mebibytes, int more) {
    long limit = (long) mebibytes * MIB + more;
    try (var test = new TestStore(new StoreOptions(limit, (int) (limit / 2), true))) {
      var key = "k".repeat(Key.MAX_LENGTH);
      int most = test.store.maxValueLength(Key.MAX_LENGTH);
      test.set("small", "stays");
      for (int length = most; length > 0; length -= most / 97) {
        assertEquals(Outcome.STORED, test.set(key, "v".repeat(length)), length + " bytes");
        test.delete(key);
      }
      assertEquals("stays", test.get("small"));
      test.checkAccounts();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1 << 20, 8 << 20, 64 << 20, 1L << 30, 1L << 34})
  void noRecordIsLargerThanASegment(long limit) {
    int size = Segments.sizeFor(limit);
    var records = new Records(MemorySegment.NULL, size);
    int most = (int) Math.min(limit / 2, StoreOptions.MOST_ITEM_LIMIT);
    int fragment = records.fragmentBytes(most);
    for (int length = most; length > 0; length -= 1 + most / 10_007) {
      for (int key : new int[] {1, Key.MAX_LENGTH}) {
        assertTrue(
            records.headSize(key, length) <= size - Segments.FIRST,
            "the head of " + length + " bytes takes " + records.headSize(key, length));
      }
    }
    assertTrue(fragment + Records.FRAGMENT_HEADER <= size - Segments.FIRST);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7, 8, 9, 4095, 4096, 4097})
  void valuesAtTheBordersOfWordsAndPagesAreWhole(int length) {
    try (var test = new TestStore(MIB)) {
      for (int key : new int[] {1, 8, Key.MAX_LENGTH}) {
        var name = "k".repeat(key);
        var value = "v".repeat(length);
        assertEquals(Outcome.STORED, test.set(name, value));
        assertEquals(value, test.get(name));
        var change = new Change().mode(Mode.APPEND);
        assertEquals(Outcome.STORED, test.store(name, "", change));
        assertEquals(Outcome.STORED, test.store(name, "end", change));
        assertEquals(value + "end", test.get(name));
      }
      test.checkAccounts();
    }
  }

  @Test
  void theLimitIsNotLoweredSoFarThatTheLargestItemHasNoRoom() {
    try (var test = new TestStore(new StoreOptions(8 * MIB, MIB, true))) {
      test.set("small", "stays");
      assertFalse(test.store.limit(2 * MIB - 1));
      assertTrue(test.store.limit(2 * MIB));
      assertEquals(Outcome.STORED, test.set("large", "v".repeat(MIB - 100)));
      assertEquals("stays", test.get("small"));
    }
  }

  /** Seen: segments are as large as suits the first limit, and some of them are kept for others. */
  @Test
  void ofLargeSegmentsThereAreEnoughForTheLargestItem() {
    try (var test = new TestStore(new StoreOptions(64 * MIB, MIB, true))) {
      for (int i = 0; i < 200_000; i++) {
        test.set("k" + i, "v".repeat(1_000));
        test.get("k" + i * 7 / 8);
      }
      int limit = MIB;
      while (!test.store.limit(limit)) {
        limit += 1 << 17;
      }
      for (int i = 0; i < 1_000; i++) {
        test.set("k" + i, "v".repeat(1_000));
        test.get("k" + i / 2);
      }
      for (int i = 0; i < 5; i++) {
        assertEquals(Outcome.STORED, test.set("large" + i, "v".repeat(MIB - 100)));
      }
      test.checkAccounts();
    }
  }

  /** Seen: it threw, and left the bucket locked for good. */
  @Test
  void anIndexWithoutRoomSaysSo() {
    try (var arena = Arena.ofConfined()) {
      var records = new Records(arena.allocate(1 << 12), 1 << 14);
      var index = new Index(1, records, Hash.random(), arena);
      long bucket = index.lock(0);
      int room = 7 * (1 + 1024);
      for (int i = 1; i <= room; i++) {
        assertTrue(index.insert(bucket, 0, i));
      }
      assertFalse(index.insert(bucket, 0, room + 1));
      assertEquals(room, index.items());
      index.remove(index.findPlace(bucket, 0, 100));
      assertTrue(index.insert(bucket, 0, room + 1));
      index.unlockChanged(bucket);
    }
  }

  /** Nothing may be evicted, and what lives leaves no segment free. */
  @Test
  void aLimitThatCannotBeKeptIsNotInForce() {
    try (var test = new TestStore(new StoreOptions(8 * MIB, 1 << 16, false))) {
      int stored = 0;
      while (test.store.liveBytes() < MIB - 2_000) {
        assertEquals(Outcome.STORED, test.set("k" + stored++, "v".repeat(1_000)));
      }
      assertFalse(test.store.limit(MIB));
      for (int i = 0; i < stored; i++) {
        assertEquals(Outcome.STORED, test.set("more" + i, "v".repeat(1_000)));
      }
      test.checkAccounts();
    }
  }

  /** Seen: part of the memory was lost for good. */
  @Test
  void aLimitThatAnErrorKeepsFromBeingReachedIsNotInForce() {
    var failing = new AtomicInteger(Integer.MAX_VALUE);
    IntSupplier clock =
        () -> {
          if (failing.getAndDecrement() <= 0) {
            throw new IllegalStateException("no time, says the test");
          }
          return 1_000;
        };
    try (var store = Store.open(new StoreOptions(8 * MIB, 1 << 16, true), clock)) {
      long full = fill(store);
      failing.set(20);
      assertThrows(IllegalStateException.class, () -> store.limit(MIB));
      failing.set(Integer.MAX_VALUE);
      assertEquals(8 * MIB, store.stats().limit());
      assertEquals(full, fill(store));
    }
  }

  /** Answers how much memory is used when more than there is has been stored. */
  private static long fill(Store store) {
    var key = new Key();
    var value = MemorySegment.ofArray(new byte[10_000]);
    for (int i = 0; i < 2_000; i++) {
      key.set(MemorySegment.ofArray(("k" + i).getBytes(ISO_8859_1)), 0, ("k" + i).length());
      assertEquals(Outcome.STORED, store.store(key, value, 0, 10_000, new Change(), new Item()));
    }
    return store.stats().memory();
  }

  @Test
  void aTenthMayBeHeldToTheLastByte() {
    var holds = new Holds(1_000, 1, 30);
    assertTrue(holds.take(70, 0));
    assertTrue(holds.takeShare(0, 0));
    assertFalse(holds.take(1, 0));
    holds.giveBack(70);
    assertFalse(holds.take(71, 0));
    assertTrue(holds.take(70, 0));
  }

  /** Seen: one connection held all of it, and what others read was cut off as it was replaced. */
  @Test
  void whatOneHoldsCountsFourTimes() {
    var holds = new Holds(1_000, 1, 30);
    assertTrue(holds.take(25, 0));
    assertFalse(holds.take(1, 25));
    assertFalse(holds.takeShare(0, 25));
    assertTrue(holds.takeShare(0, 0));
    assertTrue(holds.takeShare(0, 25), "others hold that already");
    assertTrue(holds.take(45, 0));
  }

  @Test
  void whatOneHoldsCountsUntilItLetsGo() {
    try (var test = new TestStore(32L * MIB)) {
      var holder = new Holder();
      var items = new ArrayList<Item>();
      for (int i = 0; i < 8; i++) {
        assertEquals(Outcome.STORED, test.set("k" + i, "v".repeat(MIB / 2)));
        items.add(new Item(holder));
      }
      int held = 0;
      while (test.store.hold(test.key("k" + held), items.get(held)) == Outcome.FOUND) {
        held++;
      }
      assertEquals(2, held, "about a quarter of what may be held");
      assertTrue(holder.bytes() >= test.store.stats().heldBytes());
      assertEquals(Outcome.FOUND, test.store.hold(test.key("k7"), new Item()));
      items.forEach(Item::release);
      assertEquals(0, holder.bytes());
      assertEquals(Outcome.FOUND, test.store.hold(test.key("k0"), items.getFirst()));
    }
  }

  /** Else it could never be read. */
  @Test
  void whatIsLargerThanATenthIsHeldAlone() {
    var holds = new Holds(1_000, 1, 30);
    assertTrue(holds.take(500, 0));
    assertFalse(holds.take(1, 0));
    assertEquals(1, holds.refusals());
    holds.giveBack(500);
    assertTrue(holds.take(50, 0));
    assertFalse(holds.isHeldUp());
    assertTrue(holds.take(1, 0));
    assertTrue(holds.isHeldUp());
  }

  @Test
  void aTenthOfTheLimitThatIsInForceMayBeHeld() {
    try (var test = new TestStore(16L * MIB)) {
      assertTrue(test.store.limit(4 * MIB));
      var first = test.store.reserve(test.key("a"), 200_000);
      var second = test.store.reserve(test.key("b"), 200_000);
      assertNotNull(first);
      assertNull(second);
      first.close();
    }
  }

  /** Who is refused has changed nothing. */
  @Test
  void anItemThatCannotBeHeldIsNotTouched() {
    try (var test = new TestStore(4 * MIB)) {
      test.store("k", "v".repeat(200_000), new Change().expiry(2_000));
      var held = test.store.reserve(test.key("other"), 300_000);
      assertNotNull(held);
      assertEquals(
          Outcome.BUSY, test.store.fetch(test.key("k"), new Fetch().touch(5_000), test.item));
      held.close();
      var look = new Fetch().unnoticed().withoutValue();
      assertEquals(Outcome.FOUND, test.store.fetch(test.key("k"), look, test.item));
      assertEquals(2_000, test.item.expiry());
      assertFalse(test.item.isFetched());
    }
  }

  /** Else who has seen that number would take another value for the one that had it. */
  @Test
  void aValueDoesNotGetTheNumberOfTheOneBefore() {
    try (var test = new TestStore(MIB)) {
      test.set("k", "a");
      for (int i = 0; i < 3; i++) {
        long chosen = test.item.cas() + 1;
        assertEquals(Outcome.STORED, test.store("k", "b", new Change().setCas(chosen)));
        assertEquals(chosen, test.item.cas());
        assertEquals(Outcome.STORED, test.set("k", "c"));
        assertTrue(test.item.cas() != chosen, "number " + chosen);
      }
    }
  }

  @Test
  void whereItemsHaveNoNumbersNobodyChoosesOne() {
    try (var test = new TestStore(new StoreOptions(MIB, MIB / 2, true, false))) {
      assertEquals("", test.fetch("made", new Fetch().vivify(0).vivifiedCas(77)));
      assertEquals(0, test.item.cas());
      assertEquals(Outcome.STORED, test.store("set", "v", new Change().setCas(78)));
      assertEquals(0, test.item.cas());
      assertEquals(
          Outcome.STORED,
          test.store.delete(test.key("set"), new Change().invalidate().setCas(79), test.item));
      assertEquals(0, test.item.cas());
      assertEquals(
          Outcome.STORED, test.add("number", new Change().vivify(0).initial(1).setCas(80)));
      assertEquals(0, test.item.cas());
    }
  }

  /** Such as one whose record is deleted while it is sent. */
  @Test
  void aSegmentOfWhichSomethingIsHeldIsNotFreed() {
    var segments = new Segments(MIB, MIB, () -> 0);
    int whole = segments.size - Segments.FIRST;
    long place = segments.allocate(Segments.NEW, whole);
    // There is no room for this, so that the former is full.
    segments.unpin(segments.allocate(Segments.NEW, 8));
    segments.kill(place, whole);
    assertFalse(segments.release(segments.of(place)));
    segments.unpin(place);
    assertTrue(segments.release(segments.of(place)));
  }

  // Time

  @Test
  void aFlushThatIsDueIsNotTakenBackByALaterOne() {
    try (var test = new TestStore(MIB)) {
      test.set("k", "v");
      test.store.flush(1010);
      test.clock.set(1020);
      test.store.flush(1100);
      assertNull(test.get("k"));
      test.set("k", "new");
      assertEquals("new", test.get("k"));
      test.clock.set(1100);
      assertNull(test.get("k"));
    }
  }

  @Test
  void aClockThatGoesBackHarmsNobody() {
    try (var test = new TestStore(MIB)) {
      test.store("k", "v", new Change().expiry(1010));
      test.clock.set(1010);
      assertNull(test.get("k"));
      test.clock.set(900);
      assertNull(test.get("k"));
      assertEquals(Outcome.STORED, test.store("k", "w", new Change().expiry(950)));
      test.store.maintain();
      assertEquals("w", test.get("k"));
      test.checkAccounts();
    }
  }

  // Walks

  /** What the visitor does comes between two items, as other threads' changes do. */
  @Test
  void aWalkMeetsWhatIsThereAllTheTimeThoughItsBucketIsSplit() {
    try (var parts = new Parts()) {
      long buckets = parts.items.index.buckets();
      // They are in the first bucket before and after it is split, the last ones in chained
      // buckets.
      var together =
          IntStream.iterate(0, i -> i + 1)
              .mapToObj(i -> "together" + i)
              .filter(name -> parts.key(name).hash % (2 * buckets) == 0)
              .limit(20)
              .toList();
      together.forEach(name -> parts.set(name, "v"));
      var passing = together.subList(1, 6);
      var met = new HashSet<String>();
      new Walker(parts.items)
          .step(
              1,
              (key, item) -> {
                // What they leave is behind the walker, and what is chained moves there.
                if (met.size() == 6) {
                  passing.forEach(parts::delete);
                  for (int i = 0; parts.items.index.buckets() == buckets; i++) {
                    parts.set("other" + i, "v");
                  }
                }
                met.add(new String(key.toArray(ValueLayout.JAVA_BYTE), ISO_8859_1));
              });
      var missed = new HashSet<>(together);
      missed.removeAll(passing);
      missed.removeAll(met);
      assertEquals(Set.of(), missed);
    }
  }

  // Changes between a look at an item and its replacement

  /** The parts of a store whose items have no numbers by which a change could be told. */
  private static final class Parts implements AutoCloseable {
    final Arena arena = Arena.ofShared();
    final Items items;
    final Allocator allocator;
    final Writer writer;
    final Joiner joiner;
    final Arithmetic arithmetic;
    final Remover remover;
    final Reader reader;

    /** Runs whenever the time is asked for: before each look at an item. */
    Runnable amid = () -> {};

    Parts() {
      var options = new StoreOptions(MIB, MIB / 2, true, false);
      items = new Items(options, new Life(this::second, false), arena);
      allocator = new Allocator(items, new Cleaner(items, true));
      var linker = new Linker(items, allocator);
      writer = new Writer(items, allocator, linker);
      joiner = new Joiner(items, allocator, linker);
      arithmetic = new Arithmetic(items, allocator, linker);
      remover = new Remover(items, allocator, linker);
      reader = new Reader(items, allocator);
    }

    private int second() {
      amid.run();
      return 1;
    }

    /** Another key whose item is in the same bucket. */
    String neighbour() {
      long bucket = items.index.bucketOf(key().hash);
      return IntStream.iterate(0, i -> i + 1)
          .mapToObj(i -> "neighbour" + i)
          .filter(name -> items.index.bucketOf(key(name).hash) == bucket)
          .findFirst()
          .orElseThrow();
    }

    Key key(String name) {
      var bytes = MemorySegment.ofArray(name.getBytes(ISO_8859_1));
      var key = new Key().set(bytes, 0, name.length());
      key.hash = items.hash(key);
      return key;
    }

    Key key() {
      return key("k");
    }

    void set(String name, String value) {
      var source = MemorySegment.ofArray(value.getBytes(ISO_8859_1));
      var item = new Item();
      var outcome = writer.store(key(name), source, 0, value.length(), new Change(), item);
      assertEquals(Outcome.STORED, outcome);
    }

    void set(String value) {
      set("k", value);
    }

    void delete(String name) {
      assertEquals(Outcome.STORED, remover.delete(key(name), new Change(), new Item()));
    }

    String get() {
      var item = new Item();
      assertEquals(Outcome.FOUND, reader.hold(key(), item, true));
      var value = new StringBuilder();
      while (value.length() < item.valueLength()) {
        var part = item.valueFrom(value.length()).toArray(ValueLayout.JAVA_BYTE);
        value.append(new String(part, ISO_8859_1));
      }
      item.release();
      return value.toString();
    }

    /** Appends an exclamation mark; something happens the first time that it is written. */
    Outcome append(Runnable amid) {
      boolean[] happened = {false};
      var mark = MemorySegment.ofArray(new byte[] {'!'});
      return joiner.join(
          key(),
          (place, at) -> {
            items.records.write(place, at, mark, 0, 1);
            if (!happened[0]) {
              happened[0] = true;
              amid.run();
            }
          },
          1,
          new Change().mode(Mode.APPEND),
          new Item());
    }

    @Override
    public void close() {
      arena.close();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 5_000})
  void anAppendGoesToTheValueThatIsThereAtItsEnd(int length) {
    try (var parts = new Parts()) {
      parts.set("a".repeat(length));
      assertEquals(Outcome.STORED, parts.append(() -> parts.set("b".repeat(length))));
      assertEquals("b".repeat(length) + "!", parts.get());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 5_000})
  void anAppendToAnItemThatIsDeletedMeanwhileStoresNothing(int length) {
    try (var parts = new Parts()) {
      parts.set("a".repeat(length));
      var outcome = parts.append(() -> parts.remover.delete(parts.key(), new Change(), new Item()));
      assertEquals(Outcome.NOT_STORED, outcome);
      assertEquals(Outcome.NOT_FOUND, parts.reader.hold(parts.key(), new Item(), true));
      assertEquals(0, parts.items.segments.liveBytes());
      assertEquals(0, parts.items.segments.pins());
    }
  }

  /** Seen: any change in the bucket made it begin again. The neighbour is set up to ten times. */
  @ParameterizedTest
  @ValueSource(ints = {0, 5, 5_000})
  void anAppendIsNotKeptUpByANeighbour(int length) {
    try (var parts = new Parts()) {
      var neighbour = parts.neighbour();
      parts.set("a".repeat(length));
      int[] attempts = {0};
      var outcome =
          parts.joiner.join(
              parts.key(),
              (place, at) -> {
                parts.items.records.write(place, at, MemorySegment.ofArray(new byte[] {'!'}), 0, 1);
                if (++attempts[0] <= 10) {
                  parts.set(neighbour, "v".repeat(100 * attempts[0]));
                }
              },
              1,
              new Change().mode(Mode.APPEND),
              new Item());
      assertEquals(Outcome.STORED, outcome);
      assertEquals(1, attempts[0]);
      assertEquals("a".repeat(length) + "!", parts.get());
      assertEquals(0, parts.items.segments.pins());
    }
  }

  /** Counts the looks at an item, and makes a change at each of up to ten. */
  private static int[] atEachLook(Parts parts, int first, IntConsumer change) {
    int[] looks = {0};
    boolean[] within = {false};
    parts.amid =
        () -> {
          if (!within[0] && ++looks[0] >= first && looks[0] <= 10) {
            within[0] = true;
            change.accept(looks[0]);
            within[0] = false;
          }
        };
    return looks;
  }

  /** The new number does not fit where the old one is. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anIncrementIsNotKeptUpByANeighbour(boolean thereIsOne) {
    try (var parts = new Parts()) {
      var neighbour = parts.neighbour();
      if (thereIsOne) {
        parts.set("9999999");
      }
      int[] looks = atEachLook(parts, 1, i -> parts.set(neighbour, "v".repeat(100 * i)));
      var change = new Change().increment(1).vivify(0).initial(7);
      assertEquals(Outcome.STORED, parts.arithmetic.add(parts.key(), change, new Item()));
      assertEquals(2, looks[0]);
      assertEquals(thereIsOne ? "10000000" : "7", parts.get());
      assertEquals(0, parts.items.segments.pins());
    }
  }

  @Test
  void anIncrementIsOfTheNumberThatIsThereAtItsEnd() {
    try (var parts = new Parts()) {
      parts.set("9999999");
      int[] looks =
          atEachLook(
              parts,
              2,
              i -> {
                if (i == 2) {
                  parts.set("1234567");
                }
              });
      var change = new Change().increment(1);
      assertEquals(Outcome.STORED, parts.arithmetic.add(parts.key(), change, new Item()));
      assertEquals(3, looks[0]);
      assertEquals("1234568", parts.get());
      assertEquals(0, parts.items.segments.pins());
    }
  }
}
