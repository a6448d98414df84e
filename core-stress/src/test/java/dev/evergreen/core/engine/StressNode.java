package dev.evergreen.core.engine;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A node for one state of a test. Its threads are counted, so that a test can wait until nothing
 * happens any more ({@link #settle}), and its timers fire only when a test lets them ({@link
 * #elapse}). The other node of its cluster is only a name, and keeps what it is sent.
 */
final class StressNode {

  static final NodeId OTHER = new NodeId("other", 1);

  /** For structures that need no node. */
  static final RealTime TIME = RealTime.create();

  /** How long to wait for what must happen before it counts as lost. */
  static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final long LOOK_AGAIN_NANOS = 10_000;
  private static final NodeId SELF = new NodeId("stress", 1);

  private final AtomicInteger running = new AtomicInteger();
  private final CountedThreads threads = new CountedThreads();

  /** How far time has leapt. */
  private final AtomicLong elapsed = new AtomicLong();

  private final Queue<Runnable> timers = new ConcurrentLinkedQueue<>();
  private final Queue<Message> sent = new ConcurrentLinkedQueue<>();
  private final Whereabouts whereabouts = new Whereabouts();
  private final NodeRuntime runtime;

  StressNode() {
    var engine =
        new Engine(
            SELF,
            new HeldClock(),
            threads,
            (to, message) -> sent.add(message),
            whereabouts,
            new MemoryStorage(),
            (RandomGenerator) () -> ThreadLocalRandom.current().nextLong());
    runtime =
        new NodeRuntime(
            engine,
            GrainTypes.create().add(Cell.class, CellGrain::new),
            NodeSettings.DEFAULT
                .withCallTimeout(PATIENCE)
                .withCacheGrace(Duration.ofNanos(1))
                .withPushRoundTrip(Duration.ofDays(1))
                .withWriteDelay(Duration.ofDays(1)),
            Tracing.NONE,
            NodeObserver.Provider.NONE);
  }

  NodeRuntime runtime() {
    return runtime;
  }

  // Grains

  /** What a cell holds. */
  record Held(int value) {}

  /** Holds an integer, 0 at first. */
  interface Cell extends Grain {
    @ReadOnly
    int value();

    void set(int value);
  }

  static final class CellGrain implements Cell {
    private final State<Held> state;

    CellGrain(GrainContext<String> context) {
      state = context.state(Held.class, new Held(0));
    }

    @Override
    public int value() {
      return state.get().value();
    }

    @Override
    public void set(int value) {
      state.set(new Held(value));
    }
  }

  Cell cell(String name) {
    return runtime.grains().get(Cell.class, name);
  }

  /** The call that reads a cell. */
  CallKey valueOf(String cell) {
    return runtime.models.callKey(new SummaryKey(id(cell), "value()", new byte[0]));
  }

  GrainId id(String cell) {
    return runtime.models.model(Cell.class).id(cell);
  }

  /** From now on all grains are on the other node, until that is said to have none. */
  void sendAway() {
    whereabouts.away = true;
  }

  // Computations

  <T> RootComputation<T> computation(Computation<T> computation) {
    return ((LiveComputation<T>) runtime.reactive(computation)).root();
  }

  /** A computation that has its first result. */
  <T> RootComputation<T> started(Computation<T> computation) {
    var root = computation(computation);
    Tracker.of(root).next(PATIENCE);
    settle();
    return root;
  }

  /** What a reader of an outcome can tell. */
  static String text(@Nullable Outcome outcome) {
    return switch (outcome) {
      case null -> "nothing";
      case Outcome.Returned(var value) -> String.valueOf(value);
      case Outcome.Threw threw -> "failure";
      case Outcome.NotStarted notStarted -> "not started";
    };
  }

  // Activations whose work the test's actors do in their own threads

  /** An activation of a cell that is open. */
  Activation open(String cell) {
    var next = new Tasks();
    var activation = runtime.activations.open(runtime.models.model(Cell.class), id(cell), next);
    run(next);
    return activation;
  }

  /** Runs all that is possible in this thread. */
  static void run(Tasks tasks) {
    for (var task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run(tasks);
    }
  }

  /** Submits a turn; what that makes possible is left to be run. */
  static Answer submit(Activation activation, boolean readOnly, Turn.Body body, Tasks next) {
    var answer = new Answer();
    activation.submit(new Turn(activation, "turn", readOnly, body, answer::set), next);
    return answer;
  }

  /** Submits a turn and runs what that makes possible. */
  static Answer turn(Activation activation, boolean readOnly, Turn.Body body) {
    var next = new Tasks();
    var answer = submit(activation, readOnly, body, next);
    run(next);
    return answer;
  }

  static Turn.Body setting(int value) {
    return grain -> {
      ((Cell) grain).set(value);
      return null;
    };
  }

  static Answer set(Activation activation, int value) {
    return turn(activation, false, setting(value));
  }

  /** The other node's cache of a call. */
  static Publication.Follower follower(CallKey key, long generation) {
    return new Publication.Follower(OTHER, key.wire(), generation, null, 0);
  }

  /** Subscribes the other node and runs what that makes possible. */
  void subscribe(Activation activation, CallKey key, long generation) {
    var next = new Tasks();
    activation.subscribe(key, follower(key, generation), next);
    run(next);
  }

  /** The answer to a turn, which another actor may have run. */
  static final class Answer {
    private final AtomicInteger answers = new AtomicInteger();
    private volatile String text = "none";

    private void set(Outcome outcome) {
      text =
          answers.incrementAndGet() > 1
              ? "answered twice"
              : switch (outcome) {
                case Outcome.Returned returned -> "done";
                case Outcome.Threw(var failure, var original)
                    when failure.type().equals(OutcomeUnknownException.class.getName()) ->
                    "unknown";
                case Outcome.Threw threw -> "failed";
                case Outcome.NotStarted notStarted -> "not started";
              };
    }

    String text() {
      return text;
    }
  }

  // The other node

  /** The last push that was sent, taken out with all messages before it. */
  Message.Push pushed() {
    settle();
    var last = new Message.Push(0, List.of());
    for (var message = sent.poll(); message != null; message = sent.poll()) {
      if (message instanceof Message.Push push) {
        last = push;
      }
    }
    return last;
  }

  /** Waits for the next message of a kind to be sent; others are dropped. */
  <M extends Message> M awaitSent(Class<M> kind) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() - deadline < 0) {
      var message = sent.poll();
      if (kind.isInstance(message)) {
        return kind.cast(message);
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
    throw new AssertionError("no " + kind.getSimpleName() + " was sent");
  }

  /** The last result that is sent when all that is sent is acknowledged. */
  String lastPushed(CallKey key) {
    List<Message.Update> updates = List.of();
    for (var push = pushed(); !push.updates().isEmpty(); push = pushed()) {
      updates = push.updates();
      runtime.outboxes.acknowledged(OTHER, push.batch());
    }
    return updates.isEmpty()
        ? "nothing"
        : text(Outcome.decode(updates.getLast().outcome(), key.operation()));
  }

  // Time

  /** Lets all timers that are set fire, and those threads go on that wait for a time. */
  void elapse() {
    elapsed.addAndGet(NodeSettings.DEFAULT.pushRetryAfter().toNanos());
    threads.wakeAll();
    for (int left = timers.size(); left > 0; left--) {
      var timer = timers.poll();
      if (timer != null) {
        timer.run();
      }
    }
  }

  /** Waits until no thread of this node runs; what waits to be woken, or for a time, does not. */
  void settle() {
    await(() -> running.get() == 0, "threads of the node do not end");
  }

  static void await(BooleanSupplier done, String otherwise) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!done.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError(otherwise);
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  private final class HeldClock implements Clock {
    @Override
    public long nanos() {
      return System.nanoTime() + elapsed.get();
    }

    @Override
    public Instant now() {
      return Instant.now();
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      timers.add(task);
      return () -> timers.remove(task);
    }
  }

  /** Counts those that run. One that is woken runs from that moment, not only when it notices. */
  private final class CountedThreads implements Threads {
    private final Set<Thread> own = ConcurrentHashMap.newKeySet();

    private final Set<Thread> parked = new HashSet<>(); // guarded by this

    /** Those that were woken before they parked. */
    private final Set<Thread> permits = new HashSet<>(); // guarded by this

    @Override
    public Thread start(Runnable task) {
      running.incrementAndGet();
      return TIME.start(
          () -> {
            own.add(Thread.currentThread());
            try {
              task.run();
            } finally {
              own.remove(Thread.currentThread());
              running.decrementAndGet();
            }
          });
    }

    @Override
    public void park() {
      if (!own.contains(Thread.currentThread())) {
        TIME.park();
      } else if (goesToSleep()) {
        LockSupport.park();
        isAwake(Thread.currentThread());
      }
    }

    /** Time stands still between two {@linkplain #elapse leaps}. */
    @Override
    public void parkNanos(long nanos) {
      if (own.contains(Thread.currentThread())) {
        park();
      } else {
        TIME.parkNanos(nanos);
      }
    }

    private synchronized boolean goesToSleep() {
      boolean sleeps = !permits.remove(Thread.currentThread());
      if (sleeps) {
        parked.add(Thread.currentThread());
        running.decrementAndGet();
      }
      return sleeps;
    }

    private synchronized boolean isAwake(Thread thread) {
      boolean slept = parked.remove(thread);
      if (slept) {
        running.incrementAndGet();
      }
      return slept;
    }

    @Override
    public void unpark(Thread thread) {
      synchronized (this) {
        if (own.contains(thread) && !isAwake(thread)) {
          permits.add(thread);
          return;
        }
      }
      TIME.unpark(thread);
    }

    void wakeAll() {
      List<Thread> all;
      synchronized (this) {
        all = List.copyOf(parked);
      }
      all.forEach(this::unpark);
    }
  }

  private static final class Whereabouts implements Placement {
    private volatile boolean away;

    @Override
    public NodeId locate(GrainId grain) {
      return away ? OTHER : SELF;
    }

    @Override
    public boolean isHere(GrainId grain) {
      return !away;
    }

    @Override
    public void notThere(GrainId grain, NodeId node) {
      away = false;
    }

    @Override
    public boolean confirmed() {
      return true;
    }
  }
}
