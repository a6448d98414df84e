package dev.evergreen.proxy;

import dev.evergreen.store.Hash;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Remembers a moment for each of many names, in a fixed space: by a hash of the name, so that long
 * ones take no more than short ones. A newer name may take an older one's place, so that is
 * forgotten then. Any thread may call.
 */
final class Moments {
  private static final int PLACES = 1 << 16;

  /**
   * A moment is kept in units of this many milliseconds, in 32 bits: for a year to come or past.
   */
  private static final int UNIT_BITS = 4;

  private final Hash hash = Hash.random();

  /** Half of a hash, which is never 0, and a moment. */
  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  /** Remembers a name's moment, in milliseconds; instead of its former one. */
  void put(String name, long millis) {
    long of = hash(name);
    places.set(place(of), half(of) | ((millis >>> UNIT_BITS) & 0xffffffffL));
  }

  /**
   * How many milliseconds after now a name's moment is, to within 16; negative if it is past. Empty
   * if none is remembered.
   */
  OptionalLong after(String name, long now) {
    long of = hash(name);
    long there = places.get(place(of));
    if ((there & ~0xffffffffL) != half(of)) {
      return OptionalLong.empty();
    }
    int units = (int) there - (int) (now >>> UNIT_BITS);
    return OptionalLong.of((long) units << UNIT_BITS);
  }

  private long hash(String name) {
    var bytes = Proxy.segment(name);
    return hash.of(bytes, 0, (int) bytes.byteSize());
  }

  private static int place(long hash) {
    return (int) hash & (PLACES - 1);
  }

  private static long half(long hash) {
    return (hash | 1L << 32) & ~0xffffffffL;
  }
}
