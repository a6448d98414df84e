package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/** Hears of items that were evicted while they were still valid. */
@FunctionalInterface
public interface EvictionListener {
  /**
   * Called while the item is locked: must return soon, and must neither use the store nor keep the
   * key's bytes. One that throws is not called again.
   *
   * @param item what it was; its value cannot be had any more
   */
  void evicted(MemorySegment key, Item item);
}
