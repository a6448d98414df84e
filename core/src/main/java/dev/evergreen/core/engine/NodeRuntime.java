package dev.evergreen.core.engine;

import dev.evergreen.codec.Limits;
import dev.evergreen.core.Computation;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.GuardedObserver;
import dev.evergreen.core.model.GuardedTracing;
import dev.evergreen.core.model.Models;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.NodeView;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.core.work.Backlog;
import dev.evergreen.core.work.ChainClock;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A node: puts its parts together, and hands each message to the part that it is for. */
class NodeRuntime implements EngineNode {

  private final NodeSettings settings;
  private final Workers workers;
  private final Backlog backlog;
  private final CircleCollector circles;
  private final Settling settling;
  private final Computations computations;
  private final Grains grains;
  private final NodeObserver watching;
  private final NodeObserver observer;
  final Peers peers;
  final Lifetime lifetime = new Lifetime();
  final Models models;
  final Caches caches;
  final Outboxes outboxes;
  final CycleSearch cycles;
  final Activations activations;
  final Calls calls;
  final Subscriptions subscriptions;
  final View view;

  NodeRuntime(
      Engine engine,
      GrainTypes types,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    this.settings = settings;
    this.workers = new Workers(engine.clock(), engine.threads(), engine.random());
    this.peers = new Peers(engine.self(), engine.links());
    this.view = new View(engine.clock(), peers, engine.links(), lifetime);
    var limits = new Limits(settings.maxValueBytes(), Limits.DEFAULT.maxDepth());
    this.models = new Models(engine.self(), limits, types);
    this.watching = observers.observe(view);
    this.observer = GuardedObserver.of(watching);
    var base =
        new Base(
            settings,
            workers,
            peers,
            engine.placement(),
            engine.storage(),
            models,
            new ChainClock(engine.clock()),
            lifetime,
            observer,
            GuardedTracing.of(tracing));
    this.caches = new Caches(base);
    this.outboxes = new Outboxes(base);
    this.backlog = new Backlog(settings.maxBacklog());
    this.cycles = new CycleSearch(base, caches);
    var propagation = new Propagation(base, caches, outboxes, cycles, backlog);
    // Epochs of different lives of different nodes must differ.
    long firstEpoch = engine.random().nextLong() & Long.MAX_VALUE;
    this.activations = new Activations(propagation, firstEpoch, this::inside);
    this.calls = new Calls(base, activations);
    this.subscriptions = new Subscriptions(propagation, activations);
    caches.connect(subscriptions);
    this.circles = new CircleCollector(propagation, activations);
    this.settling = new Settling(base, activations);
    this.computations = new Computations(propagation, settling);
    this.grains = new References(base, calls, null, settings.callTimeout());
    view.show(new View.Parts(propagation, activations, calls, computations));
    sweepLater();
    observer.started(models.hosts());
  }

  private Activation.Inside inside(Activation activation) {
    return new Context<>(activation, calls, computations);
  }

  // Messages

  @Override
  public void receive(NodeId from, Message message) {
    if (peers.isGone(from)) {
      return;
    }
    var stopped = lifetime.stopReason();
    if (stopped != null) {
      if (message instanceof Message.Call call) {
        var answer = new Message.Answer.NotStarted(peers.self() + ": " + stopped, true);
        peers.send(from, new Message.Reply(call.id(), answer, ChainClock.NONE));
      }
      return;
    }
    try {
      workers.now(next -> take(from, message, next));
    } catch (RuntimeException | Error e) {
      Failures.log("a message of " + from, e);
    } finally {
      // A value that interrupts who reads it must not end the reading of the link.
      Thread.interrupted();
    }
  }

  private void take(NodeId from, Message message, Tasks next) {
    switch (message) {
      case Message.Call call -> calls.serve(from, call, next);
      case Message.Reply reply -> calls.answered(from, reply);
      case Message.Hasten hasten -> calls.hastened(from, hasten, next);
      case Message.Withdraw(var id) -> calls.withdrawn(from, id, next);
      case Message.Subscribe subscribe -> subscriptions.subscribe(from, subscribe, next);
      case Message.SubscribeAnswer answer -> subscriptions.answered(from, answer, next);
      case Message.Unsubscribe unsubscribe -> subscriptions.unsubscribe(from, unsubscribe);
      case Message.Push(var batch, var updates) -> pushed(from, batch, updates, next);
      case Message.PushAck(var batch) -> outboxes.acknowledged(from, batch);
      case Message.Moved moved -> subscriptions.moved(from, moved);
      case Message.Probe(var id, var keys) ->
          peers.send(from, new Message.ProbeAnswer(id, circles.readers(keys)));
      case Message.ProbeAnswer answer -> circles.answered(answer);
      case Message.Unreachable(var keys) -> circles.close(keys);
      case Message.Settle question -> settling.asked(from, question);
      case Message.Settled answer -> settling.answered(answer);
      // It may go along all activations; the sender's other messages need not wait for that.
      case Message.Inspect(var id) -> next.add(then -> inspected(from, id));
      case Message.Inspected(var id, var answer) -> observer.answered(from, id, answer);
    }
  }

  private void pushed(NodeId from, long batch, List<Message.Update> updates, Tasks next) {
    caches.install(from, updates, next);
    // What it lets run is waiting before it is acknowledged.
    workers.fork(next);
    backlog.acknowledge(() -> peers.send(from, new Message.PushAck(batch)));
  }

  private void inspected(NodeId from, long question) {
    var answer = observer.asked();
    if (answer != null) {
      peers.send(from, new Message.Inspected(question, answer));
    }
  }

  // The cluster

  @Override
  public void linkBroken(NodeId node) {
    linksBroken(Set.of(node));
  }

  private void linksBroken(Set<NodeId> nodes) {
    calls.breakOff(nodes::contains);
    subscriptions.silent(nodes);
  }

  @Override
  public void notHeardOf(NodeId node) {
    subscriptions.silent(Set.of(node));
  }

  @Override
  public void found(Predicate<GrainId> grains) {
    subscriptions.retryNow(grains);
  }

  @Override
  public void nodesRemoved(Set<NodeId> nodes) {
    peers.remove(nodes);
    linksBroken(nodes);
    calls.forget(nodes);
    activations.forget(nodes);
    outboxes.forget(nodes);
  }

  @Override
  public void release(int... parts) {
    var leaving = activations.of(parts);
    if (leaving.isEmpty()) {
      return;
    }
    long begun = workers.nanos();
    observer.releaseBegun();
    activations.close(leaving, "it moves to another node");
    // Else the next activation could load what was there before.
    leaving.forEach(Activation::awaitSaved);
    observer.releaseEnded(leaving.size(), workers.nanos() - begun);
  }

  // Application

  @Override
  public Grains grains() {
    return grains;
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(Computation<T> computation) {
    return computations.open(computation, null);
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(
      Computation<T> computation, BiPredicate<? super T, ? super T> same) {
    return computations.open(computation, same);
  }

  @Override
  public NodeCounts counts() {
    return view.walk(NodeView.Visitor.NONE);
  }

  @Override
  public NodeObserver observer() {
    return watching;
  }

  // Time and the end

  private void sweepLater() {
    var idleAfter = settings.idleAfter();
    var leaseFor = settings.leaseFor();
    var least = idleAfter.compareTo(leaseFor) < 0 ? idleAfter : leaseFor;
    workers.after(
        least.toNanos() / 3 + 1,
        next -> {
          if (lifetime.stopped()) {
            return;
          }
          try {
            sweep();
          } catch (RuntimeException e) {
            Failures.log("giving back what is not used any more", e);
          } finally {
            sweepLater();
          }
        });
  }

  /** Gives back what is not used any more. */
  void sweep() {
    workers.now(activations::sweep);
    circles.sweep();
  }

  @Override
  public void close() {
    if (lifetime.beginClosing()) {
      long begun = workers.nanos();
      var open = activations.all();
      activations.close(open, "the node is stopping");
      stop("the node has stopped");
      observer.stopped(open.size(), workers.nanos() - begun);
    }
  }

  @Override
  public void fence(String reason) {
    lifetime.beginClosing();
    observer.fenced(activations.size(), reason);
    stop("the node was stopped: " + reason);
  }

  private void stop(String reason) {
    lifetime.stop(reason);
    activations.closeNow(activations.all(), reason);
    calls.breakOff(any -> true);
    computations.closeAll();
  }
}
