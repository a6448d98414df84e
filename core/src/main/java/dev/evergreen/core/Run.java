package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.TraceContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One execution of a summary, with all that it read. When it is accepted its reads are the edges of
 * the dependency graph until the next accepted run.
 *
 * <p>Reads are added with the baton held and this monitor; others look at them with the monitor.
 */
final class Run extends Chain.Link<Run> implements Tasks.Task {

  /** From how many reads on they are found by hashing. */
  private static final int MANY = 8;

  private final NodeRuntime node;
  private final RunnableSummary summary;
  private final Baton baton;
  private final List<Edge> reads = new ArrayList<>(MANY);
  private @Nullable Map<CallKey, Edge> readsByKey; // once there are many

  @GuardedBy("this")
  private final List<Cache> waitingFor = new ArrayList<>(0);

  @GuardedBy("this")
  private final List<Thread> parked = new ArrayList<>(0);

  /** Where in a trace the write was that has led to this run; set before it begins. */
  @Nullable TraceContext cause;

  private volatile boolean discarded;
  private volatile boolean waitedInCircle;
  private long protectedUntil;
  private int hits; // with the baton held, as misses
  private int misses;

  Run(NodeRuntime node, RunnableSummary summary) {
    this.node = node;
    this.summary = summary;
    var activation = summary.activation();
    this.baton = activation == null ? new Baton(node.threads()) : activation.baton();
  }

  NodeRuntime node() {
    return node;
  }

  RunnableSummary summary() {
    return summary;
  }

  Baton baton() {
    return baton;
  }

  /** Until when writes wait for this run, by the node's clock; guarded by the activation. */
  long protectedUntil() {
    return protectedUntil;
  }

  void protectUntil(long nanos) {
    protectedUntil = nanos;
  }

  boolean discarded() {
    return discarded;
  }

  /** Whether it waited for itself, and went on without an answer. */
  boolean waitedInCircle() {
    return waitedInCircle;
  }

  /** The result is not wanted: the run ends at its next blocking point. */
  void discard() {
    List<Thread> wake;
    synchronized (this) {
      discarded = true;
      wake = List.copyOf(parked);
    }
    wake.forEach(node.threads()::unpark);
  }

  synchronized void parked(Thread thread, boolean isParked) {
    if (isParked) {
      parked.add(thread);
    } else {
      parked.remove(thread);
    }
  }

  @Override
  public boolean prepare() {
    return baton.acquireFor(this);
  }

  /** Executes on a thread of its own, or at the end of another task's, with the baton held. */
  @Override
  public void run(Tasks next) {
    var outcome = executeAlone();
    // User code that interrupted its own thread must not disturb the runtime's waiting.
    Thread.interrupted();
    summary.accept(this, outcome, next);
  }

  /**
   * Executes on a thread that the application lent. Its interruption is the application's affair:
   * what the run ended with then is no result, and the computation runs again on another thread.
   */
  void runLent(Tasks next) {
    baton.acquire();
    var outcome = executeAlone();
    boolean interrupted = Thread.currentThread().isInterrupted();
    summary.accept(this, interrupted && outcome instanceof Outcome.Threw ? null : outcome, next);
  }

  private @Nullable Outcome executeAlone() {
    node.runBegins();
    try {
      return execute(null);
    } finally {
      // Not on this thread: to accept a result may take the time to ask other nodes.
      node.startPrepared(baton.release());
    }
  }

  /** Executes on the calling thread, which holds the baton. */
  @Nullable Outcome execute(@Nullable Turn borrowed) {
    if (discarded) {
      return null;
    }
    var observed = node.observer().runBegins();
    var span = cause == null ? null : node.tracing().run(cause, toString());
    String failure = null;
    try {
      return new Outcome.Returned(Scope.of(this, borrowed).call(summary::compute));
    } catch (Scope.Unwanted e) {
      return null;
    } catch (Throwable t) {
      failure = t.getClass().getName();
      return new Outcome.Threw(Failures.of(t), summary.key() == null ? t : null);
    } finally {
      if (span != null) {
        span.end(failure);
      }
      observed.end(this, hits, misses, discarded);
    }
  }

  /** What runs, as people who watch name it. */
  @Override
  public String toString() {
    var key = summary.key();
    return key == null ? "reactive computation" : key.grain() + "." + key.operation().name();
  }

  /**
   * The result of a call, from the cache, or as soon as the cache has it. The edge exists before
   * the result is returned.
   */
  Outcome read(Scope scope, CallKey key, long timeoutNanos) {
    var read = find(key);
    boolean again = read != null;
    if (read == null) {
      read = node.caches().retain(key, summary);
      add(key, read);
    }
    var outcome = read.outcome();
    if (outcome == null) {
      misses++;
      return waitFor(scope, read, timeoutNanos);
    }
    hits += again ? 0 : 1;
    return outcome;
  }

  private @Nullable Edge find(CallKey key) {
    if (readsByKey != null) {
      return readsByKey.get(key);
    }
    for (int i = 0; i < reads.size(); i++) {
      var read = reads.get(i);
      if (read.cache.key().equals(key)) {
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
      reads.forEach(edge -> byKey.put(edge.cache.key(), edge));
      readsByKey = byKey;
    }
    summary.hasRead();
  }

  private Outcome waitFor(Scope scope, Edge read, long timeoutNanos) {
    var cache = read.cache;
    synchronized (this) {
      waitingFor.add(cache);
    }
    cache.addWaiter(Thread.currentThread());
    try {
      return awaitFirst(scope, read, timeoutNanos);
    } catch (CallInterruptedException e) {
      var arrived = cache.giveUp(read, null);
      if (arrived != null) {
        return arrived;
      }
      throw e;
    } finally {
      cache.removeWaiter(Thread.currentThread());
      synchronized (this) {
        waitingFor.remove(cache);
      }
    }
  }

  /**
   * Waits for a cache's first result, and looks for a circle of waiting: at once along what waits
   * in this process, and across nodes when the waiting takes suspiciously long.
   */
  private Outcome awaitFirst(Scope scope, Edge read, long timeoutNanos) {
    var cache = read.cache;
    long start = node.clock().nanos();
    var path = waitsForItself(scope, cache);
    if (path != null) {
      return giveUpInCircle(read, node.cycles().found(path));
    }
    for (long patience = node.settings().cycleSuspicion().toNanos(); ; patience *= 2) {
      long wait = Math.min(timeoutNanos, patience);
      if (scope.await(() -> cache.present() != null, start + wait)) {
        var present = cache.take(read);
        if (present != null) {
          return present;
        }
      }
      if (wait == timeoutNanos) {
        return giveUp(read, timedOut(cache, timeoutNanos));
      }
      var circle = searchForCircle(scope, cache);
      if (circle != null) {
        return giveUpInCircle(read, circle);
      }
    }
  }

  private Outcome giveUpInCircle(Edge read, Outcome.Threw circle) {
    waitedInCircle = true;
    return giveUp(read, circle);
  }

  private static Outcome giveUp(Edge read, Outcome instead) {
    var outcome = read.cache.giveUp(read, instead);
    return outcome != null ? outcome : instead;
  }

  private Outcome.@Nullable Threw searchForCircle(Scope scope, Cache cache) {
    if (summary instanceof GrainSummary own) {
      return node.cycles().waiting(scope, own, cache);
    }
    var path = waitsForItself(scope, cache);
    return path == null ? null : node.cycles().found(path);
  }

  /** A circle of waiting in this process, if there is one. */
  private @Nullable List<String> waitsForItself(Scope scope, Cache cache) {
    var own = summary.key();
    if (own != null) {
      return node.cycles().waitingHere(own, cache);
    }
    var turn = scope.turn();
    return turn == null || turn.readOnly() ? null : node.cycles().waitingForWrite(turn, cache);
  }

  private static Outcome.Threw timedOut(Cache cache, long timeoutNanos) {
    return Outcome.Threw.of(
        new GrainTimeoutException(
            cache.key()
                + " gave no result within "
                + Nanos.text(Duration.ofNanos(timeoutNanos))
                + "; the computation runs again when it does"));
  }

  /** What this run has read so far. */
  synchronized Edges edges() {
    return reads.isEmpty() ? Edges.NONE : new Edges(List.copyOf(reads));
  }

  synchronized List<Cache> waitingFor() {
    return List.copyOf(waitingFor);
  }
}
