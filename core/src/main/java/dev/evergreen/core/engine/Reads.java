package dev.evergreen.core.engine;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.Cache.Edge;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.work.Cancellation;
import dev.evergreen.core.work.Nanos;
import dev.evergreen.core.work.StackRoom;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one run of a summary has read. When the run is accepted these are the edges of the
 * dependency graph until the next accepted run.
 *
 * <p>Reads are added with the baton held and this monitor; others look at them with the monitor. No
 * annotation says so: whoever holds the baton looks at them without it, for each read of a run.
 */
final class Reads implements Scope.Reader {

  /** Whose run it is. */
  interface Owner extends Cache.Dependent {

    /** A run under way has read something for the first time. */
    void hasRead();
  }

  /** From how many reads on they are found by hashing. */
  private static final int MANY = 8;

  private final Workers workers;
  private final NodeSettings settings;
  private final Caches caches;
  private final CycleSearch cycles;
  private final Owner owner;
  private final Cancellation cancellation = new Cancellation();
  private final List<Edge> reads = new ArrayList<>(MANY);
  private @Nullable Map<CallKey, Edge> readsByKey; // once there are many
  private volatile boolean waitedInCircle;
  private int hits; // with the baton held, as misses
  private int misses;

  Reads(Propagation parts, Owner owner) {
    this.workers = parts.base().workers();
    this.settings = parts.base().settings();
    this.caches = parts.caches();
    this.cycles = parts.cycles();
    this.owner = owner;
  }

  @Override
  public Cancellation cancellation() {
    return cancellation;
  }

  /** Whether the run waited for itself, and went on without an answer. */
  boolean waitedInCircle() {
    return waitedInCircle;
  }

  /** How many results were taken from caches. */
  int hits() {
    return hits;
  }

  /** How many first results were waited for. */
  int misses() {
    return misses;
  }

  /** What was read so far. */
  synchronized Edges edges() {
    return reads.isEmpty() ? Edges.NONE : new Edges(List.copyOf(reads));
  }

  /** The edge exists before the result is returned. */
  @Override
  public Outcome read(Scope scope, CallKey key, long timeoutNanos) {
    var read = find(key);
    boolean again = read != null;
    if (read == null) {
      read = caches.retain(key, owner);
      add(key, read);
    }
    var outcome = read.outcome();
    if (outcome == null) {
      misses++;
      var first = waitFor(scope, read, timeoutNanos);
      return first != null ? first : readAnew(scope, read, timeoutNanos);
    }
    hits += again ? 0 : 1;
    return outcome;
  }

  /** Reads another cache of the same call than one that could not ask for it. */
  private Outcome readAnew(Scope scope, Edge lost, long timeoutNanos) {
    var key = lost.cache().key();
    synchronized (this) {
      reads.remove(lost);
    }
    if (readsByKey != null) {
      readsByKey.remove(key, lost); // another branch may have put the new one there
    }
    lost.cache().release(lost, true);
    return read(scope, key, timeoutNanos);
  }

  private @Nullable Edge find(CallKey key) {
    if (readsByKey != null) {
      return readsByKey.get(key);
    }
    for (int i = 0; i < reads.size(); i++) {
      var read = reads.get(i);
      if (read.cache().key().equals(key)) {
        return read;
      }
    }
    return null;
  }

  private void add(CallKey key, Edge read) {
    synchronized (this) {
      reads.add(read);
    }
    if (readsByKey != null) {
      readsByKey.put(key, read);
    } else if (reads.size() > MANY) {
      var byKey = HashMap.<CallKey, Edge>newHashMap(4 * MANY);
      reads.forEach(edge -> byKey.put(edge.cache().key(), edge));
      readsByKey = byKey;
    }
    owner.hasRead();
  }

  private @Nullable Outcome waitFor(Scope scope, Edge read, long timeoutNanos) {
    var cache = read.cache();
    StackRoom.check();
    var wait = cycles.waits(owner.key(), cache, cancellation);
    try {
      cache.addWaiter(Thread.currentThread());
      return awaitFirst(scope, read, timeoutNanos);
    } catch (CallInterruptedException | Scope.Unwanted e) {
      boolean interrupted = e instanceof CallInterruptedException || scope.isCut();
      var arrived = interrupted ? cache.goOnWithout(read, null) : null;
      if (arrived != null) {
        return arrived;
      }
      throw e;
    } finally {
      cache.removeWaiter(Thread.currentThread());
      cycles.waitsNoMore(wait);
    }
  }

  /**
   * Waits for a cache's first result, and looks for a circle of waiting: at once along what waits
   * in this process, and across nodes when the waiting takes suspiciously long.
   *
   * @return null if this cache will never have one
   */
  private @Nullable Outcome awaitFirst(Scope scope, Edge read, long timeoutNanos) {
    var cache = read.cache();
    long start = workers.nanos();
    var path = waitsForItself(scope, cache);
    if (path != null) {
      return goOnInCircle(read, cycles.found(path));
    }
    for (long patience = settings.cycleSuspicion().toNanos(); ; patience *= 2) {
      long wait = Math.min(timeoutNanos, patience);
      if (scope.await(() -> cache.present() != null || cache.closed(), start + wait, false)) {
        return cache.take(read);
      }
      caches.isAwaited(cache);
      if (wait == timeoutNanos) {
        return goOnWithout(read, timedOut(cache, timeoutNanos));
      }
      var circle = searchForCircle(scope, cache);
      if (circle != null) {
        return goOnInCircle(read, circle);
      }
    }
  }

  private Outcome goOnInCircle(Edge read, Outcome.Threw circle) {
    waitedInCircle = true;
    return goOnWithout(read, circle);
  }

  private static Outcome goOnWithout(Edge read, Outcome instead) {
    var outcome = read.cache().goOnWithout(read, instead);
    return outcome != null ? outcome : instead;
  }

  private Outcome.@Nullable Threw searchForCircle(Scope scope, Cache cache) {
    var own = owner.key();
    if (own != null) {
      return cycles.waiting(scope, owner, own, cache);
    }
    var path = waitsForItself(scope, cache);
    return path == null ? null : cycles.found(path);
  }

  /** A circle of waiting in this process, if there is one. */
  private @Nullable List<String> waitsForItself(Scope scope, Cache cache) {
    var own = owner.key();
    if (own != null) {
      return cycles.waitingHere(own, cache);
    }
    var turn = scope.turn();
    return turn == null || turn.readOnly() ? null : cycles.waitingForWrite(turn, cache);
  }

  private static Outcome.Threw timedOut(Cache cache, long timeoutNanos) {
    return Outcome.Threw.of(
        new GrainTimeoutException(
            cache.key()
                + " gave no result within "
                + Nanos.text(Duration.ofNanos(timeoutNanos))
                + "; the computation runs again when it does"));
  }
}
