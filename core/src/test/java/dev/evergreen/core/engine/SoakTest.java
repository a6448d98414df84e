package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Real threads on one node, for a while, with everything that happens at once in production: grains
 * that read each other along changing edges, writers, computations that come and go, computations
 * of grains, deactivations, a storage that fails. It looks for what the simulation cannot see: data
 * races between the places where threads may park.
 *
 * <p>The seed ({@code -Devergreen.soak.seed}) fixes what every thread does, not when it runs: a
 * failure may need several runs to come back. {@code -Devergreen.soak.seconds} sets the time.
 */
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class SoakTest {

  private static final int SECONDS = Integer.getInteger("evergreen.soak.seconds", 8);
  private static final long SEED =
      Long.getLong("evergreen.soak.seed", ThreadLocalRandom.current().nextLong());
  private static final int CELLS = 12;
  private static final int LAYERS = 3;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final Queue<String> failures = new ConcurrentLinkedQueue<>();
  private final AtomicLong closedReads = new AtomicLong();
  private final Faults storage = new Faults();
  private final Node node =
      EmbeddedNode.builder()
          .grain(Counter.class, CounterGrain::new)
          .grain(View.class, ViewGrain::new)
          .storage(storage)
          .settings(
              NodeSettings.DEFAULT
                  .withCacheGrace(Duration.ofMillis(20))
                  .withIdleAfter(Duration.ofMillis(30))
                  .withCallTimeout(Duration.ofSeconds(20)))
          .start();

  private volatile boolean over;

  // Grains

  record Count(long value, Set<String> reads) {}

  private static final Count NEVER_COMMITTED = new Count(Long.MIN_VALUE / 1_000, Set.of());

  /** Counts up, and nothing else. */
  interface Counter extends Grain {
    @ReadOnly
    long value();

    /** The value, from a computation of this grain. */
    @ReadOnly
    long watched();

    long increment();

    long incrementSlowly(String other);

    void touch();

    void fail();

    void leave();
  }

  static final class CounterGrain implements Counter {
    private final GrainContext<String> context;
    private final State<Count> state;

    CounterGrain(GrainContext<String> context) {
      this.context = context;
      this.state = context.state(Count.class, new Count(0, Set.of()));
    }

    @Override
    public long value() {
      return state.get().value();
    }

    @Override
    public long watched() {
      try (ReactiveComputation<Long> own = context.reactive(() -> state.get().value());
          var tracker = own.tracker()) {
        return tracker.next();
      }
    }

    @Override
    public long increment() {
      long value = state.get().value() + 1;
      state.set(new Count(value, Set.of()));
      return value;
    }

    @Override
    public long incrementSlowly(String other) {
      long before = state.get().value();
      state.set(NEVER_COMMITTED);
      context.grains().get(Counter.class, other).value();
      state.set(new Count(before, Set.of()));
      return increment();
    }

    @Override
    public void touch() {}

    @Override
    public void fail() {
      state.set(NEVER_COMMITTED);
      throw new IllegalStateException("on purpose");
    }

    @Override
    public void leave() {
      context.deactivate();
    }
  }

  /** Reads counters, and views of the layer below, along edges that change. */
  interface View extends Grain {
    @ReadOnly
    long sum();

    @ReadOnly
    long sumInParallel();

    void read(Set<String> names);
  }

  static final class ViewGrain implements View {
    private final Grains grains;
    private final State<Count> state;

    ViewGrain(GrainContext<String> context) {
      grains = context.grains();
      state = context.state(Count.class, new Count(0, Set.of()));
    }

    private long part(String name) {
      return name.startsWith("c")
          ? grains.get(Counter.class, name).value()
          : grains.get(View.class, name).sum();
    }

    @Override
    public long sum() {
      long sum = 0;
      for (var name : state.get().reads()) {
        sum += part(name);
      }
      return sum;
    }

    @Override
    public long sumInParallel() {
      return Parallel.map(state.get().reads(), this::part).stream().mapToLong(n -> n).sum();
    }

    @Override
    public void read(Set<String> names) {
      state.set(new Count(0, names));
    }
  }

  /** Fails now and then, before or after it has saved. */
  private static final class Faults implements Storage {
    private final MemoryStorage inner = new MemoryStorage();
    private final Map<GrainId, AtomicLong> attempts = new ConcurrentHashMap<>();
    volatile boolean failing;

    @Override
    public Optional<Stored> load(GrainId grain) {
      return inner.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      long attempt =
          failing ? attempts.computeIfAbsent(grain, g -> new AtomicLong()).incrementAndGet() : 0;
      if (attempt % 97 == 50) {
        throw new StorageException("on purpose, before " + grain + " was saved");
      }
      long revision = inner.save(grain, expected, state);
      if (attempt % 89 == 50) {
        throw new StorageException("on purpose, after " + grain + " was saved");
      }
      return revision;
    }

    @Override
    public void close() {
      inner.close();
    }
  }

  // What threads do

  private Counter counter(Random random) {
    return node.grains().get(Counter.class, "c" + random.nextInt(CELLS));
  }

  private View view(int layer, int i) {
    return node.grains().get(View.class, "v" + layer + "." + i);
  }

  private static Set<String> someBelow(int layer, Random random) {
    return IntStream.range(0, random.nextInt(4))
        .mapToObj(
            i ->
                layer == 0 || random.nextBoolean()
                    ? "c" + random.nextInt(CELLS)
                    : "v" + (layer - 1) + "." + random.nextInt(4))
        .collect(Collectors.toSet());
  }

  /** Writes; what was acknowledged may not be lost. */
  private void write(Random random, Map<Integer, AtomicLong> acknowledged) {
    while (!over) {
      int i = random.nextInt(CELLS);
      var counter = node.grains().get(Counter.class, "c" + i);
      try {
        switch (random.nextInt(20)) {
          case 0 -> counter.leave();
          case 1 -> counter.fail();
          case 2 -> counter.touch();
          case 3, 4 -> {
            int layer = random.nextInt(LAYERS);
            view(layer, random.nextInt(4)).read(someBelow(layer, random));
          }
          // Upwards only, so that no two writes wait for each other.
          case 5, 6 -> {
            if (i + 1 < CELLS) {
              long value = counter.incrementSlowly("c" + (i + 1));
              acknowledge(acknowledged, i, value);
            }
          }
          case 7 -> checkRead(counter.watched());
          default -> {
            long value = counter.increment();
            acknowledge(acknowledged, i, value);
          }
        }
      } catch (StateNotSavedException e) {
        if (!String.valueOf(e.getMessage()).contains("on purpose")) {
          failures.add("a write was not saved: " + e.getMessage());
        }
      } catch (IllegalStateException e) {
        if (!"on purpose".equals(e.getMessage())) {
          failures.add("a write failed: " + e);
        }
      } catch (ComputationClosedException e) {
        closedReads.incrementAndGet(); // The grain ended while it read its own computation.
      }
      if (random.nextInt(8) == 0) {
        Thread.onSpinWait();
      }
    }
  }

  private static void acknowledge(Map<Integer, AtomicLong> acknowledged, int cell, long value) {
    acknowledged.computeIfAbsent(cell, c -> new AtomicLong()).accumulateAndGet(value, Math::max);
  }

  private void checkRead(long value) {
    if (value < 0) {
      failures.add("a state that was never committed was read: " + value);
    }
  }

  /** Opens computations, looks for a while, closes them. */
  private void watch(Random random) {
    while (!over) {
      var query = randomQuery(random);
      try (var computation = node.reactive(query::get);
          var tracker = computation.tracker()) {
        for (int n = random.nextInt(20); n >= 0 && !over; n--) {
          tracker.poll(Duration.ofMillis(random.nextInt(30))).ifPresent(r -> checkRead(r.get()));
        }
      }
    }
  }

  /** The values of one counter, as a computation sees them, only grow. */
  private void followOne(int i) {
    var counter = node.grains().get(Counter.class, "c" + i);
    try (var computation = node.reactive(counter::value);
        var tracker = computation.tracker()) {
      long last = 0;
      while (!over) {
        var result = tracker.poll(Duration.ofMillis(50));
        if (result.isPresent()) {
          long value = result.get().get();
          if (value < last) {
            failures.add("c" + i + " went back from " + last + " to " + value);
          }
          last = value;
        }
      }
    }
  }

  private Supplier<Long> randomQuery(Random random) {
    int layer = random.nextInt(LAYERS);
    var view = view(layer, random.nextInt(4));
    var counter = counter(random);
    return switch (random.nextInt(3)) {
      case 0 -> view::sum;
      case 1 -> view::sumInParallel;
      default -> () -> counter.value() + view.sum();
    };
  }

  @Test
  void everythingAtOnceEndsWithEveryResultTrueAndNothingLeft() throws Exception {
    System.out.println("soak: seed " + SEED + ", " + SECONDS + " s");
    var random = new Random(SEED);
    for (int layer = 0; layer < LAYERS; layer++) {
      for (int i = 0; i < 4; i++) {
        view(layer, i).read(someBelow(layer, random));
      }
    }
    storage.failing = true;
    var acknowledged = new ConcurrentHashMap<Integer, AtomicLong>();
    IntStream.range(0, CELLS).forEach(i -> acknowledged.put(i, new AtomicLong()));
    var queries = Stream.generate(() -> randomQuery(random)).limit(12).toList();
    var kept = queries.stream().map(query -> node.reactive(query::get)).toList();
    var trackers = kept.stream().map(ReactiveComputation::tracker).toList();

    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 4; i++) {
      var own = new Random(random.nextLong());
      threads.add(start("writer " + i, () -> write(own, acknowledged)));
    }
    for (int i = 0; i < 4; i++) {
      var own = new Random(random.nextLong());
      threads.add(start("watcher " + i, () -> watch(own)));
    }
    for (int i = 0; i < 3; i++) {
      int counter = i;
      threads.add(start("follower " + i, () -> followOne(counter)));
    }
    new CountDownLatch(1).await(SECONDS, TimeUnit.SECONDS);
    over = true;
    for (var thread : threads) {
      assertTrue(thread.join(PATIENCE), () -> "stuck: " + stack(thread));
    }
    storage.failing = false;
    assertEquals(List.of(), List.copyOf(failures));

    acknowledged.forEach(
        (i, least) ->
            assertTrue(
                node.grains().get(Counter.class, "c" + i).value() >= least.get(),
                "an acknowledged write to c" + i + " is lost"));
    for (int i = 0; i < kept.size(); i++) {
      checkTrue(queries.get(i), trackers.get(i));
    }
    kept.forEach(ReactiveComputation::close);
    WiredNodes.await(
        "nothing to be left, but there is " + node.counts(),
        () -> node.counts().equals(new NodeCounts(0, 0, 0, 0, 0, 0)));
    node.close();
  }

  private Thread start(String name, Runnable body) {
    return Thread.ofPlatform()
        .name(name)
        .start(
            () -> {
              try {
                body.run();
              } catch (Throwable t) {
                failures.add(name + ": " + t + " at " + List.of(t.getStackTrace()));
              }
            });
  }

  private static String stack(Thread thread) {
    return thread + " at " + List.of(thread.getStackTrace());
  }

  /** The last result of a tracker that has watched all along is what a call gets now. */
  private static void checkTrue(Supplier<Long> query, ResultTracker<Long> tracker) {
    var last = new AtomicLong(Long.MIN_VALUE);
    WiredNodes.await(
        "the last result to be true",
        () -> {
          tracker.poll(Duration.ofMillis(100)).ifPresent(result -> last.set(result.get()));
          return last.get() == query.get();
        });
  }
}
