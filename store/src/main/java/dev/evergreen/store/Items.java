package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What is done to linked items, all of it under the lock of the item's bucket, and the parts that
 * it is done with.
 *
 * <p>Invariant: the counted bytes are the sizes of all linked items, and those counted as proven
 * are what of them is in proven segments; no record of a linked item is killed.
 */
final class Items {
  private static final System.Logger LOG = System.getLogger(Store.class.getName());
  private static final byte[] NO_KEY = {};

  final Records records;
  final Segments segments;
  final Index index;
  final Life life;
  final Hash hash = Hash.random();
  final Ghosts ghosts;
  final Counters counters = new Counters();
  final Holds holds;
  private final StoreOptions options;
  volatile @Nullable EvictionListener listener;

  // Only for who evicts: the cleaner.
  private @Nullable Item evicted;
  private byte[] evictedKey = NO_KEY;

  /** The least record there can be is a header and a key of one byte. */
  private static final int LEAST_RECORD = Records.align(Records.HEADER + 1);

  /** Behind the last record, for readers that take garbage for a record's place. */
  private static final int MARGIN = 1 << 12;

  Items(StoreOptions options, Life life, Arena arena) {
    this.options = options;
    long limit = options.limit();
    int size = Segments.sizeFor(limit);
    // Room to raise the limit later, where address space is free.
    long capacity = (Memory.isLazy() ? 4 * limit : limit) / size * size;
    records = new Records(Memory.reserve(capacity + MARGIN, arena), size);
    segments = new Segments(limit, capacity, life::now);
    index = new Index(capacity / LEAST_RECORD, records, hash, arena);
    ghosts = new Ghosts(limit);
    holds = new Holds(limit, segments.count(), segments.size);
    this.life = life;
  }

  /** Whether an item of such a size may be stored at all. */
  boolean takes(int keyLength, long valueLength, int flags) {
    return options.takes(keyLength, valueLength, flags);
  }

  long hash(Key key) {
    return hash.of(key.bytes, key.at, key.length);
  }

  boolean isAlive(long place, int now) {
    return life.isAlive(records.epoch(place), records.expiry(place), now);
  }

  /** The queue for a key that is not there. */
  int queueFor(long hash) {
    return ghosts.remove(hash) ? Segments.PROVEN : Segments.NEW;
  }

  /**
   * Completes a record that is to be linked now, in place of the item that was found alive, 0 if
   * there was none. A flush that has come since then ends the new one, too: behind it the change
   * might have been refused.
   */
  void stamp(long place, long old, int flags, int expiry, int bits, long cas, int now) {
    records.flags(place, flags);
    records.expiry(place, expiry);
    records.bits(place, (records.bits(place) & Records.LARGE) | (bits & ~Records.LARGE));
    records.cas(place, cas);
    records.epoch(place, old == 0 ? life.epoch() : records.epoch(old));
    records.lastAccess(place, now);
  }

  /**
   * Puts the record into the bucket, instead of what is in the slot if that is not 0; false, and
   * nothing is done, if the index has no room.
   */
  boolean link(long bucket, long slot, long hash, long place) {
    if (slot == 0) {
      if (!index.insert(bucket, hash, place)) {
        return false;
      }
    } else {
      long old = index.place(slot);
      index.replace(slot, place);
      forget(old);
    }
    segments.noteExpiry(segments.of(place), records.expiry(place));
    counters.totalItems.increment();
    counters.bytes.add(records.itemSize(place));
    countProven(place, 1);
    return true;
  }

  void unlink(long slot) {
    long place = index.place(slot);
    index.remove(slot);
    forget(place);
  }

  /** Notes that a linked record of the same size was overwritten by another item. */
  void overwritten(long place) {
    segments.noteExpiry(segments.of(place), records.expiry(place));
    counters.totalItems.increment();
  }

  private void forget(long place) {
    counters.bytes.add(-records.itemSize(place));
    countProven(place, -1);
    kill(place);
  }

  private void countProven(long place, int count) {
    if (segments.queueOf(place) == Segments.PROVEN) {
      counters.provenItems.add(count);
    }
  }

  /** Counts a read that found the item. */
  void countHit(long place) {
    boolean proven = segments.queueOf(place) == Segments.PROVEN;
    (proven ? counters.provenHits : counters.newHits).increment();
  }

  /** Unlinks an item that has expired or was flushed. */
  void reclaim(long slot) {
    countReclaimed(index.place(slot));
    unlink(slot);
  }

  void countReclaimed(long place) {
    counters.reclaimed.increment();
    if ((records.bits(place) & Records.FETCHED) == 0) {
      counters.expiredUnfetched.increment();
    }
  }

  /** Unlinks an item to make room. */
  void evict(long slot, long hash) {
    long place = index.place(slot);
    boolean fetched = (records.bits(place) & Records.FETCHED) != 0;
    counters.evictions.increment();
    if (!fetched) {
      counters.evictedUnfetched.increment();
    }
    if ((records.bits(place) & Records.FREQUENCY) != 0) {
      counters.evictedActive.increment();
    }
    if (records.expiry(place) != 0) {
      counters.evictedExpiring.increment();
    }
    counters.evictedIdle = Math.max(0, life.now() - records.lastAccess(place));
    ghosts.add(hash);
    if (listener != null) {
      noteEvicted(place);
    }
    unlink(slot);
  }

  /** For want of memory the listener misses one. */
  private void noteEvicted(long place) {
    try {
      var item = new Item();
      item.loadWithoutValue(this, place);
      evictedKey =
          records.memory.asSlice(Records.keyAt(place), records.keyLength(place)).toArray(JAVA_BYTE);
      evicted = item;
    } catch (OutOfMemoryError e) {
      evicted = null;
    }
  }

  /**
   * Tells the listener what was evicted last, if anything was. Holds no lock of a bucket, as that
   * may take a while or fail; and that must not end the request of another one.
   */
  void tellEvicted() {
    var item = evicted;
    var listener = this.listener;
    evicted = null;
    if (item == null || listener == null) {
      return;
    }
    try {
      listener.evicted(MemorySegment.ofArray(evictedKey), item);
    } catch (Throwable e) {
      this.listener = null;
      LOG.log(System.Logger.Level.ERROR, "an eviction listener failed; it hears no more", e);
    }
  }

  /** Whether {@link #access} would change anything. */
  static boolean isNoted(int bits, int lastAccess, int now) {
    int noted = Records.FETCHED | Records.FREQUENCY;
    return lastAccess == now && (bits & noted) == noted;
  }

  /** Notes that the item is read. */
  void access(long place, int now) {
    int bits = records.bits(place) | Records.FETCHED;
    if ((bits & Records.FREQUENCY) != Records.FREQUENCY) {
      bits++;
    }
    records.bits(place, bits);
    records.lastAccess(place, now);
  }

  void expiry(long place, int second) {
    records.expiry(place, second);
    segments.noteExpiry(segments.of(place), second);
  }

  /** Kills all records of the item. The one with the table of the others goes last. */
  void kill(long place) {
    if (records.isLarge(place)) {
      int length = records.valueLength(place);
      for (int i = 0; i < records.fragments(length); i++) {
        segments.kill(records.fragment(place, i), records.fragmentSize(length, i));
      }
    }
    segments.kill(place, records.size(place));
  }

  void pin(long place) {
    if (records.isLarge(place)) {
      for (int i = 0; i < records.fragments(records.valueLength(place)); i++) {
        segments.pin(records.fragment(place, i));
      }
    }
    segments.pin(place);
  }

  /**
   * Whether somebody may be reading the value where it is, which must then not be overwritten. Of
   * the item itself this is exact under its bucket's lock; but pins are the segment's, so that the
   * answer may also be yes because of another one.
   */
  boolean isHeld(long place) {
    return segments.isPinned(segments.of(place));
  }

  /** Takes back what {@link #pin} or allocating did. Needs no lock. */
  void unpin(long place) {
    if (records.isLarge(place)) {
      for (int i = 0; i < records.fragments(records.valueLength(place)); i++) {
        segments.unpin(records.fragment(place, i));
      }
    }
    segments.unpin(place);
  }

  /**
   * Counts the item's segments as held, those that others hold already only once. For an item that
   * is pinned, or whose bucket is locked.
   *
   * @param own what who wants it holds already
   * @return the bytes of these segments; 0 if no more may be held
   */
  long hold(long place, long own) {
    if (!records.isLarge(place)) {
      return holds.takeShare(segments.of(place), own) ? segments.size : 0;
    }
    // All at once: of two that need more than there is, one must get it, and not each a part.
    int taken = unsharedSegments(place);
    if (!holds.take((long) taken * segments.size, own)) {
      return 0;
    }
    int all = 1;
    int needed = holds.share(segments.of(place)) ? 1 : 0;
    for (int i = 0; i < records.fragments(records.valueLength(place)); i++) {
      if (isInOther(place, i)) {
        all++;
        needed += holds.share(segments.of(records.fragment(place, i))) ? 1 : 0;
      }
    }
    // More if others have let go of some since.
    holds.giveBack((long) (taken - needed) * segments.size);
    return (long) all * segments.size;
  }

  /** Takes back what {@link #hold} did; of an item that is still pinned. */
  void letGo(long place) {
    if (records.isLarge(place)) {
      for (int i = 0; i < records.fragments(records.valueLength(place)); i++) {
        if (isInOther(place, i)) {
          holds.giveBackShare(segments.of(records.fragment(place, i)));
        }
      }
    }
    holds.giveBackShare(segments.of(place));
  }

  /** How many segments of a large item nobody holds; one that is met again is counted again. */
  private int unsharedSegments(long place) {
    int count = holds.isShared(segments.of(place)) ? 0 : 1;
    for (int i = 0; i < records.fragments(records.valueLength(place)); i++) {
      if (isInOther(place, i) && !holds.isShared(segments.of(records.fragment(place, i)))) {
        count++;
      }
    }
    return count;
  }

  /**
   * Copies a part of a large value that was linked at the item's place and is no more, so that
   * nobody moves or changes it. Needs no lock.
   *
   * @return false if it was moved or changed before, or memory of it came free
   */
  boolean readUnlinked(Item item, int offset, MemorySegment target, int length) {
    long place = item.place;
    long moment = item.moment;
    synchronized (segments) { // Nothing comes free meanwhile.
      boolean there = segments.isSince(moment, place) && records.cas(place) == item.cas;
      for (int at = offset; there && at < offset + length; at += records.contiguous(place, at)) {
        there = segments.isSince(moment, records.valueAt(place, at));
      }
      if (there) {
        records.read(place, offset, target, 0, length);
      }
      return there;
    }
  }

  /** Whether a fragment lies in another segment than what is before it. */
  private boolean isInOther(long place, int fragment) {
    long before = fragment == 0 ? place : records.fragment(place, fragment - 1);
    return segments.of(records.fragment(place, fragment)) != segments.of(before);
  }
}
