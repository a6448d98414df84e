package dev.evergreen.store;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The items of a cache, outside the heap. Safe for any number of threads; each request is one
 * atomic step. No request waits for anything but another one's moment with the same few items, and,
 * if it needs memory, for some to be made free.
 *
 * <p>Nothing is allocated on the heap for an item. Lookups allocate nothing at all.
 */
public final class Store implements AutoCloseable {

  /** New items that have more than this share of the memory are evicted before proven ones. */
  public static final double SHARE_OF_NEW = 0.1;

  private final Arena arena = Arena.ofShared();
  private final StoreOptions options;
  private final Life life;
  private final Items items;
  private final Cleaner cleaner;
  private final Allocator allocator;
  private final Reader reader;
  private final Writer writer;
  private final Joiner joiner;
  private final Arithmetic arithmetic;
  private final Remover remover;
  private final ReentrantLock purging = new ReentrantLock();
  private volatile long limit;

  private Store(StoreOptions options, IntSupplier clock) {
    this.options = options;
    limit = options.limit();
    life = new Life(clock, options.numbers());
    items = new Items(options, life, arena);
    cleaner = new Cleaner(items, options.evicts());
    allocator = new Allocator(items, cleaner);
    var linker = new Linker(items, allocator);
    reader = new Reader(items, allocator);
    writer = new Writer(items, allocator, linker);
    joiner = new Joiner(items, allocator, linker);
    arithmetic = new Arithmetic(items, allocator, linker);
    remover = new Remover(items, allocator, linker);
  }

  /**
   * Opens an empty store.
   *
   * @param clock answers the current second, positive and never going back
   */
  public static Store open(StoreOptions options, IntSupplier clock) {
    return new Store(options, clock);
  }

  /**
   * Finds an item and counts as an access. The answer is FOUND, NOT_FOUND, or BUSY for a large
   * value.
   */
  public Outcome get(Key key, Item item) {
    return reader.get(key, item, true);
  }

  /** Finds an item without counting as an access. */
  public Outcome peek(Key key, Item item) {
    return reader.get(key, item, false);
  }

  /**
   * Finds an item, counts as an access, and holds the value, also a small one, as it is until
   * {@link Item#release}: to be sent from where it is, see {@link Item#valueFrom}. All holds
   * together keep a tenth of the memory from being used again at most.
   *
   * @return FOUND, NOT_FOUND, or BUSY if no more may be held; a small value can then be copied
   */
  public Outcome hold(Key key, Item item) {
    return reader.hold(key, item, true);
  }

  /** As {@link #hold}, without counting as an access. */
  public Outcome holdUnnoticed(Key key, Item item) {
    return reader.hold(key, item, false);
  }

  /**
   * Copies a part of the value that an item shows, for who may not hold it: as long as it is there,
   * or if it was replaced or removed, until its memory is used for others. Counts as an access.
   *
   * @param item for which this key was looked up, of a store whose items have CAS numbers
   * @return false if it is there no more
   */
  public boolean copyPart(Key key, Item item, int offset, MemorySegment target, int length) {
    Objects.checkFromIndexSize(offset, length, item.valueLength());
    checkReadable(target, 0, length);
    return reader.copyPart(key, item, offset, target, length);
  }

  /**
   * Finds an item, or makes it, and changes it as the fetch says. The item's value need not be
   * copied at once.
   *
   * @return FOUND, NOT_FOUND, BUSY for a large value, or OUT_OF_MEMORY if an item was to be made
   */
  public Outcome fetch(Key key, Fetch fetch, Item item) {
    return reader.fetch(key, fetch, item);
  }

  /** Whether an item of this size may be stored, if there is room for it. */
  public boolean takes(int keyLength, long valueLength, int flags) {
    return options.takes(keyLength, valueLength, flags);
  }

  /** The most bytes that a value without client flags may have under a key of this length. */
  public int maxValueLength(int keyLength) {
    return options.maxValueLength(keyLength);
  }

  /**
   * Stores a value.
   *
   * @param item shows what was stored
   * @return STORED, NOT_STORED, EXISTS, NOT_FOUND, TOO_LARGE or OUT_OF_MEMORY; only STORED changed
   *     anything
   * @throws IndexOutOfBoundsException if the source is too short; nothing was changed then
   * @throws IllegalStateException if the source was freed, or is another thread's; likewise
   */
  public Outcome store(
      Key key, MemorySegment source, long from, int length, Change change, Item item) {
    item.release();
    if (!takes(key.length, length, change.flags)) {
      return Outcome.TOO_LARGE;
    }
    checkReadable(source, from, length);
    key.hash = items.hash(key);
    return switch (change.mode) {
      case SET, ADD, REPLACE -> writer.store(key, source, from, length, change, item);
      case APPEND, PREPEND ->
          joiner.join(
              key,
              (place, at) -> items.records.write(place, at, source, from, length),
              length,
              change,
              item);
    };
  }

  /** What is copied under a lock must not fail. */
  private static void checkReadable(MemorySegment source, long from, int length) {
    Objects.checkFromIndexSize(from, length, source.byteSize());
    if (!source.scope().isAlive() || !source.isAccessibleBy(Thread.currentThread())) {
      throw new IllegalStateException("the value's memory was freed, or is another thread's");
    }
  }

  /**
   * Reserves memory for a value of the key, to be committed when it was received.
   *
   * @return null if there is no memory, or readers and reservations hold as much as they may
   * @throws IllegalArgumentException if the store does not {@link #takes take} such an item
   */
  public @Nullable Reservation reserve(Key key, int length) {
    return reserve(key, length, false);
  }

  /**
   * Reserves memory for a value that is there already: it is filled and committed at once, without
   * waiting for anything, and so takes no part in what may be held.
   *
   * @return null if there is no memory
   * @throws IllegalArgumentException if the store does not {@link #takes take} such an item
   */
  public @Nullable Reservation reserveAtOnce(Key key, int length) {
    return reserve(key, length, true);
  }

  private @Nullable Reservation reserve(Key key, int length, boolean atOnce) {
    if (!takes(key.length, length, 0)) {
      throw new IllegalArgumentException(
          "an item of %d + %d bytes is larger than the limit %d"
              .formatted(key.length, length, options.itemLimit()));
    }
    key.hash = items.hash(key);
    long place = allocator.create(key, length, items.queueFor(key.hash));
    if (place < 0) {
      return null;
    }
    if (!atOnce && items.hold(place, 0) == 0) {
      allocator.abandon(place);
      return null;
    }
    return new Reservation(this, items, allocator, place, !atOnce);
  }

  /** Whether the next {@link #flush} takes as long as looking at all items does. */
  public boolean isPurgeDue() {
    return life.isPurgeDue();
  }

  /** Whether readers and reservations hold so much that more of them may be refused for that. */
  public boolean isHeldUp() {
    return items.holds.isHeldUp();
  }

  /** How often readers or reservations were refused since others held too much. */
  public long refusals() {
    return items.holds.refusals();
  }

  Outcome commit(long place, Change change, Item item) {
    item.release();
    var records = items.records;
    var key = new Key().set(records.memory, Records.keyAt(place), records.keyLength(place));
    int length = records.valueLength(place);
    key.hash = items.hash(key);
    if (change.mode != Mode.APPEND && change.mode != Mode.PREPEND) {
      return writer.link(key, place, change, item);
    }
    try {
      return joiner.join(key, (to, at) -> records.copyValue(place, to, at), length, change, item);
    } finally {
      allocator.abandon(place);
    }
  }

  /**
   * Deletes an item, or makes it stale or empty if the change says so.
   *
   * @param item shows what was deleted, or what is left
   * @return STORED, NOT_FOUND, EXISTS, or OUT_OF_MEMORY for an empty one
   */
  public Outcome delete(Key key, Change change, Item item) {
    item.release();
    key.hash = items.hash(key);
    return remover.delete(key, change, item);
  }

  /**
   * Increments or decrements a number.
   *
   * @param item shows the number that was made
   * @return STORED, NOT_FOUND, EXISTS, NOT_NUMERIC or OUT_OF_MEMORY
   */
  public Outcome arithmetic(Key key, Change change, Item item) {
    item.release();
    key.hash = items.hash(key);
    return arithmetic.add(key, change, item);
  }

  /**
   * Ends the life of all items that are there at the second, or of those of now if that has passed.
   * Once in a while this takes as long as looking at all items does, in small steps between which
   * other requests go on.
   */
  public void flush(int second) {
    while (!life.flush(second)) {
      purge();
    }
  }

  /** Takes back what former flushes have ended; one caller does, and others wait for it. */
  private void purge() {
    purging.lock();
    try {
      if (life.isPurgeDue()) {
        int epochs = life.epochs();
        cleaner.purge();
        life.purged(epochs);
      }
    } finally {
      purging.unlock();
    }
  }

  /** A walk through all items. */
  public Walker walker() {
    return new Walker(items);
  }

  /**
   * Does work that would else fall to writers: takes back expired memory and keeps some free. To be
   * called about ten times a second; costs next to nothing when there is nothing to do, and a few
   * milliseconds at most.
   */
  public void maintain() {
    cleaner.maintain(MAINTAINED_BYTES, READY_SEGMENTS);
  }

  private static final long MAINTAINED_BYTES = 8 << 20;
  private static final int READY_SEGMENTS = 2;

  /**
   * Changes the memory limit; items are evicted if it is lowered, and the memory goes back to the
   * system.
   *
   * @return false if the limit is out of range (from 1 MiB or two of the largest items, whichever
   *     is more, or a few segments more than the largest item takes, to four times the first one),
   *     or too much is held, or may not be evicted, to lower it so far; then it stays as it was
   */
  public synchronized boolean limit(long bytes) {
    long segmentsWanted = bytes / items.segments.size;
    // Else an item that is taken could have no room though all others were evicted for it.
    if (bytes < Math.max(StoreOptions.LEAST_LIMIT, 2L * options.itemLimit())
        || segmentsWanted < items.segments.least(options.itemLimit())
        || segmentsWanted > items.segments.count()
        || !cleaner.mayResize((int) segmentsWanted)
        || !resize((int) segmentsWanted)) {
      return false;
    }
    limit = bytes;
    items.holds.limit(bytes);
    return true;
  }

  /**
   * In steps, each no longer than what a writer does that needs room: it may be many gigabytes, and
   * others, who may run on the same processor, come in between.
   */
  // Not relied on: all that they need free is free between two steps.
  @SuppressWarnings("ThreadPriorityCheck")
  private boolean resize(int wanted) {
    var segments = items.segments;
    int before = segments.allowed();
    boolean done = true;
    int reached = before;
    try {
      for (int allowed = before; done && allowed != wanted; Thread.yield()) {
        allowed = Math.max(wanted, allowed - 1);
        done = cleaner.resize(allowed);
        reached = allowed;
      }
    } finally {
      if (!done || reached != wanted) {
        segments.allowed(before);
      }
    }
    for (int i = 0; segments.giveBackFree(items.records.memory, i); i++) {
      Thread.yield();
    }
    return done;
  }

  /** Sets who hears of evictions; null for nobody. */
  public void listener(@Nullable EvictionListener listener) {
    items.listener = listener;
  }

  /** What the store holds and has done. */
  public StoreStats stats() {
    var counters = items.counters;
    return new StoreStats(
        items.index.items(),
        counters.totalItems.sum(),
        counters.bytes.sum(),
        limit,
        (long) items.segments.used() * items.segments.size,
        items.index.bytes(),
        items.holds.bytes(),
        counters.evictions.sum(),
        counters.evictedUnfetched.sum(),
        counters.expiredUnfetched.sum(),
        counters.reclaimed.sum(),
        counters.missesExpired.sum(),
        counters.missesFlushed.sum(),
        counters.movedBytes.sum());
  }

  /** What the store has done to keep its memory in order. */
  public StoreUpkeep upkeep() {
    var counters = items.counters;
    return new StoreUpkeep(
        counters.rounds.sum(),
        counters.sweeps.sum(),
        counters.sweptItems.sum(),
        counters.sweptReclaimed.sum(),
        counters.compactions.sum(),
        counters.compactedItems.sum(),
        counters.proven.sum(),
        counters.provenAgain.sum(),
        counters.directReclaims.sum(),
        counters.evictedActive.sum(),
        counters.evictedExpiring.sum(),
        counters.evictedIdle);
  }

  /** What of the items is new, and what is proven. */
  public StoreQueues queues() {
    var counters = items.counters;
    int now = items.life.now();
    return new StoreQueues(
        counters.provenItems.sum(),
        items.segments.used(),
        items.segments.oldestSeconds(Segments.NEW, now),
        items.segments.oldestSeconds(Segments.PROVEN, now),
        counters.newHits.sum(),
        counters.provenHits.sum());
  }

  /** Begins to count anew what the store does. */
  public void resetCounts() {
    items.counters.reset();
  }

  /** How many buckets the index has. */
  public long buckets() {
    return items.index.buckets();
  }

  /** Where the items are found; for tests. */
  Index index() {
    return items.index;
  }

  /** Whether the record is proven; for tests. */
  boolean isProven(long place) {
    return items.segments.queueOf(place) == Segments.PROVEN;
  }

  /** The pins of all segments; for tests. */
  long pins() {
    return items.segments.pins();
  }

  /** The bytes of all records, those of reservations included; for tests. */
  long liveBytes() {
    return items.segments.liveBytes();
  }

  /**
   * Gives the memory back. Must not be called while requests are under way, nor the store be used
   * afterwards.
   */
  @Override
  public void close() {
    arena.close();
  }
}
