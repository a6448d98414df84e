package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Readers that take no lock beside writers of the same items, in a store that all tests share. */
public final class StoreStress {

  private static final Store STORE = Store.open(StoreOptions.of(8 << 20), () -> 1);
  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final int ABSENT = 0;
  private static final int TORN = -1;
  private static final int LENGTH = 100;

  private StoreStress() {}

  /** A key that no other state has; it is deleted when the state is done. */
  private static byte[] newKey() {
    return ("key" + NUMBERS.getAndIncrement()).getBytes(StandardCharsets.US_ASCII);
  }

  private static Key key(byte[] key) {
    return new Key().set(MemorySegment.ofArray(key), 0, key.length);
  }

  /** Stores a value whose bytes and client flags are all the same number. */
  private static void store(byte[] key, int number, int length, Change change) {
    store(STORE, key, number, length, change);
  }

  private static void store(Store store, byte[] key, int number, int length, Change change) {
    var value = new byte[length];
    Arrays.fill(value, (byte) number);
    store.store(
        key(key), MemorySegment.ofArray(value), 0, length, change.flags(number), new Item());
  }

  private static void set(byte[] key, int number, int length) {
    store(key, number, length, new Change());
  }

  private static void delete(byte[] key) {
    STORE.delete(key(key), new Change(), new Item());
  }

  /** The number that was stored, or {@link #TORN} if what was read is of several. */
  private static int read(byte[] key) {
    return read(STORE, key);
  }

  private static int read(Store store, byte[] key) {
    var item = new Item();
    var target = MemorySegment.ofArray(new byte[4096]);
    do {
      if (store.get(key(key), item) != dev.evergreen.store.Outcome.FOUND) {
        return ABSENT;
      }
    } while (!item.copyValue(target, 0));
    int number = number(item, target);
    item.release();
    return number;
  }

  /** Of a value that was copied. */
  private static int number(Item item, MemorySegment target) {
    int number = item.flags();
    for (int i = 0; i < item.valueLength(); i++) {
      if (target.get(JAVA_BYTE, i) != number) {
        return TORN;
      }
    }
    return number;
  }

  @JCStressTest
  @Description("A value is overwritten where it lies while it is read.")
  @Outcome(
      id = {"1", "2"},
      expect = ACCEPTABLE,
      desc = "one value or the other")
  @Outcome(expect = FORBIDDEN, desc = "a mixture, or none")
  @State
  public static class Overwritten {
    private final byte[] key = newKey();

    public Overwritten() {
      set(key, 1, LENGTH);
    }

    @Actor
    public void writer() {
      set(key, 2, LENGTH);
    }

    @Actor
    public void reader(I_Result r) {
      r.r1 = read(key);
    }

    @Arbiter
    public void end() {
      delete(key);
    }
  }

  @JCStressTest
  @Description("A value is replaced by a longer one, whose record is another one.")
  @Outcome(
      id = {"1", "2"},
      expect = ACCEPTABLE,
      desc = "one value or the other")
  @Outcome(expect = FORBIDDEN, desc = "a mixture, or none")
  @State
  public static class Replaced {
    private final byte[] key = newKey();

    public Replaced() {
      set(key, 1, LENGTH);
    }

    @Actor
    public void writer() {
      set(key, 2, 3 * LENGTH);
    }

    @Actor
    public void reader(I_Result r) {
      r.r1 = read(key);
    }

    @Arbiter
    public void end() {
      delete(key);
    }
  }

  @JCStressTest
  @Description("An item is deleted and another one stored while it is read.")
  @Outcome(
      id = {"0", "1", "2"},
      expect = ACCEPTABLE,
      desc = "one value, or none, or the other")
  @Outcome(expect = FORBIDDEN, desc = "a mixture")
  @State
  public static class DeletedAndStored {
    private final byte[] key = newKey();

    public DeletedAndStored() {
      set(key, 1, LENGTH);
    }

    @Actor
    public void writer() {
      delete(key);
      set(key, 2, LENGTH);
    }

    @Actor
    public void reader(I_Result r) {
      r.r1 = read(key);
    }

    @Arbiter
    public void end() {
      delete(key);
    }
  }

  @JCStressTest
  @Description("Two that add the same key, and one of them reads afterwards.")
  @Outcome(
      id = {"1, 1", "2, 2"},
      expect = ACCEPTABLE,
      desc = "the first one's value stays")
  @Outcome(expect = FORBIDDEN, desc = "both were stored, or none")
  @State
  public static class Added {
    private final byte[] key = newKey();
    private int seen;

    @Actor
    public void one() {
      store(key, 1, LENGTH, new Change().mode(Mode.ADD));
      seen = read(key);
    }

    @Actor
    public void two() {
      store(key, 2, LENGTH, new Change().mode(Mode.ADD));
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = seen;
      r.r2 = read(key);
      delete(key);
    }
  }

  @JCStressTest
  @Description("Two items are read in turn while both are stored in the other order.")
  @Outcome(
      id = {"0, 0", "0, 1", "1, 1"},
      expect = ACCEPTABLE,
      desc = "in the order of storing")
  @Outcome(id = "1, 0", expect = FORBIDDEN, desc = "the later one was there before the earlier")
  @State
  public static class TwoInOrder {
    private final byte[] first = newKey();
    private final byte[] second = newKey();

    @Actor
    public void writer() {
      set(first, 1, LENGTH);
      set(second, 1, LENGTH);
    }

    @Actor
    public void reader(II_Result r) {
      r.r1 = read(second);
      r.r2 = read(first);
    }

    @Arbiter
    public void end() {
      delete(first);
      delete(second);
    }
  }

  /**
   * A store that only grows. Its items are numbers, stored in their order; each fifth one splits a
   * bucket, until all are there.
   */
  private static final class Growing {
    private static final Store STORE = Store.open(StoreOptions.of(64 << 20), () -> 1);
    private static final int MOST_BUCKETS = 60_000;
    private static final int READS = 100;

    /** By the number of buckets that there are: an item that the next split moves, if it does. */
    private static final int[] MOVED = new int[MOST_BUCKETS + 1];

    private static int stored;

    static {
      long buckets = STORE.index().buckets();
      store(buckets * Index.ITEMS_PER_BUCKET);
      var key = new Key();
      for (int number = MOST_BUCKETS * Index.ITEMS_PER_BUCKET - 1; number >= 0; number--) {
        // That finds its hash as well.
        var _ = STORE.peek(set(key, number), new Item());
        for (long half = buckets; half <= MOST_BUCKETS; half *= 2) {
          long bucket = key.hash & (2 * half - 1);
          boolean there = number < (bucket - 1) * Index.ITEMS_PER_BUCKET;
          if (bucket >= half && bucket <= MOST_BUCKETS && there) {
            MOVED[(int) bucket] = number;
          }
        }
      }
    }

    private static Key set(Key key, int number) {
      var bytes = MemorySegment.ofArray(new byte[Long.BYTES]);
      bytes.set(JAVA_INT_UNALIGNED, 0, number);
      return key.set(bytes, 0, Long.BYTES);
    }

    private static synchronized void store(long items) {
      for (long i = 0; i < items && stored < MOST_BUCKETS * Index.ITEMS_PER_BUCKET; i++) {
        var key = set(new Key(), stored++);
        STORE.store(key, MemorySegment.NULL, 0, 0, new Change(), new Item());
      }
    }

    static void split() {
      store(Index.ITEMS_PER_BUCKET);
    }

    /** Reads an item that the next split moves, up to its end; says whether it was there. */
    static boolean readMoved() {
      var index = STORE.index();
      long buckets = index.buckets();
      var key = set(new Key(), MOVED[(int) buckets]);
      var item = new Item();
      boolean found = true;
      for (int i = 0; i < READS && found && index.buckets() == buckets; i++) {
        found = STORE.peek(key, item) == dev.evergreen.store.Outcome.FOUND;
      }
      return found;
    }
  }

  @JCStressTest
  @Description("An item is read while its bucket is split, by which it comes to the new bucket.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "found")
  @Outcome(expect = FORBIDDEN, desc = "not found, though it was there all the time")
  @State
  public static class Split {

    @Actor
    public void writer() {
      Growing.split();
    }

    @Actor
    public void reader(Z_Result r) {
      r.r1 = Growing.readMoved();
    }
  }

  /**
   * A store that evicts nothing and is nearly full. Some of its items stay; others are stored anew
   * all the time, in no order, so that the cleaner moves those that lie between them, and frees the
   * memory where they were. Now and then one that stays is stored with another length: else they
   * would all lie together soon, and never be moved again.
   */
  private static final class Churning {
    private static final long LOW = StoreOptions.LEAST_LIMIT;
    private static final long HIGH = 2 * LOW;
    private static final Store STORE =
        Store.open(new StoreOptions(HIGH, LENGTH * 10, false), () -> 1);
    private static final byte[][] STAYING = new byte[500][];
    private static final byte[][] CHURNED = new byte[4_500][];
    private static final SplittableRandom RANDOM = new SplittableRandom(1);

    /** As many as fill more than a segment. */
    private static final int AT_ONCE = 200;

    private static final int OF_THESE_STAYING = 20;

    static {
      for (int i = 0; i < CHURNED.length; i++) {
        CHURNED[i] = newKey();
        set(CHURNED[i], i, LENGTH);
      }
      for (int i = 0; i < STAYING.length; i++) {
        STAYING[i] = newKey();
        set(STAYING[i], i, LENGTH);
      }
    }

    private static int numberOf(int i) {
      return 1 + i % 100;
    }

    private static void set(byte[] key, int i, int length) {
      store(STORE, key, numberOf(i), length, new Change());
    }

    static synchronized void churn() {
      for (int i = 0; i < AT_ONCE; i++) {
        int number = RANDOM.nextInt(CHURNED.length);
        STORE.delete(key(CHURNED[number]), new Change(), new Item());
        set(CHURNED[number], number, LENGTH);
        if (i < OF_THESE_STAYING) {
          int staying = RANDOM.nextInt(STAYING.length);
          set(STAYING[staying], staying, LENGTH + RANDOM.nextInt(2) * Long.BYTES);
        }
      }
      STORE.limit(LOW);
      STORE.limit(HIGH);
    }

    /** Finds all before it copies the first, so that much can happen to them in between. */
    static boolean readStaying() {
      var items = new Item[STAYING.length];
      for (int i = 0; i < items.length; i++) {
        items[i] = new Item();
        if (STORE.get(key(STAYING[i]), items[i]) != dev.evergreen.store.Outcome.FOUND) {
          return false;
        }
      }
      var target = MemorySegment.ofArray(new byte[4096]);
      boolean right = true;
      for (int i = 0; i < items.length; i++) {
        boolean copied = items[i].copyValue(target, 0);
        int number = copied ? number(items[i], target) : read(STORE, STAYING[i]);
        right &= number == numberOf(i);
      }
      return right;
    }
  }

  @JCStressTest
  @Description("Items are read while the cleaner moves them, and frees the memory where they were.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "all are there and whole")
  @Outcome(expect = FORBIDDEN, desc = "one is missing or a mixture")
  @State
  public static class Cleaned {

    @Actor
    public void writer() {
      Churning.churn();
    }

    @Actor
    public void reader(Z_Result r) {
      r.r1 = Churning.readStaying();
    }
  }

  /** A store with one item, a number that needs more memory when it becomes greater. */
  private static final class Flushing {
    private static final Store STORE =
        Store.open(StoreOptions.of(StoreOptions.LEAST_LIMIT), () -> 1);
    private static final byte[] KEY = "number".getBytes(StandardCharsets.US_ASCII);
    private static final MemorySegment DIGITS =
        MemorySegment.ofArray("99".getBytes(StandardCharsets.US_ASCII));
    private static final int ROUNDS = 100;

    /** In all ways that need an item. */
    static void change() {
      var key = key(KEY);
      var item = new Item();
      for (int i = 0; i < ROUNDS; i++) {
        STORE.arithmetic(key, new Change().increment(1), item);
        STORE.delete(key, new Change().empty(), item);
        for (var mode : List.of(Mode.APPEND, Mode.PREPEND, Mode.REPLACE)) {
          STORE.store(key, DIGITS, 0, 1, new Change().mode(mode), item);
        }
      }
    }

    /** Whether a flush ends what was there before. */
    static boolean flush() {
      var key = key(KEY);
      var item = new Item();
      boolean right = true;
      for (int i = 0; i < ROUNDS; i++) {
        STORE.store(key, DIGITS, 0, 2, new Change(), item);
        STORE.flush(0);
        right &= STORE.peek(key, item) == dev.evergreen.store.Outcome.NOT_FOUND;
      }
      return right;
    }
  }

  @JCStressTest
  @Description("An item is flushed while it is changed in ways that make none where there is none.")
  @Outcome(id = "true", expect = ACCEPTABLE, desc = "gone")
  @Outcome(expect = FORBIDDEN, desc = "there after the flush, by a change that began before it")
  @State
  public static class Flushed {

    @Actor
    public void writer() {
      Flushing.change();
    }

    @Actor
    public void flusher(Z_Result r) {
      r.r1 = Flushing.flush();
    }
  }

  @JCStressTest
  @Description("Two readers begin to hold values of one segment at the same time.")
  @Outcome(id = "100, 0", expect = ACCEPTABLE, desc = "held once, and given back at the end")
  @Outcome(expect = FORBIDDEN, desc = "counted twice, or not given back")
  @State
  public static class SharedHold {
    private final Holds holds = new Holds(10_000, 1, 100);

    @Actor
    public void one() {
      take();
    }

    @Actor
    public void two() {
      take();
    }

    private void take() {
      if (!holds.takeShare(0, 0)) {
        throw new IllegalStateException("there is room for ten");
      }
    }

    @Arbiter
    public void end(II_Result r) {
      r.r1 = (int) holds.bytes();
      holds.giveBackShare(0);
      holds.giveBackShare(0);
      r.r2 = (int) holds.bytes();
    }
  }
}
