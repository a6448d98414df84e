package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/** Hears of items that were evicted while they were still valid. */
@FunctionalInterface
public interface EvictionListener {
  /**
   * Called while others that need room wait: must return soon, and must not use the store. One that
   * throws is not called again.
   *
   * @param item what it was; its value cannot be had any more
   */
  void evicted(MemorySegment key, Item item);
}
