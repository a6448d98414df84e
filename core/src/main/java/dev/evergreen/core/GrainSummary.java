package dev.evergreen.core;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The summary of an operation of a grain, with the nodes whose caches it keeps true (004 §4.1,
 * §4.2). Fields are guarded by the activation.
 *
 * <p><b>Depth.</b> A summary is deeper than all it reads. When an accepted run finds that it is
 * not, although others may read it already, that is a suspicion of a cycle: it is looked for before
 * the result is published, and if there is none the depth grows.
 */
final class GrainSummary extends RunnableSummary {

  private static final int MAX_POSTPONED = 20;

  /**
   * One cache that is kept true. A node usually has one of this summary. One of a newer version may
   * have several, whose arguments differ in what this version does not know.
   */
  final class Subscriber {
    private final NodeId node;

    /**
     * What the node asked for, in bytes of its own version: it knows its cache by them. Null for
     * this node.
     */
    private final @Nullable SummaryKey name;

    private long generation;

    /** What the present result answers; 0 if it is to be pushed. */
    private long request;

    private long heard;

    /** Whether the present result is still to be sent. */
    private boolean owed = true;

    Subscriber(NodeId node, @Nullable SummaryKey name) {
      this.node = node;
      this.name = name;
    }

    boolean is(NodeId other, @Nullable SummaryKey called) {
      return node.equals(other) && Objects.equals(name, called);
    }

    boolean isHere() {
      return name == null;
    }

    NodeId node() {
      return node;
    }

    /** The present result for another node; null if its subscription is gone. */
    Message.@Nullable Update update() {
      synchronized (activation) {
        var result = outcome;
        if (removed || name == null || result == null || !subscribers.contains(this)) {
          return null;
        }
        if (encoded == null) {
          encoded = GrainSummary.this.node.encode(result, key.operation());
        }
        return new Message.Update(
            name, generation, version, encoded, depth, inDoubt, false, written);
      }
    }
  }

  private final Activation activation;
  private final CallKey key;
  private final List<Subscriber> subscribers = new ArrayList<>(1);
  private boolean removed;
  private boolean detached;
  private volatile @Nullable Outcome outcome;
  private Message.@Nullable Answer encoded;
  private Version version;

  /** Where in a trace the write was that led to the present result, if that is traced. */
  private @Nullable TraceContext written;

  private volatile int depth;
  private boolean inDoubt;
  private volatile boolean cycleFound;
  private int postponed; // only one run at a time is accepted

  GrainSummary(Activation activation, CallKey key) {
    super(activation.node());
    this.activation = activation;
    this.key = key;
    this.marked = true;
    this.version = new Version(activation.epoch(), 0);
  }

  @Override
  public Activation activation() {
    return activation;
  }

  @Override
  public CallKey key() {
    return key;
  }

  @Override
  public @Nullable Object compute() throws Throwable {
    var operation = key.operation();
    return operation.freezeResult(
        operation.invoke(activation.object(), operation.copyIn(key.arguments())), key.grain());
  }

  // Running

  @Override
  public void mark(@Nullable TraceContext from) {
    synchronized (activation) {
      marked = true;
      cause = from;
    }
  }

  @Override
  public void schedule(Tasks next) {
    synchronized (activation) {
      if (!removed) {
        activation.schedule(this, next);
      }
    }
  }

  @Override
  boolean over() {
    return removed;
  }

  @Override
  Object guard() {
    return activation;
  }

  @Override
  public void accept(Run run, @Nullable Outcome outcome, Tasks next) {
    if (outcome == null) {
      giveUp(run, next);
      return;
    }
    var read = run.edges();
    int deepest = read.deepest();
    var before = this.outcome;
    int depthBefore = depth;
    int depthNow = deepest + 1;
    var path = before != null && deepest >= depthBefore ? cycle(read, depthBefore) : null;
    if (path != null) {
      outcome = node.cycles().found(path);
      depthNow = depthBefore;
    }
    cycleFound = path != null;
    boolean same =
        Outcome.same(before, outcome, key.operation().result(), key.operation().comparer());
    accept(run, read, same ? before : outcome, same, depthNow, deepest, next);
  }

  /**
   * The cycle that the edges of a run close, if they do. While a member of it is about to be
   * computed again, and may then read something else, the verdict is put off: the greater depth is
   * published, and if the cycle is real it comes back.
   */
  private @Nullable List<String> cycle(Edges read, int least) {
    var found = node.cycles().reading(key, read, least);
    if (found != null && !found.settled() && postponed < MAX_POSTPONED) {
      postponed++;
      return null;
    }
    postponed = 0;
    return found == null ? null : found.path();
  }

  private void accept(
      Run run,
      Edges read,
      @Nullable Outcome result,
      boolean same,
      int depthNow,
      int deepest,
      Tasks next) {
    Edges released = read;
    Owed owed;
    synchronized (activation) {
      boolean wanted = activation.endedNow(run);
      ended(run, false);
      if (wanted && !removed) {
        released = accepted(read);
        detached = false;
        // What moves before this moment is told to the run that was accepted before.
        boolean doubt = read.inDoubt();
        marked |= read.deepest() > deepest;
        boolean moved = depthNow > depth || doubt != inDoubt;
        depth = Math.max(depth, depthNow);
        inDoubt = doubt;
        if (!same || moved) {
          publish(result, run.cause);
        }
      }
      if (marked && !removed) {
        activation.pendNow(this);
      }
      activation.admitNow(next);
      owed = owedNow();
    }
    released.release();
    push(owed, next);
  }

  private void giveUp(Run run, Tasks next) {
    synchronized (activation) {
      activation.endedNow(run);
      ended(run, true);
      if (marked && !removed) {
        activation.pendNow(this);
      }
      activation.admitNow(next);
    }
    run.edges().release();
  }

  private void publish(@Nullable Outcome result, @Nullable TraceContext write) {
    outcome = result;
    written = write;
    encoded = null;
    version = new Version(activation.epoch(), activation.nextSequenceNow());
    for (var subscriber : subscribers) {
      subscriber.owed = true;
    }
  }

  @Override
  public void dependencyMoved() {
    var next = new Tasks();
    synchronized (activation) {
      if (removed || outcome == null) {
        return;
      }
      boolean doubt = edges.inDoubt();
      if (edges.deepest() >= depth) {
        marked = true;
        activation.pendNow(this);
        activation.admitNow(next);
      } else if (doubt != inDoubt) {
        inDoubt = doubt;
        publish(outcome, null);
      }
    }
    pushOwed(next);
    node.fork(next);
  }

  // Subscribers

  /** Called with the activation's monitor held. */
  void subscribeNow(
      NodeId from,
      @Nullable SummaryKey name,
      long generation,
      @Nullable Version have,
      long request) {
    var subscriber = subscriber(from, name);
    if (subscriber == null) {
      // Of the same version it has the same name for it, which need not be kept twice.
      boolean usual = name != null && name.equals(key.wire());
      subscriber = new Subscriber(from, usual ? key.wire() : name);
      subscribers.add(subscriber);
    }
    subscriber.heard = node.clock().nanos();
    if (generation < subscriber.generation) {
      return;
    }
    subscriber.generation = generation;
    subscriber.owed = !version.equals(have);
    subscriber.request = subscriber.owed ? request : 0;
    if (detached) {
      marked = true;
      activation.pendNow(this);
    }
  }

  /** Called with the activation's monitor held; returns whether nobody subscribes any more. */
  boolean unsubscribeNow(NodeId from, @Nullable SummaryKey name, long generation) {
    var subscriber = subscriber(from, name);
    if (subscriber != null && subscriber.generation <= generation) {
      subscribers.remove(subscriber);
    }
    return subscribers.isEmpty();
  }

  /** One node among few, as every process subscribes once. */
  private @Nullable Subscriber subscriber(NodeId node, @Nullable SummaryKey name) {
    for (var subscriber : subscribers) {
      if (subscriber.is(node, name)) {
        return subscriber;
      }
    }
    return null;
  }

  /** Called with the activation's monitor held; returns whether nobody subscribes any more. */
  boolean expireNow(long heardSince, @Nullable NodeId gone) {
    subscribers.removeIf(
        s -> gone != null ? s.node.equals(gone) : !s.isHere() && s.heard - heardSince < 0);
    return subscribers.isEmpty();
  }

  int subscribers() {
    return subscribers.size();
  }

  /** The caches of other nodes that are kept true, as those nodes know them. */
  List<Message.Located> cachesElsewhere() {
    var caches = new ArrayList<Message.Located>();
    synchronized (activation) {
      for (var subscriber : subscribers) {
        if (subscriber.name != null) {
          caches.add(new Message.Located(subscriber.node, subscriber.name, 0));
        }
      }
    }
    return caches;
  }

  /** Sends the present result to whom it is owed. */
  void pushOwed(Tasks next) {
    Owed owed;
    synchronized (activation) {
      owed = owedNow();
    }
    push(owed, next);
  }

  /** What is to be sent: to this node's own cache, and to others. */
  private record Owed(Cache.@Nullable Update local, List<Remote> remote) {
    static final Owed NOTHING = new Owed(null, List.of());

    /** A cache of another node, and what the result answers; 0 if it is to be pushed. */
    record Remote(Subscriber subscriber, long request) {}
  }

  /** The subscribers that have not got the present result; it counts as sent to them. */
  private Owed owedNow() {
    var result = outcome;
    if (result == null || removed) {
      return Owed.NOTHING;
    }
    Cache.Update local = null;
    var remote = List.<Owed.Remote>of();
    for (var subscriber : subscribers) {
      if (!subscriber.owed) {
        continue;
      }
      subscriber.owed = false;
      if (subscriber.isHere()) {
        local =
            new Cache.Update(
                subscriber.generation, version, result, depth, inDoubt, false, written);
      } else {
        remote = remote.isEmpty() ? new ArrayList<>() : remote;
        remote.add(new Owed.Remote(subscriber, subscriber.request));
        subscriber.request = 0;
      }
    }
    return new Owed(local, remote);
  }

  private void push(Owed owed, Tasks next) {
    if (owed.local != null) {
      node.caches().install(key, owed.local, next);
    }
    for (var to : owed.remote) {
      if (to.request == 0) {
        node.outboxes().add(to.subscriber);
      } else {
        node.outboxes().answer(to.subscriber, to.request);
      }
    }
  }

  /** Whether the present result is neither marked nor being computed again. */
  boolean settled() {
    synchronized (activation) {
      return settledNow();
    }
  }

  boolean settledNow() {
    return !marked && underWay == null;
  }

  // Ending

  /** Called with the activation's monitor held: nobody subscribes any more. */
  void removeNow() {
    removed = true;
    if (underWay != null) {
      underWay.discard();
      underWay = null;
    }
  }

  /** Gives up what the accepted run has read. */
  void releaseReads() {
    Edges released;
    synchronized (activation) {
      released = giveUpEdges();
    }
    released.releaseForGood();
  }

  /** The activation is closed: subscribers are told, with the failure if it never was active. */
  void end(Outcome.@Nullable Threw failed, Tasks next) {
    List<Subscriber> told;
    synchronized (activation) {
      told = List.copyOf(subscribers);
      subscribers.clear();
      removeNow();
    }
    releaseReads();
    for (var subscriber : told) {
      var name = subscriber.name;
      if (name != null && failed != null) {
        node.outboxes().provisional(subscriber.node, name, subscriber.generation, failed.failure());
      } else if (name != null) {
        node.outboxes().moved(subscriber.node, name);
      } else if (failed != null) {
        var why = Cache.Update.provisional(subscriber.generation, failed);
        node.caches().install(key, why, next);
      } else {
        node.caches().moved(key);
      }
    }
  }

  /**
   * Looks after a summary that ended in a cycle. If no computation needs it, it lets go of what it
   * reads: members of a cycle keep each other, so that counting readers would keep them forever. If
   * the cycle that was found is not there any more, the summary is computed again.
   */
  void reviseCycle(Tasks next) {
    Edges read;
    synchronized (activation) {
      read = edges;
      if (removed || detached || !(outcome instanceof Outcome.Threw t && t.isCycle())) {
        return;
      }
    }
    if (!node.cycles().reachable(key)) {
      synchronized (activation) {
        detached = true;
      }
      releaseReads();
    } else if (cycleFound && node.cycles().reading(key, read, 0) == null) {
      mark(null);
      schedule(next);
    }
  }

  // The graph

  @Override
  public List<Cache> waitingFor() {
    Run run;
    synchronized (activation) {
      run = underWay;
    }
    return run == null ? List.of() : run.waitingFor();
  }
}
