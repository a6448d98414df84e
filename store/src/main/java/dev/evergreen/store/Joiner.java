package dev.evergreen.store;

import org.jspecify.annotations.Nullable;

/**
 * Appends and prepends: makes a record for the joined value without the lock, and links it if
 * nothing in the bucket has changed. The item's CAS number would not tell that: clients may choose
 * it, and items may have none. A large old value is pinned and copied without the lock; a small one
 * is copied when the record is linked.
 */
final class Joiner {
  /** Writes what is joined into a value, from an offset on. */
  interface Piece {
    void write(long place, int offset);
  }

  private final Items items;
  private final Records records;
  private final Index index;
  private final Allocator allocator;
  private final Linker linker;

  Joiner(Items items, Allocator allocator, Linker linker) {
    this.items = items;
    this.records = items.records;
    this.index = items.index;
    this.allocator = allocator;
    this.linker = linker;
  }

  Outcome join(Key key, Piece piece, int length, Change change, Item item) {
    @Nullable Outcome outcome = null;
    while (outcome == null) {
      outcome = tryToJoin(key, piece, length, change, item);
    }
    return outcome;
  }

  /** Null if the item changed meanwhile. */
  private @Nullable Outcome tryToJoin(Key key, Piece piece, int length, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long old = linker.alive(index.find(bucket, key), now);
    var outcome = admit(key, old, length, change);
    if (outcome != Outcome.STORED) {
      index.unlock(bucket);
      return outcome;
    }
    int oldLength = old == 0 ? 0 : records.valueLength(old);
    long header = index.unlockedHeader(bucket);
    boolean large = old != 0 && records.isLarge(old);
    int queue = old == 0 ? Segments.NEW : items.segments.queueOf(old);
    if (large) {
      items.pin(old);
    }
    index.unlock(bucket);
    long place = allocator.create(key, oldLength + length, queue);
    if (place >= 0) {
      piece.write(place, appends(change) ? oldLength : 0);
    }
    if (large) {
      if (place >= 0) {
        records.copyValue(old, place, appends(change) ? 0 : length);
      }
      items.unpin(old);
    }
    return place < 0 ? Outcome.OUT_OF_MEMORY : link(key, place, bucket, header, old, change, item);
  }

  private Outcome admit(Key key, long old, int length, Change change) {
    if (old == 0) {
      return change.vivifies ? Outcome.STORED : Outcome.NOT_STORED;
    }
    if (!linker.matches(change, old)) {
      return Outcome.EXISTS;
    }
    boolean fits = items.takes(key.length, (long) records.valueLength(old) + length);
    return fits ? Outcome.STORED : Outcome.TOO_LARGE;
  }

  private static boolean appends(Change change) {
    return change.mode == Mode.APPEND;
  }

  /** Links the joined record if the item is as it was when its bucket was looked at, else null. */
  private @Nullable Outcome link(
      Key key, long place, long bucketThen, long header, long oldThen, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    long old = linker.alive(slot, now);
    boolean same = bucket == bucketThen && index.unlockedHeader(bucket) == header && old == oldThen;
    if (same) {
      if (old != 0 && !records.isLarge(old)) {
        int at = appends(change) ? 0 : records.valueLength(place) - records.valueLength(old);
        records.copyValue(old, place, at);
      }
      long cas = old == 0 ? 0 : records.cas(old);
      int flags = old == 0 ? change.flags : records.flags(old);
      int expiry = old == 0 ? change.vivifiedExpiry : records.expiry(old);
      items.stamp(place, flags, expiry, linker.frequency(old), linker.newCas(change, cas), now);
      linker.link(bucket, slot, old, key.hash, place, item);
    }
    index.unlockChanged(bucket);
    linker.settle(same, place);
    return same ? Outcome.STORED : null;
  }
}
