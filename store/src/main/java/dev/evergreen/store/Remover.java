package dev.evergreen.store;

/** Deletes items, or takes from them what a delete is to take. */
final class Remover {
  private final Items items;
  private final Records records;
  private final Index index;
  private final Allocator allocator;
  private final Linker linker;

  Remover(Items items, Allocator allocator, Linker linker) {
    this.items = items;
    this.records = items.records;
    this.index = items.index;
    this.allocator = allocator;
    this.linker = linker;
  }

  Outcome delete(Key key, Change change, Item item) {
    long tomb = change.empties ? allocator.create(key, 0, Segments.NEW) : 0;
    if (tomb < 0) {
      return Outcome.OUT_OF_MEMORY;
    }
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    long old = linker.alive(slot, now);
    var outcome =
        old == 0
            ? Outcome.NOT_FOUND
            : linker.matches(change, old) ? Outcome.STORED : Outcome.EXISTS;
    if (outcome == Outcome.STORED) {
      if (tomb > 0) {
        bury(bucket, slot, key.hash, tomb, change, item, now);
      } else if (change.invalidates) {
        invalidate(old, change, item);
      } else {
        item.loadWithoutValue(items, old);
        items.unlink(slot);
      }
    }
    index.unlockChanged(bucket);
    if (tomb > 0) {
      linker.settle(outcome == Outcome.STORED, tomb);
    }
    return outcome;
  }

  private void invalidate(long old, Change change, Item item) {
    records.bits(old, (records.bits(old) & ~Records.WON) | Records.STALE);
    records.cas(old, linker.newCas(change, records.cas(old)));
    if (change.touches) {
      items.expiry(old, change.expiry);
    }
    item.loadWithoutValue(items, old);
  }

  /** Leaves an item without value or client flags. */
  private void bury(
      long bucket, long slot, long hash, long tomb, Change change, Item item, int now) {
    long old = index.place(slot);
    long former = records.cas(old);
    boolean changesCas = change.setsCas || change.invalidates;
    items.stamp(
        tomb,
        old,
        0,
        change.touches ? change.expiry : 0,
        linker.frequency(old) | (change.invalidates ? Records.STALE : 0),
        changesCas ? linker.newCas(change, former) : former,
        now);
    // It takes the place of another one, so that there is room.
    boolean linked = linker.link(bucket, slot, old, hash, tomb, item);
    assert linked;
  }
}
