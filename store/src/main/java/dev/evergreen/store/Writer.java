package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/**
 * Stores values. It looks at the item under its bucket's lock and writes the value there if the
 * record can stay. Otherwise it makes a new record without the lock, which may take a while, and
 * links it if the change is still admitted.
 */
final class Writer {
  /** Values up to this are overwritten where they are, while readers wait. */
  private static final int LONGEST_OVERWRITE = 4096;

  private final Items items;
  private final Records records;
  private final Index index;
  private final Allocator allocator;
  private final Linker linker;

  Writer(Items items, Allocator allocator, Linker linker) {
    this.items = items;
    this.records = items.records;
    this.index = items.index;
    this.allocator = allocator;
    this.linker = linker;
  }

  Outcome store(Key key, MemorySegment source, long from, int length, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long old = linker.alive(index.find(bucket, key), now);
    var outcome = admit(change, old);
    if (outcome == Outcome.STORED && old != 0 && canOverwrite(old, key.length, length)) {
      records.valueLength(old, length);
      records.write(old, 0, source, from, length);
      stamp(old, old, change, now);
      items.overwritten(old);
      item.loadWithoutValue(items, old);
      index.unlockChanged(bucket);
      return outcome;
    }
    noteRefusal(outcome, old, now);
    int queue = old == 0 ? -1 : items.segments.queueOf(old);
    index.unlock(bucket);
    if (outcome != Outcome.STORED) {
      return outcome;
    }
    long place = allocator.create(key, length, queue < 0 ? items.queueFor(key.hash) : queue);
    if (place < 0) {
      return Outcome.OUT_OF_MEMORY;
    }
    records.write(place, 0, source, from, length);
    return link(key, place, change, item);
  }

  /** Links a record that holds the value already, or gives it back. */
  Outcome link(Key key, long place, Change change, Item item) {
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    long old = linker.alive(slot, now);
    var outcome = admit(change, old);
    if (outcome == Outcome.STORED) {
      stamp(place, old, change, now);
      if (!linker.link(bucket, slot, old, key.hash, place, item)) {
        outcome = Outcome.OUT_OF_MEMORY;
      }
    } else {
      noteRefusal(outcome, old, now);
    }
    index.unlockChanged(bucket);
    linker.settle(outcome == Outcome.STORED, place);
    return outcome;
  }

  /** Whether the change may be made to the item at the place, 0 if there is none. */
  private Outcome admit(Change change, long old) {
    if (change.mode == Mode.ADD) {
      return old == 0 ? Outcome.STORED : Outcome.NOT_STORED;
    }
    if (old != 0) {
      boolean admitted = linker.matches(change, old) || isOutdated(change, records.cas(old));
      return admitted ? Outcome.STORED : Outcome.EXISTS;
    }
    if (change.compares) {
      return Outcome.NOT_FOUND;
    }
    return change.mode == Mode.SET ? Outcome.STORED : Outcome.NOT_STORED;
  }

  /** Whether the value comes late, but is better than none: it is stored, and stale. */
  private static boolean isOutdated(Change change, long cas) {
    return change.compares
        && change.invalidates
        && change.expectedCas != 0
        && Long.compareUnsigned(change.expectedCas, cas) < 0;
  }

  private boolean canOverwrite(long old, int keyLength, int length) {
    return length <= LONGEST_OVERWRITE
        && !items.isHeld(old)
        && !records.isLarge(old)
        && !records.isLargeSize(keyLength, length)
        && records.headSize(keyLength, length) == records.size(old);
  }

  /** An add that meets an item counts as a use of it. */
  private void noteRefusal(Outcome outcome, long old, int now) {
    if (outcome == Outcome.NOT_STORED && old != 0) {
      records.lastAccess(old, now);
    }
  }

  /** Completes the record that replaces the item, which may be its own. */
  private void stamp(long place, long old, Change change, int now) {
    long former = old == 0 ? 0 : records.cas(old);
    long cas = linker.newCas(change, former);
    int bits = linker.frequency(old) | change.bits();
    int expiry = change.expiry;
    if (old != 0 && isOutdated(change, former)) {
      bits |= Records.STALE | (records.bits(old) & Records.WON);
      expiry = records.expiry(old);
    }
    items.stamp(place, old, change.flags, expiry, bits, cas, now);
  }
}
