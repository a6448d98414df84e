package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/**
 * Goes through all items in small steps while others change them. An item that is there during the
 * whole walk is met, usually once; twice if the index grew and moved it. Belongs to one caller; not
 * safe for several threads.
 */
public final class Walker {
  /** Sees one item. */
  @FunctionalInterface
  public interface Visitor {
    /** Called without any lock; key and item are valid during the call. */
    void visit(MemorySegment key, Item item);
  }

  private final Items items;
  private final MemorySegment key = MemorySegment.ofArray(new byte[Key.MAX_LENGTH]);
  private final Item item = new Item();
  private long bucket;

  Walker(Items items) {
    this.items = items;
  }

  /**
   * Visits the items of some buckets, about five in each.
   *
   * @return whether there are more
   */
  public boolean step(int buckets, Visitor visitor) {
    var index = items.index;
    for (int i = 0; i < buckets && bucket < index.buckets() * Index.BUCKET; i++) {
      for (long slot = index.nextSlot(bucket); slot != 0; ) {
        index.lockBucket(bucket);
        boolean found = read(index.place(slot));
        slot = index.nextSlot(slot);
        index.unlock(bucket);
        if (found) {
          visitor.visit(key.asSlice(0, item.keyLength()), item);
        }
      }
      bucket += Index.BUCKET;
    }
    return bucket < index.buckets() * Index.BUCKET;
  }

  private boolean read(long place) {
    if (place == 0 || !items.isAlive(place, items.life.now())) {
      return false;
    }
    item.loadWithoutValue(items, place);
    MemorySegment.copy(items.records.memory, Records.keyAt(place), key, 0, item.keyLength());
    return true;
  }
}
