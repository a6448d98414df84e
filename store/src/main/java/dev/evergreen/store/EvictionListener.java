package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/** Hears of items that were evicted while they were still valid. */
@FunctionalInterface
public interface EvictionListener {
  /**
   * Called while the item is locked: must return soon, and must neither use the store nor keep the
   * bytes. One that throws is not called again.
   *
   * @param memory holds the key
   * @param keyAt where the key begins
   * @param keyLength the bytes of the key
   * @param size the bytes that the item took
   * @param fetched whether it was ever read
   */
  void evicted(MemorySegment memory, long keyAt, int keyLength, long size, boolean fetched);
}
