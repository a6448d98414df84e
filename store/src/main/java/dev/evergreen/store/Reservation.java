package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/**
 * Memory of the store for a value that is still being received. It is filled from its beginning to
 * its end, and then committed or abandoned; until then it takes part in what may be held. Belongs
 * to one caller; not safe for several threads.
 */
public final class Reservation implements AutoCloseable {
  private final Store store;
  private final Items items;
  private final Allocator allocator;
  private final long place;
  private final boolean holds;
  private final int length;
  private int filled;
  private boolean settled;

  Reservation(Store store, Items items, Allocator allocator, long place, boolean holds) {
    this.store = store;
    this.items = items;
    this.allocator = allocator;
    this.place = place;
    this.holds = holds;
    this.length = items.records.valueLength(place);
  }

  /** How many bytes are still missing. */
  public int missing() {
    return length - filled;
  }

  /**
   * Memory for the bytes that come next, not empty unless none is {@link #missing}; valid until
   * commit or abandon.
   */
  public MemorySegment next() {
    checkOpen();
    if (missing() == 0) {
      return MemorySegment.NULL;
    }
    var records = items.records;
    return records.memory.asSlice(
        records.valueAt(place, filled), records.contiguous(place, filled));
  }

  /** Says that so many bytes were written to {@link #next}. */
  public void filled(int bytes) {
    if (bytes < 0 || bytes > missing()) {
      throw new IllegalArgumentException(
          bytes + " bytes were filled, but only " + missing() + " missing");
    }
    filled += bytes;
  }

  /** Copies the bytes that come next. */
  public void fill(MemorySegment source, long from, int bytes) {
    checkOpen();
    int at = filled;
    filled(bytes);
    items.records.write(place, at, source, from, bytes);
  }

  /**
   * Stores the value as {@link Store#store} does, and ends the reservation, whatever comes of it.
   *
   * @throws IllegalStateException if bytes are missing
   */
  public Outcome commit(Change change, Item item) {
    checkOpen();
    if (missing() > 0) {
      throw new IllegalStateException(missing() + " bytes of the value are missing");
    }
    settled = true;
    letGo();
    return store.commit(place, change, item);
  }

  /** Gives the memory back, unless the reservation was committed. */
  @Override
  public void close() {
    if (!settled) {
      settled = true;
      letGo();
      allocator.abandon(place);
    }
  }

  private void letGo() {
    if (holds) {
      items.letGo(place);
    }
  }

  private void checkOpen() {
    if (settled) {
      throw new IllegalStateException("the reservation was committed or closed");
    }
  }
}
