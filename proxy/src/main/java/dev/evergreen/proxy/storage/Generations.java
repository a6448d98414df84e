package dev.evergreen.proxy.storage;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How often objects were replaced, in some ten thousand counters that objects share by their
 * hashes. Who copies an object from one tier to the other looks before and afterwards: if it was
 * replaced meanwhile, perhaps by one that is gone already, the copy is taken back. Sharing costs a
 * copy that need not have been taken back.
 */
final class Generations {
  private final AtomicLongArray counters = new AtomicLongArray(1 << 16);

  private int slot(long hash) {
    return (int) (hash >>> 20) & (counters.length() - 1);
  }

  long get(long hash) {
    return counters.get(slot(hash));
  }

  /** To be called after the new object is in its tier, and before the old one leaves the other. */
  void replaced(long hash) {
    counters.incrementAndGet(slot(hash));
  }
}
