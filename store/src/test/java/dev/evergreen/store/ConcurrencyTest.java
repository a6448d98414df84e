package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Many threads at the same items: no value is torn or mixed up, no change is lost, and the accounts
 * are right afterwards.
 */
class ConcurrencyTest {
  private static final int THREADS = 6;

  private final AtomicInteger clock = new AtomicInteger(1);

  /**
   * A value that proves itself: its key's number, then bytes that follow from a random word and its
   * own length.
   */
  private static int write(MemorySegment buffer, long key, long word, int length) {
    buffer.set(JAVA_LONG_UNALIGNED, 0, key);
    buffer.set(JAVA_LONG_UNALIGNED, 8, word ^ length);
    for (int i = 16; i < length; i++) {
      buffer.set(JAVA_BYTE, i, byteAt(word, i));
    }
    return length;
  }

  private static byte byteAt(long word, int at) {
    return (byte) ((word >>> (at & 31)) + at);
  }

  private static void verify(MemorySegment buffer, long key, int length) {
    assertEquals(key, buffer.get(JAVA_LONG_UNALIGNED, 0), "the value is of another key");
    long word = buffer.get(JAVA_LONG_UNALIGNED, 8) ^ length;
    for (int i = 16; i < length; i++) {
      if (buffer.get(JAVA_BYTE, i) != byteAt(word, i)) {
        throw new AssertionError("torn at " + i + " of " + length);
      }
    }
  }

  /** One thread's means. */
  private static final class Client {
    final Key key = new Key();
    final Item item = new Item();
    final Change change = new Change();
    final MemorySegment buffer = Arena.ofAuto().allocate(1 << 20);
    private final MemorySegment keyBytes = Arena.ofAuto().allocate(32);

    Key key(long number) {
      keyBytes.set(JAVA_LONG_UNALIGNED, 0, number);
      int length = (int) (8 + number % 20);
      return key.set(keyBytes, 0, length);
    }
  }

  private interface Work {
    void run(Client client, Random random);
  }

  /**
   * Runs the work on several threads, each with a client and a seed of its own, as often as given.
   */
  private static void together(int rounds, Work... works) throws Exception {
    var failed = new AtomicBoolean();
    var tasks = new ArrayList<Callable<Void>>();
    for (int t = 0; t < THREADS; t++) {
      var work = works[t % works.length];
      int seed = t;
      tasks.add(
          () -> {
            var client = new Client();
            var random = new Random(seed);
            try {
              for (int i = 0; i < rounds && !failed.get(); i++) {
                work.run(client, random);
              }
            } catch (Throwable e) {
              failed.set(true);
              throw e;
            }
            return null;
          });
    }
    try (var threads = Executors.newFixedThreadPool(THREADS)) {
      for (Future<Void> done : threads.invokeAll(tasks)) {
        done.get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    }
  }

  private static void set(Store store, Client client, Random random, long number, int length) {
    write(client.buffer, number, random.nextLong(), length);
    var outcome =
        store.store(
            client.key(number), client.buffer, 0, length, client.change.clear(), client.item);
    assertTrue(outcome == Outcome.STORED || outcome == Outcome.OUT_OF_MEMORY, outcome::toString);
  }

  private static void get(Store store, Client client, long number) {
    while (true) {
      var outcome = store.get(client.key(number), client.item);
      if (outcome != Outcome.FOUND) {
        assertTrue(outcome == Outcome.NOT_FOUND || outcome == Outcome.BUSY, outcome::toString);
        return;
      }
      if (client.item.copyValue(client.buffer, 0)) {
        verify(client.buffer, number, client.item.valueLength());
        client.item.release();
        return;
      }
    }
  }

  private static boolean copyPart(Store store, Client client, long number, int at, int length) {
    var part = client.buffer.asSlice(at, length);
    return store.copyPart(client.key(number), client.item, at, part, length);
  }

  private static int length(Random random) {
    return switch (random.nextInt(40)) {
      case 0 -> 16 + random.nextInt(100_000);
      case 1, 2, 3 -> 16 + random.nextInt(4000);
      default -> 16 + random.nextInt(200);
    };
  }

  @Test
  void noValueIsTornOrMixedUpWhileMemoryIsFullAndItemsExpire() throws Exception {
    try (var store = Store.open(StoreOptions.of(4 << 20), clock::get)) {
      together(
          40_000,
          (client, random) -> {
            long number = random.nextInt(random.nextBoolean() ? 4 : 4000);
            switch (random.nextInt(12)) {
              case 0, 1, 2, 3, 4 -> set(store, client, random, number, length(random));
              case 5 -> store.delete(client.key(number), client.change.clear(), client.item);
              case 6 -> {
                store.fetch(client.key(number), new Fetch().touch(clock.get() + 2), client.item);
                client.item.release();
              }
              case 7 -> {
                if (random.nextInt(300) == 0) {
                  clock.incrementAndGet();
                  store.maintain();
                }
              }
              default -> get(store, client, number);
            }
          });
      assertNotEquals(0, store.stats().evictions());
      assertNotEquals(0, store.stats().reclaimed());
      settle(store);
    }
  }

  @Test
  void aHotKeyIsReadAndWrittenByAllWithoutTearing() throws Exception {
    try (var store = Store.open(StoreOptions.of(2 << 20), clock::get)) {
      together(
          100_000,
          (client, random) -> {
            if (random.nextBoolean()) {
              set(store, client, random, 7, 16 + random.nextInt(3) * 100);
            } else {
              get(store, client, 7);
            }
          });
      assertEquals(1, store.stats().items());
      settle(store);
    }
  }

  @Test
  void aLargeHotValueIsReadInPiecesWhileItIsReplacedMovedAndDeleted() throws Exception {
    try (var store = Store.open(StoreOptions.of(8 << 20), clock::get)) {
      set(store, new Client(), new Random(), 3, 50_000);
      Work readInPieces =
          (client, random) -> {
            if (store.get(client.key(3), client.item) == Outcome.FOUND) {
              int length = client.item.valueLength();
              for (int at = 0; at < length; at += 5000) {
                client.item.copyPart(at, client.buffer, at, Math.min(5000, length - at));
                Thread.onSpinWait();
              }
              verify(client.buffer, 3, length);
              client.item.release();
            }
          };
      Work replace =
          (client, random) -> {
            set(store, client, random, 3, 50_000 + random.nextInt(50_000));
            set(store, client, random, 100 + random.nextInt(1000), 3000);
            if (random.nextInt(10) == 0) {
              store.delete(client.key(3), client.change.clear(), client.item);
            }
          };
      together(3000, readInPieces, replace);
      settle(store);
    }
  }

  @Test
  @SuppressWarnings("ThreadPriorityCheck") // makes it likelier that its memory is used meanwhile
  void aLargeValueThatIsNotHeldIsReadUntilItsMemoryIsUsedAgain() throws Exception {
    try (var store = Store.open(StoreOptions.of(1 << 20), clock::get)) {
      set(store, new Client(), new Random(), 3, 50_000);
      var whole = new AtomicInteger();
      var cut = new AtomicInteger();
      Work readUnheld =
          (client, random) -> {
            if (store.peek(client.key(3), client.item) == Outcome.NOT_FOUND) {
              return;
            }
            client.item.release();
            int length = client.item.valueLength();
            int at = 0;
            while (at < length && copyPart(store, client, 3, at, Math.min(1000, length - at))) {
              at += 1000;
              Thread.yield();
            }
            if (at >= length) {
              verify(client.buffer, 3, length);
            }
            (at >= length ? whole : cut).incrementAndGet();
          };
      Work replace =
          (client, random) -> {
            set(store, client, random, 3, 50_000 + random.nextInt(50_000));
            set(store, client, random, 100 + random.nextInt(100), 3000);
          };
      together(2000, readUnheld, replace);
      assertTrue(whole.get() > 0 && cut.get() > 0, () -> whole + " whole, cut off " + cut);
      settle(store);
    }
  }

  @Test
  void noIncrementAndNoAppendIsLost() throws Exception {
    int rounds = 20_000;
    try (var store = Store.open(StoreOptions.of(8 << 20), clock::get)) {
      var client = new Client();
      var one = MemorySegment.ofArray(new byte[] {'x'});
      client.buffer.set(JAVA_BYTE, 0, (byte) '8');
      store.store(client.key(1), client.buffer, 0, 1, client.change.clear(), client.item);
      store.store(client.key(2), one, 0, 1, client.change.clear(), client.item);
      together(
          rounds,
          (mine, random) -> {
            assertEquals(
                Outcome.STORED,
                store.arithmetic(mine.key(1), mine.change.clear().increment(1), mine.item));
            if (random.nextInt(4) == 0) {
              set(store, mine, random, 100 + random.nextInt(2000), 16 + random.nextInt(800));
            }
          });
      together(
          2000,
          (mine, random) ->
              assertEquals(
                  Outcome.STORED,
                  store.store(
                      mine.key(2),
                      one,
                      0,
                      1,
                      mine.change.clear().mode(random.nextBoolean() ? Mode.APPEND : Mode.PREPEND),
                      mine.item)));
      assertEquals(Outcome.FOUND, store.get(client.key(1), client.item));
      assertTrue(client.item.copyValue(client.buffer, 0));
      var text = new byte[client.item.valueLength()];
      MemorySegment.copy(client.buffer, JAVA_BYTE, 0, text, 0, text.length);
      assertEquals(8 + THREADS * rounds, Integer.parseInt(new String(text, ISO_8859_1).strip()));
      assertEquals(Outcome.FOUND, store.get(client.key(2), client.item));
      assertEquals(1 + THREADS * 2000, client.item.valueLength());
      client.item.release();
      settle(store);
    }
  }

  @Test
  void compareAndSetLetsExactlyOneOfManyWin() throws Exception {
    try (var store = Store.open(StoreOptions.of(2 << 20), clock::get)) {
      var wins = new AtomicInteger();
      var client = new Client();
      client.buffer.set(JAVA_LONG_UNALIGNED, 0, 0);
      store.store(client.key(1), client.buffer, 0, 8, client.change.clear(), client.item);
      together(
          20_000,
          (mine, random) -> {
            do {
              assertEquals(Outcome.FOUND, store.get(mine.key(1), mine.item));
            } while (!mine.item.copyValue(mine.buffer, 0));
            mine.buffer.set(JAVA_LONG_UNALIGNED, 0, mine.buffer.get(JAVA_LONG_UNALIGNED, 0) + 1);
            var change = mine.change.clear().ifCas(mine.item.cas());
            int length = random.nextBoolean() ? 8 : 100;
            if (store.store(mine.key(1), mine.buffer, 0, length, change, mine.item)
                == Outcome.STORED) {
              wins.incrementAndGet();
            }
          });
      assertEquals(Outcome.FOUND, store.get(client.key(1), client.item));
      assertTrue(client.item.copyValue(client.buffer, 0));
      assertEquals(wins.get(), client.buffer.get(JAVA_LONG_UNALIGNED, 0));
      settle(store);
    }
  }

  @Test
  void whoIsTooLateToMakeAnItemLeavesNothing() throws Exception {
    try (var store = Store.open(StoreOptions.of(2 << 20), clock::get)) {
      var won = new AtomicInteger();
      together(
          20_000,
          (mine, random) -> {
            var fetch = new Fetch().vivify(0);
            assertEquals(Outcome.FOUND, store.fetch(mine.key(1), fetch, mine.item));
            if (mine.item.isNew()) {
              won.incrementAndGet();
              store.delete(mine.key(1), mine.change.clear(), mine.item);
            }
          });
      assertTrue(won.get() > 0);
      settle(store);
    }
  }

  @Test
  void aWalkMeetsEveryItemThatStaysWhileOthersComeAndGo() throws Exception {
    try (var store = Store.open(StoreOptions.of(32 << 20), clock::get)) {
      var client = new Client();
      for (int i = 0; i < 2000; i++) {
        set(store, client, new Random(i), i, 50);
      }
      Work walk =
          (mine, random) -> {
            var met = new boolean[2000];
            var walker = store.walker();
            boolean more = true;
            while (more) {
              more =
                  walker.step(
                      5,
                      (key, item) -> {
                        long number = key.get(JAVA_LONG_UNALIGNED, 0);
                        if (number < met.length) {
                          met[(int) number] = true;
                        }
                      });
            }
            for (int i = 0; i < met.length; i++) {
              assertTrue(met[i], "item " + i + " was not met");
            }
          };
      Work change =
          (mine, random) -> {
            for (int i = 0; i < 1000; i++) {
              int number = 2000 + random.nextInt(40_000);
              if (random.nextInt(3) == 0) {
                store.delete(mine.key(number), mine.change.clear(), mine.item);
              } else {
                set(store, mine, random, number, 16 + random.nextInt(50));
              }
              set(store, mine, random, random.nextInt(2000), 16 + random.nextInt(60));
            }
          };
      together(60, walk, change);
      assertEquals(0, store.stats().evictions());
      settle(store);
    }
  }

  /** Removes all that has expired, then checks the accounts. */
  private void settle(Store store) {
    clock.addAndGet(1000);
    for (int i = 0; i < 100; i++) {
      store.maintain();
    }
    long[] sums = new long[2];
    var walker = store.walker();
    boolean more = true;
    while (more) {
      more =
          walker.step(
              100,
              (key, item) -> {
                sums[0]++;
                sums[1] += item.size();
              });
    }
    var stats = store.stats();
    assertEquals(0, stats.heldBytes());
    assertEquals(0, store.pins());
    assertEquals(store.liveBytes(), stats.bytes());
    assertTrue(stats.memory() <= stats.limit());
    // What has expired in segments that are still open stays until somebody asks for it.
    assertTrue(sums[0] <= stats.items() && sums[1] <= stats.bytes());
    assertTrue(stats.items() - sums[0] < 10_000, () -> stats.items() + " items, " + sums[0]);
  }

  /**
   * A reader that knows its item's bucket and waits for its lock must look again when the bucket
   * was split before it got to read it. Who is first after the lock is chance, so there are many
   * rounds, and it reads on until the split is over.
   */
  @Test
  void anItemIsFoundWhileItsBucketIsSplit() throws Exception {
    var random = new Random(1);
    var client = new Client();
    try (var store = Store.open(StoreOptions.of(64 << 20), clock::get);
        var threads = Executors.newFixedThreadPool(2)) {
      var index = store.index();
      long stored = 0;
      for (int round = 0; round < 100; round++) {
        long buckets = index.buckets();
        while (index.items() < buckets * Index.ITEMS_PER_BUCKET) {
          set(store, client, random, stored++, 32);
        }
        long moved = movedNumber(store, client, stored, buckets);
        if (moved < 0) {
          // The split moves nothing; that there is one is all that the next round needs.
          set(store, client, random, stored++, 32);
          continue;
        }
        long splitBucket = (buckets - Long.highestOneBit(buckets)) * Index.BUCKET;
        long other =
            numberOf(store, client, stored, key -> index.bucketOf(key.hash) != splitBucket);
        long before = index.header(splitBucket);
        index.lockBucket(splitBucket);
        var begun = new CountDownLatch(1);
        var read =
            threads.submit(
                () -> {
                  var reader = new Client();
                  var key = reader.key(moved);
                  begun.countDown();
                  Outcome outcome;
                  do {
                    outcome = store.get(key, reader.item);
                  } while (outcome == Outcome.FOUND && index.buckets() == buckets);
                  return outcome;
                });
        var split =
            threads.submit(
                () -> {
                  set(store, new Client(), new Random(2), other, 32);
                  return null;
                });
        begun.await();
        while (index.items() <= buckets * Index.ITEMS_PER_BUCKET) {
          Thread.onSpinWait();
        }
        index.unlock(splitBucket);
        split.get();
        assertEquals(Outcome.FOUND, read.get(), "round " + round);
        assertEquals(buckets + 1, index.buckets());
        assertFalse(index.isUnchanged(splitBucket, before), "who reads there would not know");
        stored = other + 1;
      }
    }
  }

  /** The number of an item that the next split moves, or -1 if it moves none. */
  private static long movedNumber(Store store, Client client, long stored, long buckets) {
    for (long number = 0; number < stored; number++) {
      var key = client.key(number);
      boolean found = store.peek(key, client.item) == Outcome.FOUND;
      if (found && (key.hash & (2 * Long.highestOneBit(buckets) - 1)) == buckets) {
        return number;
      }
    }
    return -1;
  }

  /** The first number from one on whose key, with its hash, is as wanted. */
  private static long numberOf(Store store, Client client, long from, Predicate<Key> wanted) {
    for (long number = from; ; number++) {
      var key = client.key(number);
      var unused = store.peek(key, client.item);
      if (wanted.test(key)) {
        return number;
      }
    }
  }
}
