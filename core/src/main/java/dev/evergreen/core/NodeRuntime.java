package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.NodeView;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.spi.Tracing;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A node: puts its parts together, and hands each message to the part that it is for. */
final class NodeRuntime implements EngineNode {

  private static final System.Logger LOG = System.getLogger(EngineNode.class.getName());

  private final Engine engine;
  private final NodeSettings settings;
  private final GrainTypes types;
  private final Codec codec;
  private final Map<Class<?>, GrainModel> models = new ConcurrentHashMap<>();
  private final Map<String, GrainModel> modelsByName = new ConcurrentHashMap<>();
  private final Activations activations;
  private final ChainClock chainClock;
  private final Calls calls;
  private final Caches caches;
  private final Subscriptions subscriptions;
  private final Outboxes outboxes;
  private final Graph.Names graph;
  private final CycleSearch cycles;
  private final CircleCollector circles;
  private final Settling settling;
  private final View view = new View(this);
  private final NodeObserver observer;
  private final Tracing tracing;

  @GuardedBy("computations")
  private final Set<RootComputation<?>> computations = new LinkedHashSet<>();

  private final Set<NodeId> removed = ConcurrentHashMap.newKeySet();
  private final AtomicInteger backlog = new AtomicInteger();
  private final Queue<Runnable> acknowledgements = new ConcurrentLinkedQueue<>();
  private final Standings standings = new Standings();
  private volatile @Nullable String stopped;
  private volatile boolean closing;

  NodeRuntime(Engine engine, GrainTypes types, NodeSettings settings) {
    this(engine, types, settings, Tracing.NONE, NodeObserver.Provider.NONE);
  }

  NodeRuntime(
      Engine engine,
      GrainTypes types,
      NodeSettings settings,
      Tracing tracing,
      NodeObserver.Provider observers) {
    this.engine = engine;
    this.tracing = tracing;
    this.settings = settings;
    this.types = types.copy();
    this.codec = Codec.create(new Limits(settings.maxValueBytes(), Limits.DEFAULT.maxDepth()));
    this.activations = new Activations(this);
    this.chainClock = new ChainClock(engine.clock());
    this.calls = new Calls(this);
    this.caches = new Caches(this);
    this.subscriptions = new Subscriptions(this);
    this.outboxes = new Outboxes(this);
    this.graph = new Graph.Names(codec);
    this.cycles = new CycleSearch(this);
    this.circles = new CircleCollector(this);
    this.settling = new Settling(this);
    this.types.all().forEach(hosted -> model(hosted.type()));
    this.observer = observers.observe(view);
    sweepLater();
    observer.started(this.types.all().size());
  }

  // What the parts need

  NodeId self() {
    return engine.self();
  }

  Clock clock() {
    return engine.clock();
  }

  ChainClock chainClock() {
    return chainClock;
  }

  Threads threads() {
    return engine.threads();
  }

  Placement placement() {
    return engine.placement();
  }

  Storage storage() {
    return engine.storage();
  }

  NodeSettings settings() {
    return settings;
  }

  Codec codec() {
    return codec;
  }

  Activations activations() {
    return activations;
  }

  Calls calls() {
    return calls;
  }

  Caches caches() {
    return caches;
  }

  Subscriptions subscriptions() {
    return subscriptions;
  }

  Outboxes outboxes() {
    return outboxes;
  }

  Standings standings() {
    return standings;
  }

  /** The names of lists of reads. */
  Graph.Names graph() {
    return graph;
  }

  CycleSearch cycles() {
    return cycles;
  }

  CircleCollector circles() {
    return circles;
  }

  Settling settling() {
    return settling;
  }

  Tracing tracing() {
    return tracing;
  }

  @Override
  public NodeObserver observer() {
    return observer;
  }

  /** A moment that never comes, as a deadline. */
  long never() {
    return clock().nanos() + Long.MAX_VALUE;
  }

  long randomBelow(long bound) {
    return engine.random().nextLong(bound);
  }

  /** Epochs of different lives of different nodes must differ. */
  long firstEpoch() {
    return engine.random().nextLong() & Long.MAX_VALUE;
  }

  /** Whether a node left for good, so that nothing sent to it would be answered. */
  boolean isGone(NodeId other) {
    return removed.contains(other);
  }

  /** False if the message certainly did not leave. */
  boolean send(NodeId to, Message message) {
    return !isGone(to) && engine.links().send(to, message);
  }

  /** Sends items with as many messages as it takes; what no link takes is not sent. */
  <T> void sendParts(NodeId to, List<T> items, Function<List<T>, Message> message) {
    try {
      send(to, message.apply(items));
    } catch (IllegalArgumentException e) {
      int half = items.size() / 2;
      if (half == 0) {
        logFailure("a message to " + to, Failures.of(e));
        return;
      }
      sendParts(to, items.subList(0, half), message);
      sendParts(to, items.subList(half, items.size()), message);
    }
  }

  // Models

  /** The checked model of a grain interface. */
  GrainModel model(Class<?> type) {
    var model = models.get(type);
    if (model != null) {
      return model;
    }
    var made = new GrainModel(type, codec);
    var taken = modelsByName.putIfAbsent(made.name(), made);
    if (taken != null && taken.type() != type) {
      throw new InvalidGrainException(
          type.getTypeName()
              + " and "
              + taken.type().getTypeName()
              + " have the same name: give one of them another by @GrainType");
    }
    var winner = models.putIfAbsent(type, taken != null ? taken : made);
    return winner != null ? winner : taken != null ? taken : made;
  }

  /** What a grain of this node is made by. */
  GrainTypes.Hosted hosted(GrainModel model, GrainId id) {
    var hosted = types.get(model.name());
    if (hosted == null) {
      throw new ActivationException(
          id
              + " cannot be activated: "
              + model.type().getTypeName()
              + " is not registered on this node; register it with grain("
              + model.type().getSimpleName()
              + ".class, ...) before the node starts");
    }
    return hosted;
  }

  void checkHosted(GrainModel model, GrainId id) {
    var hosted = hosted(model, id);
    if (hosted.type() != model.type()) {
      throw new ActivationException(
          id + ": the registered type is " + hosted.type() + ", but was asked for " + model.type());
    }
  }

  /** The call that another node names; null if this node cannot have it. */
  @Nullable CallKey knownCallKey(SummaryKey key) {
    try {
      return callKey(key);
    } catch (GrainException e) {
      return null;
    }
  }

  /** What this node calls a summary that a node of another version may have named. */
  SummaryKey ownName(SummaryKey key) {
    var call = knownCallKey(key);
    return call == null ? key : call.wire();
  }

  /** The call that another node names. */
  CallKey callKey(SummaryKey key) {
    var model = graph.isReads(key) ? graph.model() : modelsByName.get(key.grain().type());
    if (model == null) {
      throw new ActivationException(
          key.grain() + ": the type " + key.grain().type() + " is not registered on " + self());
    }
    var operation = model.operation(key.operation());
    if (operation == null) {
      throw new InvalidGrainException(
          key.grain() + ": " + self() + " knows no operation " + key.operation());
    }
    try {
      return new CallKey(model, key.grain(), operation, operation.decode(key.arguments()));
    } catch (GrainException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      throw new InvalidGrainException(
          key + ": " + self() + " cannot read the arguments: " + Failures.describe(e), e);
    }
  }

  /**
   * An outcome for another node. Values have methods of the application's, and not every frozen
   * value has bytes: what goes wrong is the outcome then, and nobody else's affair.
   */
  Message.Answer encode(Outcome outcome, Operation operation) {
    return switch (outcome) {
      case Outcome.Returned(var value) -> {
        try {
          yield new Message.Answer.Returned(operation.result().encode(value));
        } catch (ValueLimitException e) {
          yield new Message.Answer.Threw(
              Failures.of(new ValueTooLargeException(operation + ": the result is too large", e)));
        } catch (RuntimeException | Error e) {
          yield new Message.Answer.Threw(
              Failures.of(
                  new InvalidGrainException(
                      operation + ": the result cannot be written: " + Failures.describe(e), e)));
        }
      }
      case Outcome.Threw(var failure, var original) -> new Message.Answer.Threw(failure);
      case Outcome.NotStarted(var reason, var moved) ->
          new Message.Answer.NotStarted(reason, moved);
    };
  }

  /** The outcome that another node tells; if it cannot be read, that is the outcome. */
  Outcome decode(Message.Answer answer, Operation operation) {
    return switch (answer) {
      case Message.Answer.Returned(var bytes) -> {
        try {
          yield new Outcome.Returned(operation.result().decode(bytes));
        } catch (RuntimeException | Error e) {
          yield Outcome.Threw.of(
              new GrainFailureException(
                  operation + ": the answer cannot be read: " + Failures.describe(e), e));
        }
      }
      case Message.Answer.Threw(var failure) -> new Outcome.Threw(failure, null);
      case Message.Answer.NotStarted(var reason, var moved) ->
          new Outcome.NotStarted(reason, moved);
    };
  }

  // Tasks

  /** Starts a thread for each task. */
  void fork(Tasks tasks) {
    for (var task = tasks.poll(); task != null; task = tasks.poll()) {
      startPrepared(task);
    }
  }

  /** Starts a thread for a task that has got what it needs; for none if it is null. */
  void startPrepared(Tasks.@Nullable Task task) {
    if (task != null) {
      threads().start(() -> work(task));
    }
  }

  /** Starts a thread for a task; it goes on with what the task makes possible. */
  void start(Tasks.Task first) {
    if (first.prepare()) {
      startPrepared(first);
    }
  }

  private void work(Tasks.Task first) {
    var next = new Tasks();
    for (Tasks.Task task = first; task != null; ) {
      try {
        task.run(next);
      } catch (Throwable t) {
        // What it made possible must not be lost with it.
        fork(next);
        throw t;
      } finally {
        // What one task left behind is no affair of the next.
        Thread.interrupted();
      }
      task = next.poll();
      fork(next);
    }
  }

  /** A run waits for a processor from now on. */
  void runScheduled() {
    backlog.incrementAndGet();
  }

  /** A run has got a processor. */
  void runBegins() {
    backlog.decrementAndGet();
    acknowledge();
  }

  /** Sends an acknowledgement that was put off, if the backlog allows it by now. */
  private void acknowledge() {
    if (backlog.get() < settings.maxBacklog()) {
      var acknowledgement = acknowledgements.poll();
      if (acknowledgement != null) {
        acknowledgement.run();
      }
    }
  }

  void logFailure(String where, Failure failure) {
    LOG.log(
        System.Logger.Level.WARNING,
        "{0} failed: {1}: {2}",
        where,
        failure.type(),
        failure.message());
  }

  // Messages

  @Override
  public void receive(NodeId from, Message message) {
    if (removed.contains(from)) {
      return;
    }
    var reason = stopped;
    if (reason != null) {
      if (message instanceof Message.Call call) {
        send(
            from,
            new Message.Reply(
                call.id(),
                new Message.Answer.NotStarted(self() + ": " + reason, true),
                ChainClock.NONE));
      }
      return;
    }
    var next = new Tasks();
    try {
      take(from, message, next);
    } catch (RuntimeException e) {
      logFailure("a message of " + from, Failures.of(e));
    } finally {
      fork(next);
    }
  }

  private void take(NodeId from, Message message, Tasks next) {
    switch (message) {
      case Message.Call call -> calls.serve(from, call, next);
      case Message.Reply reply -> calls.answered(from, reply);
      case Message.Hasten hasten -> calls.hastened(from, hasten, next);
      case Message.Subscribe subscribe -> subscriptions.subscribe(from, subscribe, next);
      case Message.SubscribeAnswer answer -> subscriptions.answered(from, answer, next);
      case Message.Unsubscribe unsubscribe -> subscriptions.unsubscribe(from, unsubscribe);
      case Message.Push push -> install(from, push, next);
      case Message.PushAck(var batch) -> outboxes.acknowledged(from, batch);
      case Message.Moved moved -> subscriptions.moved(from, moved);
      case Message.Probe(var id, var keys) ->
          send(from, new Message.ProbeAnswer(id, circles.readers(keys)));
      case Message.ProbeAnswer answer -> circles.answered(answer);
      case Message.Unreachable(var keys) -> circles.close(keys);
      case Message.Settle question -> settling.asked(from, question);
      case Message.Settled answer -> settling.answered(answer);
      // It may go along all activations; the sender's other messages need not wait for that.
      case Message.Inspect(var id) -> next.add(then -> inspected(from, id));
      case Message.Inspected(var id, var answer) -> observer.answered(from, id, answer);
    }
  }

  private void inspected(NodeId from, long question) {
    var answer = observer.asked();
    if (answer != null) {
      send(from, new Message.Inspected(question, answer));
    }
  }

  private void install(NodeId from, Message.Push push, Tasks next) {
    caches.install(from, push.updates(), next);
    Runnable acknowledge = () -> send(from, new Message.PushAck(push.batch()));
    if (backlog.get() >= settings.maxBacklog()) {
      acknowledgements.add(acknowledge);
      // The backlog may have gone before the acknowledgement was there to be found.
      acknowledge();
    } else {
      acknowledge.run();
    }
  }

  @Override
  public void linkBroken(NodeId node) {
    calls.breakOff(node);
    subscriptions.silent(node);
  }

  @Override
  public void notHeardOf(NodeId node) {
    subscriptions.silent(node);
  }

  @Override
  public void found(Predicate<GrainId> grains) {
    subscriptions.retryNow(grains);
  }

  @Override
  public void nodeRemoved(NodeId node) {
    removed.add(node);
    linkBroken(node);
    calls.forget(node);
    activations.all().forEach(activation -> activation.expire(0, node));
    outboxes.remove(node);
  }

  @Override
  public void release(Predicate<GrainId> leaving) {
    long begun = clock().nanos();
    boolean any = activations.all().stream().anyMatch(open -> leaving.test(open.id()));
    if (any) {
      observer.releaseBegun();
    }
    var released = activations.close(leaving, "it moves to another node");
    // Else the next activation could load what was there before.
    released.forEach(Activation::awaitSaved);
    if (any) {
      observer.releaseEnded(released.size(), clock().nanos() - begun);
    }
  }

  // Application

  @Override
  public Grains grains() {
    return new References(this, null, settings.callTimeout());
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(Computation<T> computation) {
    return open(new RootComputation<T>(this, null, computation, null));
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(
      Computation<T> computation, BiPredicate<? super T, ? super T> same) {
    return open(new RootComputation<T>(this, null, computation, same));
  }

  private <T extends @Nullable Object> ReactiveComputation<T> open(RootComputation<T> computation) {
    checkRunning();
    opened(computation);
    if (stopped()) {
      computation.close();
      checkRunning();
    }
    return computation;
  }

  void opened(RootComputation<?> computation) {
    synchronized (computations) {
      computations.add(computation);
    }
  }

  void closed(RootComputation<?> computation) {
    synchronized (computations) {
      computations.remove(computation);
    }
  }

  @Override
  public NodeCounts counts() {
    return view.walk(NodeView.Visitor.NONE);
  }

  // What its view shows

  int computations() {
    synchronized (computations) {
      return computations.size();
    }
  }

  int backlog() {
    return Math.max(0, backlog.get());
  }

  LinkCounts linkCounts() {
    return engine.links().counts();
  }

  boolean serving() {
    return !closing && !stopped();
  }

  // The end

  boolean stopped() {
    return stopped != null;
  }

  /** Why the node has stopped; null while it has not. */
  @Nullable String stopReason() {
    return stopped;
  }

  void checkRunning() {
    var reason = stopped;
    if (reason != null || closing) {
      var inside = Scope.current() != null;
      if (reason != null || !inside) {
        throw new NodeStoppedException(
            reason != null ? reason : "the node is stopping; call another node");
      }
    }
  }

  private void sweepLater() {
    var settled =
        settings.idleAfter().compareTo(settings.leaseFor()) < 0
            ? settings.idleAfter()
            : settings.leaseFor();
    clock()
        .after(
            settled.toNanos() / 3 + 1,
            () ->
                start(
                    next -> {
                      if (!stopped()) {
                        activations.sweep();
                        sweepLater();
                      }
                    }));
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closing) {
        return;
      }
      closing = true;
    }
    long begun = clock().nanos();
    int closed = activations.close(id -> true, "the node is stopping").size();
    stop("the node has stopped");
    observer.stopped(closed, clock().nanos() - begun);
  }

  @Override
  public void fence(String reason) {
    closing = true;
    observer.fenced(activations.size(), reason);
    stop("the node was stopped: " + reason);
  }

  private void stop(String reason) {
    stopped = reason;
    activations.closeNow(reason);
    calls.stop();
    List<RootComputation<?>> open;
    synchronized (computations) {
      open = List.copyOf(computations);
    }
    open.forEach(RootComputation::close);
  }
}
