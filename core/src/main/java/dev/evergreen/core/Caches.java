package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** All caches of this process, by what they are of (004 §4.2, §5: the cache manager). */
final class Caches {

  private final NodeRuntime node;
  private final Map<CallKey, Cache> table = new ConcurrentHashMap<>();
  private final Map<SummaryKey, Cache> remote = new ConcurrentHashMap<>();
  private final long grace;

  /** Caches whose grace ends at a moment, those that end first in front. */
  @GuardedBy("idle")
  private final ArrayDeque<Idle> idle = new ArrayDeque<>();

  @GuardedBy("idle")
  private boolean sweeping;

  private record Idle(Cache cache, long graceEnds) {}

  Caches(NodeRuntime node) {
    this.node = node;
    this.grace = node.settings().cacheGrace().toNanos();
  }

  /** How long a cache without dependents is kept, in nanoseconds. */
  long grace() {
    return grace;
  }

  int size() {
    return table.size();
  }

  Collection<Cache> all() {
    return table.values();
  }

  /** An edge to the cache of a call, which is made and subscribed if there is none. */
  Edge retain(CallKey key, Summary dependent) {
    while (true) {
      var cache = table.get(key);
      boolean fresh = cache == null;
      if (cache == null) {
        cache = new Cache(node, key);
      }
      var edge = cache.retain(dependent);
      if (edge == null) {
        table.remove(key, cache);
      } else if (!fresh) {
        return edge;
      } else if (table.putIfAbsent(key, cache) == null) {
        node.subscriptions().begin(cache);
        return edge;
      }
    }
  }

  @Nullable Cache get(CallKey key) {
    return table.get(key);
  }

  /** A cache's publisher is on another node from now on, which knows it by this name. */
  void isRemote(Cache cache) {
    var name = cache.key().wire();
    cache.becomeRemote(() -> remote.put(name, cache));
  }

  @Nullable Cache remote(SummaryKey key) {
    return remote.get(key);
  }

  // Results

  /** Installs a result of this node's own publisher. */
  void install(CallKey key, Cache.Update update, Tasks next) {
    var cache = table.get(key);
    if (cache != null) {
      node.observer().pushedHere();
      schedule(install(cache, update), next);
    }
  }

  /**
   * Installs a batch from another node: all dependents are marked before any of them runs again.
   */
  void install(NodeId from, List<Message.Update> updates, Tasks next) {
    node.observer().batchReceived(updates.size());
    var marked = new ArrayList<Summary>();
    var unwanted = new ArrayList<Message.Subscription>();
    for (var update : updates) {
      var cache = remote.get(update.key());
      if (cache == null || cache.closed()) {
        // By its own generation: a cache made meanwhile may have subscribed with a later one.
        unwanted.add(new Message.Subscription(update.key(), update.generation(), null));
        continue;
      }
      marked.addAll(
          install(
              cache,
              new Cache.Update(
                  update.generation(),
                  update.version(),
                  node.decode(update.outcome(), cache.key().operation()),
                  update.depth(),
                  update.inDoubt(),
                  update.provisional(),
                  update.trace())));
    }
    if (!unwanted.isEmpty()) {
      node.sendParts(from, unwanted, Message.Unsubscribe::new);
    }
    schedule(marked, next);
  }

  /** Returns whom it has marked, some maybe twice. */
  private List<Summary> install(Cache cache, Cache.Update update) {
    var installed = cache.install(update);
    for (var dependent : installed.outdated()) {
      dependent.mark(update.trace());
    }
    if (installed.version() != null) {
      cache.told(installed.version());
    }
    node.standings().tell(installed.affected());
    if (update.provisional() || installed.unknownEpoch()) {
      node.subscriptions().retryLater(cache);
    }
    return installed.outdated();
  }

  private static void schedule(List<Summary> marked, Tasks next) {
    for (var summary : marked) {
      summary.schedule(next);
    }
  }

  /** The publisher of a call has gone: ask for the grain again, wherever it is. */
  void moved(CallKey key) {
    var cache = table.get(key);
    if (cache != null) {
      node.subscriptions().silent(cache);
    }
  }

  // Reclaim

  /** A cache has no dependents: it goes if that lasts (004 §4.2). */
  void idle(Cache cache, boolean graceSpent) {
    long now = node.clock().nanos();
    synchronized (idle) {
      if (graceSpent) {
        idle.addFirst(new Idle(cache, now));
      } else {
        idle.addLast(new Idle(cache, now + grace));
      }
      if (sweeping) {
        return;
      }
      sweeping = true;
    }
    sweepLater();
  }

  private void sweepLater() {
    node.clock().after(grace / 2 + 1, () -> node.start(this::sweep));
  }

  /** Closes what was idle long enough; and then what only that had read, and so on. */
  private void sweep(Tasks next) {
    while (true) {
      var closed = closeIdle();
      if (closed.isEmpty()) {
        break;
      }
      closed.forEach(this::remove);
      node.subscriptions().end(closed);
    }
    synchronized (idle) {
      sweeping = !idle.isEmpty();
      if (sweeping) {
        sweepLater();
      }
    }
  }

  /**
   * Closes the caches of these calls that only summaries of these calls read. Whoever depends on
   * one and is still there when the grace is over was reached after all, and runs again.
   */
  void closeIfReadOnlyBy(Set<CallKey> calls) {
    var closed = new ArrayList<Cache>();
    for (var call : calls) {
      var cache = table.get(call);
      if (cache != null && cache.closeIfReadOnlyBy(calls)) {
        closed.add(cache);
      }
    }
    if (closed.isEmpty()) {
      return;
    }
    closed.forEach(this::remove);
    node.subscriptions().end(closed);
    node.clock().after(grace + 1, () -> node.start(next -> runLeft(closed, next)));
  }

  private static void runLeft(List<Cache> closed, Tasks next) {
    for (var cache : closed) {
      var left = cache.dependents();
      left.forEach(summary -> summary.mark(null));
      schedule(left, next);
    }
  }

  private List<Cache> closeIdle() {
    long now = node.clock().nanos();
    var closed = new ArrayList<Cache>();
    for (var cache = nextIdle(now); cache != null; cache = nextIdle(now)) {
      switch (cache.endGrace(now - grace)) {
        case OVER -> closed.add(cache);
        case BEGUN_ANEW -> {
          synchronized (idle) {
            idle.addLast(new Idle(cache, now + grace));
          }
        }
        case NOT_NEEDED -> {}
      }
    }
    return closed;
  }

  private @Nullable Cache nextIdle(long now) {
    synchronized (idle) {
      var next = idle.peek();
      if (next == null || next.graceEnds - now > 0) {
        return null;
      }
      return idle.remove().cache;
    }
  }

  private void remove(Cache cache) {
    table.remove(cache.key(), cache);
    if (cache.wasRemote()) {
      remote.remove(cache.key().wire(), cache);
    }
  }
}
