package dev.evergreen.store;

import org.jspecify.annotations.Nullable;

/**
 * Appends and prepends: makes a record for the joined value without the lock, and links it if the
 * item's record is still the same one. That is pinned meanwhile, so that it stays where it is, its
 * value is not overwritten, and no other record can come to its place. The item's CAS number would
 * not tell a change: clients may choose it, and items may have none.
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
    int queue = old == 0 ? Segments.NEW : items.segments.queueOf(old);
    if (old != 0) {
      items.pin(old);
    }
    index.unlock(bucket);
    try {
      long place = allocator.create(key, oldLength + length, queue);
      if (place < 0) {
        return Outcome.OUT_OF_MEMORY;
      }
      piece.write(place, appends(change) ? oldLength : 0);
      if (old != 0) {
        records.copyValue(old, place, appends(change) ? 0 : length);
      }
      return link(key, place, old, change, item);
    } finally {
      if (old != 0) {
        items.unpin(old);
      }
    }
  }

  private Outcome admit(Key key, long old, int length, Change change) {
    if (old == 0) {
      return change.vivifies ? Outcome.STORED : Outcome.NOT_STORED;
    }
    if (!linker.matches(change, old)) {
      return Outcome.EXISTS;
    }
    long joined = (long) records.valueLength(old) + length;
    boolean fits = items.takes(key.length, joined, records.flags(old));
    return fits ? Outcome.STORED : Outcome.TOO_LARGE;
  }

  private static boolean appends(Change change) {
    return change.mode == Mode.APPEND;
  }

  /** Links the joined record if the item has the value that it had then, else null. */
  private @Nullable Outcome link(Key key, long place, long oldThen, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    long old = linker.alive(slot, now);
    boolean same = linker.isStill(oldThen, old, change);
    boolean linked = false;
    if (same) {
      long cas = old == 0 ? 0 : records.cas(old);
      int flags = old == 0 ? change.flags : records.flags(old);
      int expiry = old == 0 ? change.vivifiedExpiry : records.expiry(old);
      items.stamp(
          place, old, flags, expiry, linker.frequency(old), linker.newCas(change, cas), now);
      linked = linker.link(bucket, slot, old, key.hash, place, item);
      index.unlockChanged(bucket);
    } else {
      index.unlock(bucket);
    }
    linker.settle(linked, place);
    return linked ? Outcome.STORED : same ? Outcome.OUT_OF_MEMORY : null;
  }
}
