package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
import java.util.function.ToIntFunction;

/**
 * What asks again after a delay that doubles with every failure, with jitter. Those that are due at
 * about the same moment ask together, since many may lose whom they ask at once.
 */
public final class Retries<T> {

  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final int MAX_DOUBLINGS = 11;

  /** A delay is rounded up to a multiple of this, or of a part of itself if that is longer. */
  private static final long LEAST_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final int TICKS_IN_A_DELAY = 16;

  private final Workers workers;
  private final long mostNanos;
  private final ToIntFunction<T> failedAttempts;
  private final BiConsumer<List<T>, Tasks> ask;

  @GuardedBy("waiting")
  private final Set<T> waiting = new LinkedHashSet<>();

  @GuardedBy("waiting")
  private final Map<Long, List<T>> byTime = new HashMap<>();

  @GuardedBy("waiting")
  private long finds;

  /**
   * @param most the longest delay
   * @param failedAttempts how often in a row one has asked in vain, which it has once more by that
   * @param ask asks for these
   */
  public Retries(
      Workers workers,
      Duration most,
      ToIntFunction<T> failedAttempts,
      BiConsumer<List<T>, Tasks> ask) {
    this.workers = workers;
    this.mostNanos = most.toNanos();
    this.failedAttempts = failedAttempts;
    this.ask = ask;
  }

  /** How often something was found that some ask for; to be looked at before one asks. */
  public long finds() {
    synchronized (waiting) {
      return finds;
    }
  }

  /** Lets one ask again later, unless it waits for that already. */
  public void later(T one) {
    later(one, finds());
  }

  /**
   * As {@link #later(Object)}, for one that asked in vain. What was found after it had looked may
   * be what it asks for, so then it is as if it asked for the first time.
   *
   * @param since what {@link #finds} was before it asked
   */
  public void later(T one, long since) {
    boolean found;
    synchronized (waiting) {
      if (!waiting.add(one)) {
        return;
      }
      found = finds != since;
    }
    try {
      at(one, found ? 0 : Math.min(failedAttempts.applyAsInt(one), MAX_DOUBLINGS));
    } catch (RuntimeException | Error e) {
      forget(List.of(one)); // or it would never ask again
      throw e;
    }
  }

  private void at(T one, int doublings) {
    long longest = Math.min(FIRST_NANOS << doublings, mostNanos);
    long delay = longest / 2 + workers.randomBelow(longest / 2 + 1);
    at(workers.nanos() + delay, Math.max(LEAST_TICK_NANOS, longest / TICKS_IN_A_DELAY), one);
  }

  private void at(long nanos, long tick, T one) {
    long due = Math.ceilDiv(nanos, tick) * tick;
    synchronized (waiting) {
      var together = byTime.get(due);
      if (together != null) {
        together.add(one);
        return;
      }
      together = new ArrayList<>(1);
      together.add(one);
      byTime.put(due, together);
    }
    try {
      workers.after(due - workers.nanos(), next -> due(due, next));
    } catch (RuntimeException | Error e) {
      var others = takeDue(due); // who has joined meanwhile
      others.remove(one);
      workers.start(next -> ask(others, next));
      throw e;
    }
  }

  private void forget(List<T> these) {
    synchronized (waiting) {
      these.forEach(waiting::remove);
    }
  }

  private List<T> takeDue(long nanos) {
    synchronized (waiting) {
      var together = byTime.remove(nanos);
      return together == null ? new ArrayList<>(0) : together;
    }
  }

  private void due(long nanos, Tasks next) {
    var together = takeDue(nanos);
    if (!together.isEmpty()) {
      ask(together, next);
    }
  }

  /** Does not let those wait any longer for which there is something now. */
  public void now(Predicate<T> found) {
    List<T> ready;
    synchronized (waiting) {
      finds++;
      ready = waiting.stream().filter(found).toList();
    }
    if (!ready.isEmpty()) {
      workers.start(next -> ask(ready, next));
    }
  }

  private void ask(List<T> these, Tasks next) {
    var still = new ArrayList<T>();
    synchronized (waiting) {
      for (var one : these) {
        if (waiting.remove(one)) {
          still.add(one);
        }
      }
    }
    ask.accept(still, next);
  }

  /** Whether one will ask again anyway. */
  public boolean contains(T one) {
    synchronized (waiting) {
      return waiting.contains(one);
    }
  }
}
