package dev.evergreen.proxy.storage;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Remembers which objects were stored lately, by 32 bits of their hashes. Newer ones overwrite
 * older ones; a wrong answer costs a write to disk at most.
 */
final class Sightings {
  private final AtomicIntegerArray seen = new AtomicIntegerArray(1 << 18);

  /** Whether the object was sighted before; it is from now on. */
  boolean again(long hash) {
    int at = (int) hash & (seen.length() - 1);
    int fingerprint = (int) (hash >>> 32) | 1;
    return seen.getAndSet(at, fingerprint) == fingerprint;
  }
}
