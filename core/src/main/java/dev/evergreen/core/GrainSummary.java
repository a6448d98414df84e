package dev.evergreen.core;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.TraceContext;
import java.util.ArrayList;
import java.util.List;
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

  /** One node whose cache is kept true. */
  private static final class Subscriber {
    final NodeId node;
    long generation;

    /** What the present result answers; 0 if it is to be pushed. */
    long request;

    long heard;

    /** Whether the present result is still to be sent. */
    boolean owed = true;

    Subscriber(NodeId node) {
      this.node = node;
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
  void subscribeNow(NodeId from, long generation, @Nullable Version have, long request) {
    var subscriber = subscriber(from);
    if (subscriber == null) {
      subscriber = new Subscriber(from);
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
  boolean unsubscribeNow(NodeId from, long generation) {
    var subscriber = subscriber(from);
    if (subscriber != null && subscriber.generation <= generation) {
      subscribers.remove(subscriber);
    }
    return subscribers.isEmpty();
  }

  /** One node among few, as every process subscribes once. */
  private @Nullable Subscriber subscriber(NodeId node) {
    for (var subscriber : subscribers) {
      if (subscriber.node.equals(node)) {
        return subscriber;
      }
    }
    return null;
  }

  /** Called with the activation's monitor held; returns whether nobody subscribes any more. */
  boolean expireNow(long heardSince, @Nullable NodeId gone) {
    subscribers.removeIf(
        s ->
            gone != null
                ? s.node.equals(gone)
                : !s.node.equals(node.self()) && s.heard - heardSince < 0);
    return subscribers.isEmpty();
  }

  int subscribers() {
    return subscribers.size();
  }

  List<NodeId> subscriberNodes() {
    synchronized (activation) {
      return subscribers.stream().map(subscriber -> subscriber.node).toList();
    }
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

    /** Another node, and what the result answers; 0 if it is to be pushed. */
    record Remote(NodeId node, long request) {}
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
      if (subscriber.node.equals(node.self())) {
        local =
            new Cache.Update(
                subscriber.generation, version, result, depth, inDoubt, false, written);
      } else {
        remote = remote.isEmpty() ? new ArrayList<>() : remote;
        remote.add(new Owed.Remote(subscriber.node, subscriber.request));
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
        node.outboxes().add(to.node, this);
      } else {
        node.outboxes().answer(to.node, to.request, this);
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

  /** The present result for another node; null if that node's subscription is gone. */
  Message.@Nullable Update updateFor(NodeId to) {
    synchronized (activation) {
      var subscriber = subscriber(to);
      var result = outcome;
      if (removed || subscriber == null || result == null) {
        return null;
      }
      if (encoded == null) {
        encoded = node.encode(result, key.operation());
      }
      return new Message.Update(
          key.wire(), subscriber.generation, version, encoded, depth, inDoubt, false, written);
    }
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
  void end(@Nullable Outcome failed, Tasks next) {
    List<Subscriber> told;
    synchronized (activation) {
      told = List.copyOf(subscribers);
      subscribers.clear();
      removeNow();
    }
    releaseReads();
    for (var subscriber : told) {
      if (failed != null) {
        node.pushProvisional(subscriber.node, key, subscriber.generation, failed, next);
      } else if (subscriber.node.equals(node.self())) {
        node.caches().moved(key);
      } else {
        node.outboxes().moved(subscriber.node, key);
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
