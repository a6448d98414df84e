package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.engine.Cache.Dependent;
import dev.evergreen.core.engine.Cache.Edge;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.OneTimer;
import dev.evergreen.core.work.StackRoom;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** All caches of this process, by what they are of (004 §4.2, §5: the cache manager). */
final class Caches implements Cache.Keeper {

  /** Keeps caches connected with their publishers, wherever these are. */
  interface Lines {

    /** Asks for the publisher of a new cache. */
    void begin(Cache cache);

    /** Asks for it again after a while. */
    void askAgain(Cache cache);

    /** The caches are closed. */
    void end(List<Cache> caches);

    /** A publisher of this node has a result for a wish of a cache that is gone. */
    void unwanted(CallKey key, long wish);
  }

  private final Base base;
  private final Workers workers;
  private final Standings standings = new Standings();
  private final AtomicLong generations = new AtomicLong();
  private final Map<CallKey, Cache> table = new ConcurrentHashMap<>();
  private final Map<SummaryKey, Cache> remote = new ConcurrentHashMap<>();
  private final long grace;

  /** When the grace of caches ends that had no dependents, those that end first in front. */
  @GuardedBy("idle")
  private final LinkedHashMap<Cache, Long> idle = new LinkedHashMap<>();

  private final OneTimer sweeps;

  private @Nullable Lines lines;

  Caches(Base base) {
    this.base = base;
    this.workers = base.workers();
    this.grace = base.settings().cacheGrace().toNanos();
    this.sweeps = new OneTimer(workers);
  }

  /** Before there are any caches: what connects them. */
  void connect(Lines to) {
    lines = to;
  }

  private Lines lines() {
    return Objects.requireNonNull(lines, "connected when the node is put together");
  }

  @Override
  public Workers workers() {
    return workers;
  }

  @Override
  public long grace() {
    return grace;
  }

  @Override
  public long nextGeneration() {
    return generations.incrementAndGet();
  }

  int size() {
    return table.size();
  }

  Collection<Cache> all() {
    return table.values();
  }

  /** An edge to the cache of a call, which is made and subscribed if there is none. */
  Edge retain(CallKey key, Dependent dependent) {
    while (true) {
      var cache = table.get(key);
      boolean fresh = cache == null;
      if (cache == null) {
        StackRoom.check();
        cache = new Cache(this, key);
      }
      var edge = cache.retain(dependent);
      if (edge == null) {
        table.remove(key, cache);
      } else if (!fresh) {
        return edge;
      } else if (table.putIfAbsent(key, cache) == null) {
        begin(cache, edge);
        return edge;
      }
    }
  }

  /**
   * One that cannot ask, as where the stack ends, must not be found: others would wait for it. Who
   * has found it already looks for another one: at once if it waits, else when it runs again.
   */
  private void begin(Cache cache, Edge first) {
    try {
      lines().begin(cache);
    } catch (RuntimeException | Error e) {
      cache.close();
      remove(cache);
      cache.release(first, true); // that one is told by what is thrown
      workers.start(next -> giveUp(cache, next)); // on a stack of its own
      throw e;
    }
  }

  private void giveUp(Cache cache, Tasks next) {
    lines().end(List.of(cache));
    runDependents(List.of(cache), next);
  }

  /** A reader has waited for long: if nobody has come to ask for it, somebody does now. */
  void isAwaited(Cache cache) {
    if (cache.isUnasked()) {
      lines().askAgain(cache);
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
    if (cache == null) {
      lines().unwanted(key, update.generation());
    } else {
      base.observer().pushedHere();
      var marked = new ArrayList<Dependent>();
      install(cache, () -> update, marked, next);
      marked.forEach(summary -> summary.schedule(next));
    }
  }

  /**
   * Installs a batch from another node: all dependents are marked before any of them runs again.
   * What a comparer is to be asked about follows by itself: neither the batch nor what else comes
   * from there waits for that.
   */
  void install(NodeId from, List<Message.Update> updates, Tasks next) {
    base.observer().batchReceived(updates.size());
    var marked = new ArrayList<Dependent>();
    var unwanted = new ArrayList<Message.Subscription>();
    for (var update : updates) {
      var cache = remote.get(update.key());
      if (cache == null || cache.closed()) {
        // By its own generation: a cache made meanwhile may have subscribed with a later one.
        unwanted.add(new Message.Subscription(update.key(), update.generation(), null));
        continue;
      }
      install(cache, () -> decoded(update, cache), marked, next);
    }
    marked.forEach(summary -> summary.schedule(next));
    if (!unwanted.isEmpty()) {
      base.peers().sendParts(from, unwanted, Message.Unsubscribe::new);
    }
  }

  private static Cache.Update decoded(Message.Update update, Cache cache) {
    return new Cache.Update(
        update.generation(),
        update.version(),
        Outcome.decode(update.outcome(), cache.key().operation()),
        update.depth(),
        update.inDoubt(),
        update.provisional(),
        update.trace());
  }

  /**
   * What came for a cache is lost, as where memory ends; who has sent it knows nothing of that. It
   * may have been installed, and some be marked that nobody has scheduled.
   */
  private void lost(Cache cache, Throwable why) {
    Failures.alone("the doubt about the " + cache, () -> silent(cache));
    Failures.alone("asking again for the " + cache, () -> lines().askAgain(cache));
    workers.start(next -> runDependents(List.of(cache), next));
    Failures.log("a result for the " + cache, why);
  }

  /**
   * Adds whom it has marked, some maybe twice. What is to be compared is deferred to a thread of
   * its own. What fails for one cache is not lost for others.
   */
  private void install(
      Cache cache, Supplier<Cache.Update> given, List<Dependent> marked, Tasks next) {
    try {
      var update = given.get();
      var installed = cache.installUncompared(update);
      if (installed != null) {
        marked.addAll(tell(cache, update, installed));
      } else if (cache.defer(update)) {
        compareLater(cache, next);
      }
    } catch (RuntimeException | Error e) {
      lost(cache, e);
    }
  }

  private void compareLater(Cache cache, Tasks next) {
    try {
      next.add(then -> compare(cache, then));
    } catch (RuntimeException | Error e) {
      cache.stopComparing();
      throw e;
    }
  }

  /** Installs what was deferred until it is compared, and what is deferred meanwhile. */
  private void compare(Cache cache, Tasks next) {
    try {
      for (var update = cache.takeDeferred(); update != null; update = cache.takeDeferred()) {
        tell(cache, update, cache.install(update)).forEach(summary -> summary.schedule(next));
        workers.fork(next); // the next comparison may take its time
        Thread.interrupted(); // one comparison is no affair of the next
      }
    } catch (RuntimeException | Error e) {
      cache.stopComparing();
      lost(cache, e);
    }
  }

  /** Marks whom an update concerns that was installed, and returns them, some maybe twice. */
  private List<Dependent> tell(Cache cache, Cache.Update update, Cache.Installed installed) {
    for (var dependent : installed.outdated()) {
      dependent.mark(update.trace());
    }
    if (installed.version() != null) {
      cache.told(installed.version());
    }
    standings.tell(installed.affected());
    if (update.provisional() || installed.asksAgain()) {
      lines().askAgain(cache);
    }
    return installed.outdated();
  }

  /** The publisher of a cache answers its wish of this generation. */
  void heard(Cache cache, long wish) {
    if (cache.heard(wish)) {
      standings.tell(cache.dependents());
    }
  }

  /** The publisher of a cache is gone, or not heard of. */
  void silent(Cache cache) {
    if (cache.silent()) {
      standings.tell(cache.dependents());
    }
  }

  /** The publisher of a call has gone: ask for the grain again, wherever it is. */
  void moved(CallKey key) {
    var cache = table.get(key);
    if (cache != null) {
      silent(cache);
      lines().askAgain(cache);
    }
  }

  // Reclaim

  /** A cache goes if it has no dependents for a while (004 §4.2). */
  @Override
  public void idle(Cache cache, boolean graceSpent) {
    long now = workers.nanos();
    synchronized (idle) {
      if (graceSpent) {
        idle.putFirst(cache, now);
      } else {
        idle.putLast(cache, now + grace);
      }
    }
    sweepLater();
  }

  private void sweepLater() {
    sweeps.after(grace / 2 + 1, this::sweep);
  }

  /** Closes what was idle long enough; and then what only that had read, and so on. */
  private void sweep(Tasks next) {
    try {
      for (var closed = closeIdle(); !closed.isEmpty(); closed = closeIdle()) {
        closed.forEach(this::remove);
        lines().end(closed);
      }
    } finally {
      boolean again;
      synchronized (idle) {
        again = !idle.isEmpty();
      }
      if (again) {
        sweepLater(); // not with the lock: where timers are refused, a thread is started
      }
    }
  }

  /**
   * Closes the caches of these calls that only summaries of these calls read. Whoever depends on
   * one and is still there when other nodes have done the same was reached after all, and runs
   * again. That takes as long as messages do, which may be longer than the grace. Nobody keeps true
   * what it shows until then: it is in doubt.
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
    lines().end(closed);
    long patience = base.settings().pushRetryAfter().toNanos();
    workers.after(patience, next -> runDependents(closed, next));
    closed.forEach(cache -> standings.tell(cache.dependents()));
  }

  private static void runDependents(List<Cache> closed, Tasks next) {
    for (var cache : closed) {
      var dependents = cache.dependents();
      dependents.forEach(summary -> summary.mark(null));
      dependents.forEach(summary -> summary.schedule(next));
    }
  }

  private List<Cache> closeIdle() {
    long now = workers.nanos();
    var closed = new ArrayList<Cache>();
    for (var cache = nextIdle(now); cache != null; cache = nextIdle(now)) {
      if (cache.closeIfIdle(now - grace)) {
        closed.add(cache);
      } else if (cache.isIdle()) {
        synchronized (idle) { // of two that gave it up at once, the first may have come here last
          idle.putLast(cache, now + grace);
        }
      }
    }
    return closed;
  }

  private @Nullable Cache nextIdle(long now) {
    synchronized (idle) {
      var next = idle.firstEntry();
      boolean isDue = next != null && next.getValue() - now <= 0;
      return isDue ? Objects.requireNonNull(idle.pollFirstEntry()).getKey() : null;
    }
  }

  private void remove(Cache cache) {
    table.remove(cache.key(), cache);
    if (cache.wasRemote()) {
      remote.remove(cache.key().wire(), cache);
    }
  }
}
