package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.fail;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.Placement;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.spi.TraceContext;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Nodes on real threads in one process. A message is delivered by the thread that sends it, and
 * what a node asks of its world can be hooked, so that a test can hold one thread at a known place
 * while another goes on.
 */
public final class WiredNodes implements AutoCloseable {

  private static final int PARTS = 32;

  /** What becomes of a message. */
  public interface Wire {
    void send(NodeId from, NodeId to, Message message);
  }

  private static final long PATIENCE_NANOS = 20_000_000_000L;

  /** Reads a cache, and wants to know nothing of it. */
  static final Cache.Dependent NOBODY =
      new Cache.Dependent() {
        @Override
        public @Nullable CallKey key() {
          return null;
        }

        @Override
        public void mark(@Nullable TraceContext cause) {}

        @Override
        public void schedule(Tasks next) {}

        @Override
        public void standingChanged() {}
      };

  /** A cache of a node that is to have no result any more. */
  static Outboxes.Recipient withoutResult(Supplier<NodeId> node) {
    return new Outboxes.Recipient() {
      @Override
      public NodeId node() {
        return node.get();
      }

      @Override
      public long takeRequest() {
        return 0;
      }

      @Override
      public Message.@Nullable Update update() {
        return null;
      }
    };
  }

  private final RealTime time = RealTime.create();
  private final Storage storage;
  private final NodeObserver.Provider observers;
  private final Map<NodeId, NodeRuntime> nodes = new ConcurrentHashMap<>();
  private final AtomicInteger alive = new AtomicInteger();
  private final List<Throwable> escaped = new CopyOnWriteArrayList<>();

  /** Which node hosts a grain; hooks may do more before they answer. */
  volatile Function<GrainId, NodeId> hosts;

  /** Called whenever a node asks whether it hosts a grain, after the answer is known. */
  volatile Runnable whenAsked = () -> {};

  /** Called when a node says that another one does not host a grain. */
  volatile Consumer<GrainId> whenNotThere = grain -> {};

  /** Called before a thread is started, which fails if this does. */
  volatile Runnable whenThreadIsWanted = () -> {};

  /** Called before a timer is set, which fails if this does. */
  volatile Runnable whenTimerIsWanted = () -> {};

  /** Sets the timers of the nodes, after so many nanoseconds. */
  volatile BiFunction<Long, Runnable, Clock.Cancellable> timers = time::after;

  /** Called whenever a node asks for the time, which it is not told if this fails. */
  volatile Runnable whenTimeIsAsked = () -> {};

  /** Starts the threads of the nodes. */
  volatile Function<Runnable, Thread> starter = Thread::startVirtualThread;

  /** Is given the threads of the nodes as they start. */
  volatile Consumer<Thread> whenStarted = thread -> {};

  /** Is told of each thread that is unparked. */
  volatile Consumer<Thread> whenUnparked = thread -> {};

  public volatile Wire wire = this::deliver;

  /** Whether there is a connection to a node. */
  public volatile Predicate<NodeId> connected = node -> true;

  /** What follows calls on nodes that start from now on. */
  volatile Tracing tracing = Tracing.NONE;

  /** Whether the others confirm that a node still belongs to them. */
  volatile boolean confirmed = true;

  public WiredNodes(NodeId host) {
    this(host, new MemoryStorage());
  }

  WiredNodes(NodeId host, Storage storage) {
    this(host, storage, NodeObserver.Provider.NONE);
  }

  private WiredNodes(NodeId host, Storage storage, NodeObserver.Provider observers) {
    this.storage = storage;
    this.observers = observers;
    hosts = grain -> host;
  }

  /** Nodes that are watched. */
  public static WiredNodes observed(NodeId host, NodeObserver.Provider observers) {
    return new WiredNodes(host, new MemoryStorage(), observers);
  }

  public static NodeId id(String name) {
    return new NodeId(name, 1);
  }

  /** Starts a node. */
  public EngineNode startNode(NodeId self, NodeSettings settings, GrainTypes types) {
    return start(self, settings, types);
  }

  /** Starts a node with the test grains. */
  public EngineNode startNode(NodeId self, NodeSettings settings) {
    return start(self, settings);
  }

  /** Starts a node. */
  NodeRuntime start(NodeId self, NodeSettings settings, GrainTypes types) {
    var engine =
        new Engine(
            self,
            new HookedClock(),
            new CountingThreads(),
            (to, message) -> {
              boolean leaves = connected.test(to);
              if (leaves) {
                wire.send(self, to, message);
              }
              return leaves;
            },
            new HookedPlacement(self),
            storage,
            (RandomGenerator) () -> ThreadLocalRandom.current().nextLong());
    var node = new NodeRuntime(engine, types, settings, tracing, observers);
    nodes.put(self, node);
    return node;
  }

  /** Starts a node with the test grains. */
  NodeRuntime start(NodeId self, NodeSettings settings) {
    return start(self, settings, TestGrains.types());
  }

  public void deliver(NodeId from, NodeId to, Message message) {
    var node = nodes.get(to);
    if (node != null) {
      node.receive(from, message);
    }
  }

  /** What ended threads of the nodes. */
  List<Throwable> escaped() {
    return escaped;
  }

  /** Waits until no thread of the nodes is alive. */
  void awaitNoThreads() {
    awaitThreads(0);
  }

  /** Waits until no more than so many are alive. */
  void awaitThreads(int most) {
    await("the end of threads", () -> alive.get() <= most);
  }

  /** Whether a thread waits for something, with a time limit or without. */
  static boolean waits(Thread thread) {
    return thread.getState() == Thread.State.WAITING
        || thread.getState() == Thread.State.TIMED_WAITING;
  }

  public static void await(String what, BooleanSupplier event) {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!event.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        fail("waited in vain for " + what);
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  static CallKey key(NodeRuntime node, Class<?> type, String key, String signature) {
    var model = node.models.model(type);
    return node.models.callKey(new SummaryKey(model.id(key), signature, new byte[0]));
  }

  @Override
  public void close() {
    nodes.values().forEach(node -> node.fence("the test has ended"));
    time.close();
  }

  public static NodeSettings quick() {
    return NodeSettings.DEFAULT
        .withCacheGrace(Duration.ofMillis(1))
        .withCallTimeout(Duration.ofSeconds(10));
  }

  /** The part of grains with this key. */
  public static int part(String key) {
    return Math.floorMod(key.hashCode(), PARTS);
  }

  /** The parts of all grains. */
  public static int[] everything() {
    return IntStream.range(0, PARTS).toArray();
  }

  private final class HookedPlacement implements Placement {
    private final NodeId self;

    HookedPlacement(NodeId self) {
      this.self = self;
    }

    @Override
    public int parts() {
      return PARTS;
    }

    @Override
    public int part(GrainId grain) {
      return WiredNodes.part(grain.key());
    }

    @Override
    public NodeId locate(GrainId grain) {
      return hosts.apply(grain);
    }

    @Override
    public boolean isHere(GrainId grain) {
      boolean here = hosts.apply(grain).equals(self);
      whenAsked.run();
      return here;
    }

    @Override
    public void notThere(GrainId grain, NodeId node) {
      whenNotThere.accept(grain);
    }

    @Override
    public boolean confirmed() {
      return confirmed;
    }
  }

  private final class HookedClock implements Clock {
    @Override
    public long nanos() {
      whenTimeIsAsked.run();
      return time.nanos();
    }

    @Override
    public Instant now() {
      return time.now();
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      whenTimerIsWanted.run();
      return timers.apply(delayNanos, task);
    }
  }

  private final class CountingThreads implements Threads {
    @Override
    public Thread start(Runnable task) {
      whenThreadIsWanted.run();
      alive.incrementAndGet();
      var thread =
          starter.apply(
              () -> {
                try {
                  task.run();
                } catch (Throwable t) {
                  escaped.add(t);
                } finally {
                  alive.decrementAndGet();
                }
              });
      whenStarted.accept(thread);
      return thread;
    }

    @Override
    public void park() {
      time.park();
    }

    @Override
    public void parkNanos(long nanos) {
      time.parkNanos(nanos);
    }

    @Override
    public void unpark(Thread thread) {
      whenUnparked.accept(thread);
      time.unpark(thread);
    }
  }
}
