package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Finds items by their keys: a hash table that grows by one bucket at a time (Litwin's linear
 * hashing), so that nobody ever waits for it to grow.
 *
 * <p>A bucket is a cache line: a header and seven slots. The header holds a lock bit, a version,
 * and the number of the bucket that the chain goes on with. A slot holds 16 bits of the hash and
 * the place of a record; 0 is an empty one.
 *
 * <p><b>Locking.</b> Who changes a chain, or an item in it, holds its first bucket's lock for a
 * moment: never while allocating, cleaning or waiting for anything. Unlocking after a change raises
 * the version. Readers take no lock: they read the header, then what they want, then the header
 * again, and start over if it differs (a sequence lock). Since a record is moved, overwritten or
 * unlinked under the lock only, and its memory is used again only after that, an unchanged header
 * proves that all that was read in between was the item's. What they read otherwise is garbage, but
 * never outside of the memory: see {@link #find}.
 *
 * <p>Invariants: a slot whose hash maps to bucket b is in b's chain. Removing leaves a hole and
 * moves nothing. Only a bucket's lock holder may split it, one at a time.
 */
final class Index {
  private static final VarHandle LONG = JAVA_LONG.varHandle();

  static final int BUCKET = 64;
  private static final int SLOT = 8;

  private static final long LOCK = 1;
  private static final long VERSION = 2;
  private static final int NEXT = 36;
  private static final long VERSIONS = (1L << NEXT) - VERSION;

  private static final int TAG = 48;
  private static final long PLACE = (1L << TAG) - 1;

  static final int ITEMS_PER_BUCKET = 5;
  private static final int LONGEST_CHAIN = 10_000;

  /** As many as a header has bits for. */
  private static final long MOST_CHAINED = (1L << (Long.SIZE - NEXT)) - 1;

  /** More than a split needs, whoever else needs some meanwhile. */
  private static final int CHAINED_FOR_SPLIT = 1024;

  private static final int SPINS = 64;

  private final MemorySegment table;
  private final Records records;
  private final Hash hash;
  private final long mostBuckets;
  private final AtomicBoolean splitting = new AtomicBoolean();
  private final AtomicLong items = new AtomicLong();
  private volatile long buckets = 1024;

  // Guarded by this: chained buckets, kept behind the table.
  private long chained;
  private long freeChained;
  private volatile long chainedInUse;

  /** An index that grows well up to the given number of items, and slower than that beyond. */
  Index(long mostItems, Records records, Hash hash, Arena arena) {
    mostBuckets = Math.max(buckets, mostItems / ITEMS_PER_BUCKET);
    table = Memory.reserve(2 * mostBuckets * BUCKET, arena);
    this.records = records;
    this.hash = hash;
  }

  /** The bytes of the table that are in use. */
  synchronized long bytes() {
    return (buckets + chained) * BUCKET;
  }

  long items() {
    return items.get();
  }

  long buckets() {
    return buckets;
  }

  /** The bucket of the hash, as an offset into the table, at this moment. */
  long bucketOf(long hash) {
    long count = buckets;
    long half = Long.highestOneBit(count);
    long number = hash & (2 * half - 1);
    return (number < count ? number : number & (half - 1)) * BUCKET;
  }

  // Reading without the lock

  /** The bucket's header, when it is not locked. */
  long header(long bucket) {
    for (int i = 0; ; i++) {
      long header = (long) LONG.getAcquire(table, bucket);
      if ((header & LOCK) == 0) {
        return header;
      }
      pause(i);
    }
  }

  /** Whether nothing in the bucket changed since the header was read. */
  boolean isUnchanged(long bucket, long header) {
    VarHandle.loadLoadFence();
    return (long) LONG.getOpaque(table, bucket) == header;
  }

  /** Locks the bucket if nothing in it changed since the header was read. */
  boolean tryLock(long bucket, long header) {
    boolean locked = LONG.compareAndSet(table, bucket, header, header | LOCK);
    // No reader may see a change before the lock.
    VarHandle.storeStoreFence();
    return locked;
  }

  // Locking

  /** Locks the bucket of the hash and returns it. */
  long lock(long hash) {
    for (int i = 0; ; i++) {
      long bucket = bucketOf(hash);
      long header = (long) LONG.getOpaque(table, bucket);
      if ((header & LOCK) == 0 && tryLock(bucket, header)) {
        if (bucketOf(hash) == bucket) {
          return bucket;
        }
        unlock(bucket);
      } else {
        pause(i);
      }
    }
  }

  void lockBucket(long bucket) {
    for (int i = 0; !tryLock(bucket, (long) LONG.getOpaque(table, bucket) & ~LOCK); i++) {
      pause(i);
    }
  }

  /** Unlocks a bucket in which nothing changed that readers must see as one. */
  void unlock(long bucket) {
    LONG.setRelease(table, bucket, (long) LONG.get(table, bucket) & ~LOCK);
  }

  /** Unlocks a bucket in which something changed, and tells so to readers that are in it. */
  void unlockChanged(long bucket) {
    long header = (long) LONG.get(table, bucket);
    LONG.setRelease(table, bucket, (header & ~(VERSIONS | LOCK)) | ((header + VERSION) & VERSIONS));
  }

  /**
   * The holder of a lock runs for a moment only, unless the system took its processor: then give up
   * ours.
   */
  // Not relied on: without it one spins, which is right as well.
  @SuppressWarnings("ThreadPriorityCheck")
  private static void pause(int attempt) {
    if (attempt % SPINS == SPINS - 1) {
      Thread.yield();
    } else {
      Thread.onSpinWait();
    }
  }

  // Chains: under the lock, but for find

  /**
   * The slot of the key's item, or 0. Without the lock the answer may be wrong in any way unless
   * the header is unchanged afterwards; even then all that is read lies in mapped memory, because
   * every slot ever written held a place of a record, and behind the last one there is room for the
   * longest key.
   */
  long find(long bucket, Key key) {
    long tag = tag(key.hash);
    long chain = bucket;
    for (int i = 0; i < LONGEST_CHAIN; i++) {
      for (long slot = chain + SLOT; slot < chain + BUCKET; slot += SLOT) {
        long content = table.get(JAVA_LONG, slot);
        if (content != 0 && content >>> TAG == tag && records.hasKey(content & PLACE, key)) {
          return slot;
        }
      }
      chain = next(chain);
      if (chain == 0) {
        return 0;
      }
    }
    return 0;
  }

  /** The slot that holds the record, or 0. */
  long findPlace(long bucket, long hash, long place) {
    long content = (tag(hash) << TAG) | place;
    for (long chain = bucket; ; ) {
      for (long slot = chain + SLOT; slot < chain + BUCKET; slot += SLOT) {
        if (table.get(JAVA_LONG, slot) == content) {
          return slot;
        }
      }
      chain = next(chain);
      if (chain == 0) {
        return 0;
      }
    }
  }

  /** The slot of the item that the fragment belongs to, or 0. */
  long findOwner(long bucket, long hash, long fragment, int number) {
    long tag = tag(hash);
    for (long chain = bucket; ; ) {
      for (long slot = chain + SLOT; slot < chain + BUCKET; slot += SLOT) {
        long content = table.get(JAVA_LONG, slot);
        if (content != 0 && content >>> TAG == tag && owns(content & PLACE, fragment, number)) {
          return slot;
        }
      }
      chain = next(chain);
      if (chain == 0) {
        return 0;
      }
    }
  }

  private boolean owns(long place, long fragment, int number) {
    return records.isLarge(place)
        && number < records.fragments(records.valueLength(place))
        && records.fragment(place, number) == fragment;
  }

  /** The place of the record in the slot, 0 if the slot is empty. */
  long place(long slot) {
    return table.get(JAVA_LONG, slot) & PLACE;
  }

  /** Puts an item into the bucket; false, and nothing is done, if there is no room for it. */
  boolean insert(long bucket, long hash, long place) {
    boolean inserted = put(bucket, (tag(hash) << TAG) | place);
    if (inserted) {
      items.getAndIncrement();
    }
    return inserted;
  }

  private boolean put(long bucket, long content) {
    for (long chain = bucket; ; ) {
      for (long slot = chain + SLOT; slot < chain + BUCKET; slot += SLOT) {
        if (table.get(JAVA_LONG, slot) == 0) {
          table.set(JAVA_LONG, slot, content);
          return true;
        }
      }
      long next = next(chain);
      if (next == 0) {
        next = append(chain);
      }
      if (next == 0) {
        return false;
      }
      chain = next;
    }
  }

  void replace(long slot, long place) {
    table.set(JAVA_LONG, slot, (table.get(JAVA_LONG, slot) & ~PLACE) | place);
  }

  void remove(long slot) {
    table.set(JAVA_LONG, slot, 0);
    items.getAndDecrement();
  }

  /** The slot after this one in its chain, the first one after the bucket itself; 0 at the end. */
  long nextSlot(long slot) {
    long following = slot + SLOT;
    if (following % BUCKET != 0) {
      return following;
    }
    long next = next(slot & -BUCKET);
    return next == 0 ? 0 : next + SLOT;
  }

  private static long tag(long hash) {
    return hash >>> TAG;
  }

  private long next(long chain) {
    long number = table.get(JAVA_LONG, chain) >>> NEXT;
    // Masked, because a reader without the lock may see anything.
    return number == 0 ? 0 : (mostBuckets + Math.min(number, mostBuckets) - 1) * BUCKET;
  }

  private void next(long chain, long next) {
    long number = next == 0 ? 0 : next / BUCKET - mostBuckets + 1;
    long header = table.get(JAVA_LONG, chain);
    table.set(JAVA_LONG, chain, (number << NEXT) | (header & ((1L << NEXT) - 1)));
  }

  /** Chains one more bucket, empty; 0 if there is none. */
  private synchronized long append(long chain) {
    long fresh = freeChained;
    if (fresh != 0) {
      freeChained = next(fresh);
      next(fresh, 0);
    } else if (chained < mostChained()) {
      fresh = (mostBuckets + chained++) * BUCKET;
    } else {
      return 0;
    }
    chainedInUse++;
    next(chain, fresh);
    return fresh;
  }

  private synchronized void recycle(long chain) {
    next(chain, freeChained);
    freeChained = chain;
    chainedInUse--;
  }

  private long mostChained() {
    return Math.min(mostBuckets, MOST_CHAINED);
  }

  /** Whether what is split must not fail for want of a chained bucket. */
  private boolean maySplit() {
    return buckets < mostBuckets && mostChained() - chainedInUse >= CHAINED_FOR_SPLIT;
  }

  // Growing

  /** Adds a bucket if there are many items for those that there are. Holds no lock when called. */
  void grow() {
    while (items.get() > buckets * ITEMS_PER_BUCKET && maySplit()) {
      if (!splitting.compareAndSet(false, true)) {
        return;
      }
      try {
        split();
      } finally {
        splitting.set(false);
      }
    }
  }

  /** Divides the items of one bucket between it and a new one. */
  private void split() {
    long count = buckets;
    long half = Long.highestOneBit(count);
    long from = (count - half) * BUCKET;
    long to = count * BUCKET;
    lockBucket(from);
    lockBucket(to);
    for (long slot = from + SLOT; slot != 0; slot = nextSlot(slot)) {
      long content = table.get(JAVA_LONG, slot);
      if (content != 0 && (hashOf(content & PLACE) & (2 * half - 1)) == count) {
        move(content, to);
        table.set(JAVA_LONG, slot, 0);
      }
    }
    shorten(from);
    buckets = count + 1;
    unlockChanged(to);
    unlockChanged(from);
  }

  /**
   * Moves what is in chained buckets to the holes before them, and frees those that become empty.
   */
  private void shorten(long bucket) {
    long chain = next(bucket);
    next(bucket, 0);
    while (chain != 0) {
      for (long slot = chain + SLOT; slot < chain + BUCKET; slot += SLOT) {
        long content = table.get(JAVA_LONG, slot);
        if (content != 0) {
          table.set(JAVA_LONG, slot, 0);
          move(content, bucket);
        }
      }
      long next = next(chain);
      recycle(chain);
      chain = next;
    }
  }

  private void move(long content, long bucket) {
    if (!put(bucket, content)) {
      throw new IllegalStateException("there were chained buckets for that");
    }
  }

  private long hashOf(long place) {
    return hash.of(records.memory, Records.keyAt(place), records.keyLength(place));
  }
}
