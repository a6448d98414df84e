package dev.evergreen.store;

/** What all changes of items have in common. */
final class Linker {
  private final Items items;
  private final Index index;
  private final Records records;
  private final Allocator allocator;

  Linker(Items items, Allocator allocator) {
    this.items = items;
    this.index = items.index;
    this.records = items.records;
    this.allocator = allocator;
  }

  /** The place of the item in the slot if it is alive, else 0. */
  long alive(long slot, int now) {
    return slot != 0 && items.isAlive(index.place(slot), now) ? index.place(slot) : 0;
  }

  /** Whether the item has the CAS number that the change asks for, if it asks. */
  boolean matches(Change change, long old) {
    return !change.compares || (change.expectedCas == records.cas(old) && change.expectedCas != 0);
  }

  /**
   * Whether the item that was found earlier, and pinned if there was one, still has that value, and
   * the CAS number that the change asks for: a delete may give it another one where it is.
   */
  boolean isStill(long then, long old, Change change) {
    return old == then && (old == 0 || matches(change, old));
  }

  /** The CAS number of an item that had another one, 0 if it is new. */
  long newCas(Change change, long former) {
    return change.setsCas ? items.life.chosenCas(change.newCas) : items.life.nextCas(former);
  }

  int frequency(long old) {
    return old == 0 ? 0 : records.bits(old) & Records.FREQUENCY;
  }

  /**
   * Links a stamped record, in place of what is in the slot, dead or alive; false if the index has
   * no room for it.
   */
  boolean link(long bucket, long slot, long old, long hash, long place, Item item) {
    if (slot != 0 && old == 0) {
      items.countReclaimed(index.place(slot));
    }
    boolean linked = items.link(bucket, slot, hash, place);
    if (linked) {
      item.loadWithoutValue(items, place);
    }
    return linked;
  }

  /** What is done to a pinned record without the lock: it was linked, or is given back. */
  void settle(boolean linked, long place) {
    if (linked) {
      allocator.publish(place);
      index.grow();
    } else {
      allocator.abandon(place);
    }
  }
}
