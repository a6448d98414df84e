package dev.evergreen.proxy.storage;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Of which URIs responses are being asked for, or received, by the hashes of their keys; and when
 * that was asked for which is stored meanwhile, so that what was asked for earlier, and comes
 * later, does not take its place. Any thread may call.
 */
final class UnderWay {
  /** Of more objects of one URI, of the older half nobody tells apart when each was asked for. */
  private static final int MOST = 64;

  private static final class Uri {
    /** How many ask or receive; changed by the map's own operations only. */
    int number;

    final ReentrantLock lock = new ReentrantLock();

    // Guarded by the lock.
    private final Map<Long, Long> stored = new HashMap<>(4);
    private long floor;

    boolean hasLater(long hash, long stamp) {
      return stamp < Math.max(floor, stored.getOrDefault(hash, 0L));
    }

    boolean note(long hash, long stamp) {
      if (stored.size() == MOST && !stored.containsKey(hash)) {
        forgetOlderHalf();
      }
      stored.put(hash, stamp);
      return true;
    }

    /** So who has asked lately may store what it gets, though there are many objects. */
    private void forgetOlderHalf() {
      floor = stored.values().stream().sorted().skip(MOST / 2).findFirst().orElse(floor);
      stored.values().removeIf(each -> each <= floor);
    }
  }

  private final ConcurrentHashMap<Long, Uri> uris = new ConcurrentHashMap<>();

  void begin(long uri) {
    uris.compute(
        uri,
        (_, present) -> {
          var asked = present == null ? new Uri() : present;
          asked.number++;
          return asked;
        });
  }

  void end(long uri) {
    uris.computeIfPresent(uri, (_, asked) -> --asked.number == 0 ? null : asked);
  }

  boolean has(long uri) {
    return uris.containsKey(uri);
  }

  /**
   * Stores an object, unless one with the same hash is stored that was asked for later. Who asks is
   * under way from before it has its stamp until it has stored: so what is of importance to it is
   * noted as long as that matters.
   *
   * @param storing stores it, and says whether it has; waits for nothing
   * @return whether it is stored
   */
  boolean store(long uri, long hash, long stamp, BooleanSupplier storing) {
    var asked = uris.get(uri);
    if (asked == null) {
      return storing.getAsBoolean(); // Nobody has asked for anything that is still to come.
    }
    asked.lock.lock();
    try {
      return !asked.hasLater(hash, stamp) && storing.getAsBoolean() && asked.note(hash, stamp);
    } finally {
      asked.lock.unlock();
    }
  }

  /** Whether an object was asked for after a stamp, and stored while others are under way. */
  boolean hasLater(long uri, long hash, long stamp) {
    var asked = uris.get(uri);
    if (asked == null) {
      return false;
    }
    asked.lock.lock();
    try {
      return asked.hasLater(hash, stamp);
    } finally {
      asked.lock.unlock();
    }
  }
}
