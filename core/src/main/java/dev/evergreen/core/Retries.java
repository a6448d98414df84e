package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * Caches that ask for their publisher again after a delay that doubles with every failure, with
 * jitter. Those that are due at about the same moment ask together, since a whole node's caches
 * lose their publishers at once.
 */
final class Retries {

  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int MAX_DOUBLINGS = 11;

  /** A delay is rounded up to a multiple of this, or of a part of itself if that is longer. */
  private static final long LEAST_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final int TICKS_IN_A_DELAY = 16;

  private final NodeRuntime node;
  private final BiConsumer<List<Cache>, Tasks> ask;
  private final Set<Cache> waiting = new LinkedHashSet<>(); // guarded by itself
  private final Map<Long, List<Cache>> byTime = new HashMap<>(); // guarded by waiting

  /**
   * @param ask asks for the publishers of these caches
   */
  Retries(NodeRuntime node, BiConsumer<List<Cache>, Tasks> ask) {
    this.node = node;
    this.ask = ask;
  }

  /** Lets a cache ask again later, unless it waits for that already. */
  void later(Cache cache) {
    synchronized (waiting) {
      if (!waiting.add(cache)) {
        return;
      }
    }
    long most = node.settings().renewEvery().toNanos();
    long longest = Math.min(FIRST_NANOS << Math.min(cache.failedAttempt(), MAX_DOUBLINGS), most);
    long delay = longest / 2 + node.randomBelow(longest / 2 + 1);
    at(node.clock().nanos() + delay, Math.max(LEAST_TICK_NANOS, longest / TICKS_IN_A_DELAY), cache);
  }

  private void at(long nanos, long tick, Cache cache) {
    long due = Math.ceilDiv(nanos, tick) * tick;
    synchronized (waiting) {
      var together = byTime.get(due);
      if (together != null) {
        together.add(cache);
        return;
      }
      together = new ArrayList<>(1);
      together.add(cache);
      byTime.put(due, together);
    }
    node.clock().after(due - node.clock().nanos(), () -> node.start(next -> due(due, next)));
  }

  private void due(long nanos, Tasks next) {
    List<Cache> caches;
    synchronized (waiting) {
      caches = byTime.remove(nanos);
    }
    if (caches != null) {
      ask(caches, next);
    }
  }

  /** Does not let those wait any longer whose grains are found. */
  void now(Predicate<GrainId> found) {
    List<Cache> ready;
    synchronized (waiting) {
      ready = waiting.stream().filter(cache -> found.test(cache.key().grain())).toList();
    }
    if (!ready.isEmpty()) {
      node.start(next -> ask(ready, next));
    }
  }

  private void ask(List<Cache> caches, Tasks next) {
    List<Cache> still;
    synchronized (waiting) {
      still = caches.stream().filter(waiting::remove).toList();
    }
    node.meters().askedAgain.add(still.size());
    ask.accept(still, next);
  }

  /** Whether a cache will ask again anyway. */
  boolean contains(Cache cache) {
    synchronized (waiting) {
      return waiting.contains(cache);
    }
  }
}
