package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Remembers which keys were evicted lately, by 32 bits of their hashes: a key that comes back soon
 * was worth keeping.
 *
 * <p>An array in which newer ghosts overwrite older ones. A wrong answer costs nothing but a bit of
 * hit ratio.
 */
final class Ghosts {
  /** One ghost, of four bytes, for so many bytes of memory. */
  private static final int BYTES_PER_GHOST = 256;

  private final AtomicIntegerArray ghosts;
  private final int mask;

  Ghosts(long limit) {
    int count = Math.clamp(Long.highestOneBit(limit / BYTES_PER_GHOST), 1 << 10, 1 << 28);
    ghosts = new AtomicIntegerArray(count);
    mask = count - 1;
  }

  void add(long hash) {
    ghosts.setPlain((int) hash & mask, fingerprint(hash));
  }

  /** Whether the key was evicted lately; it is forgotten then. */
  boolean remove(long hash) {
    int at = (int) hash & mask;
    if (ghosts.getPlain(at) != fingerprint(hash)) {
      return false;
    }
    ghosts.setPlain(at, 0);
    return true;
  }

  private static int fingerprint(long hash) {
    return (int) (hash >>> 32) | 1;
  }
}
