package dev.evergreen.store;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Goes through all items in small steps while others change them. An item that is there during the
 * whole walk is met, usually once; twice if the index grew and moved it. Belongs to one caller; not
 * safe for several threads.
 *
 * <p>A bucket is read as a whole under its lock, and its items are shown afterwards: when the index
 * grows, what is left of a chain moves up in it.
 */
public final class Walker {
  /** Sees one item. */
  @FunctionalInterface
  public interface Visitor {
    /** Called without any lock; key and item are valid during the call. */
    void visit(MemorySegment key, Item item);
  }

  private final Items items;
  private final List<Picture> pictures = new ArrayList<>();
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
    for (int i = 0; i < buckets && hasMore(); i++) {
      int count = readBucket();
      for (var picture : pictures.subList(0, count)) {
        visitor.visit(picture.key.asSlice(0, picture.item.keyLength()), picture.item);
      }
      bucket += Index.BUCKET;
    }
    return hasMore();
  }

  private boolean hasMore() {
    return bucket < items.index.buckets() * Index.BUCKET;
  }

  /** Takes pictures of the bucket's items; returns how many. */
  private int readBucket() {
    int now = items.life.now();
    int count = 0;
    var index = items.index;
    index.lockBucket(bucket);
    try {
      for (long slot = index.nextSlot(bucket); slot != 0; slot = index.nextSlot(slot)) {
        long place = index.place(slot);
        if (place != 0 && items.isAlive(place, now)) {
          if (count == pictures.size()) {
            pictures.add(new Picture());
          }
          pictures.get(count++).take(items, place);
        }
      }
    } finally {
      index.unlock(bucket);
    }
    return count;
  }

  /** An item and its key, as they were when their bucket was read. */
  private static final class Picture {
    final MemorySegment key = MemorySegment.ofArray(new byte[Key.MAX_LENGTH]);
    final Item item = new Item();

    void take(Items items, long place) {
      item.loadWithoutValue(items, place);
      MemorySegment.copy(items.records.memory, Records.keyAt(place), key, 0, item.keyLength());
    }
  }
}
