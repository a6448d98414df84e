package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
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

  private final Workers workers;
  private final long mostNanos;
  private final BiConsumer<List<Cache>, Tasks> ask;

  @GuardedBy("waiting")
  private final Set<Cache> waiting = new LinkedHashSet<>();

  @GuardedBy("waiting")
  private final Map<Long, List<Cache>> byTime = new HashMap<>();

  @GuardedBy("waiting")
  private long finds;

  /**
   * @param most the longest delay
   * @param ask asks for the publishers of these caches
   */
  Retries(Workers workers, Duration most, BiConsumer<List<Cache>, Tasks> ask) {
    this.workers = workers;
    this.mostNanos = most.toNanos();
    this.ask = ask;
  }

  /** How often publishers were found; to be looked at before a cache asks. */
  long finds() {
    synchronized (waiting) {
      return finds;
    }
  }

  /** Lets a cache ask again later, unless it waits for that already. */
  void later(Cache cache) {
    later(cache, finds());
  }

  /**
   * As {@link #later(Cache)}, for a cache that asked in vain. What was found after it had looked
   * may be its publisher, so then it is as if it asked for the first time.
   *
   * @param since what {@link #finds} was before it asked
   */
  void later(Cache cache, long since) {
    boolean found;
    synchronized (waiting) {
      if (!waiting.add(cache)) {
        return;
      }
      found = finds != since;
    }
    int doublings = found ? 0 : Math.min(cache.failedAttempt(), MAX_DOUBLINGS);
    long longest = Math.min(FIRST_NANOS << doublings, mostNanos);
    long delay = longest / 2 + workers.randomBelow(longest / 2 + 1);
    at(workers.nanos() + delay, Math.max(LEAST_TICK_NANOS, longest / TICKS_IN_A_DELAY), cache);
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
    workers.after(due - workers.nanos(), next -> due(due, next));
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
      finds++;
      ready = waiting.stream().filter(cache -> found.test(cache.key().grain())).toList();
    }
    if (!ready.isEmpty()) {
      workers.start(next -> ask(ready, next));
    }
  }

  private void ask(List<Cache> caches, Tasks next) {
    var still = new ArrayList<Cache>();
    synchronized (waiting) {
      for (var cache : caches) {
        if (waiting.remove(cache)) {
          still.add(cache);
        }
      }
    }
    ask.accept(still, next);
  }

  /** Whether a cache will ask again anyway. */
  boolean contains(Cache cache) {
    synchronized (waiting) {
      return waiting.contains(cache);
    }
  }
}
