package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReactiveComputation;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Reads that are answered from caches, since another computation holds them. Each invocation is one
 * new computation, whose making and closing is shared out among its reads. Public and open, since
 * JMH derives from it.
 */
@SuppressWarnings("NullAway.Init") // JMH calls the set-up first
public class CachedReadBenchmark {

  private static final int KEYS = 1_000;

  /** A node whose process has a cache of each item. */
  @State(Scope.Benchmark)
  public static class World {
    private Node node;
    private List<Item> items;
    private ReactiveComputation<Integer> holder;
    private List<Key> keys;
    private final ConcurrentHashMap<Key, Integer> map = new ConcurrentHashMap<>();

    /** Starts the node and fills its caches. */
    @Setup
    public void start() {
      node = EmbeddedNode.builder().grain(Item.class, Item.ItemGrain::new).start();
      items =
          IntStream.range(0, KEYS)
              .mapToObj(i -> node.grains().get(Item.class, "item" + i))
              .toList();
      holder =
          node.reactive(
              () -> items.stream().mapToInt(Item::value).sum() + items.getFirst().times(3));
      if (holder.tracker().next() != 0) {
        throw new IllegalStateException("new items should be 0");
      }
      keys = IntStream.range(0, KEYS).mapToObj(i -> new Key("Item", "item" + i, "value")).toList();
      keys.forEach(key -> map.put(key, 0));
    }

    /** Stops the node. */
    @TearDown
    public void stop() {
      holder.close();
      node.close();
    }
  }

  private record Key(String type, String key, String operation) {}

  /** The same key again and again in one run. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public int readAgain(World world) {
    var item = world.items.getFirst();
    return compute(
        world,
        () -> {
          int sum = 0;
          for (int i = 0; i < KEYS; i++) {
            sum += item.value();
          }
          return sum;
        });
  }

  /** As {@link #readAgain}, of an operation with an argument. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public int readAgainWithArgument(World world) {
    var item = world.items.getFirst();
    return compute(
        world,
        () -> {
          int sum = 0;
          for (int i = 0; i < KEYS; i++) {
            sum += item.times(3);
          }
          return sum;
        });
  }

  /** Each key once in one run. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public int readFirst(World world) {
    return compute(
        world,
        () -> {
          int sum = 0;
          for (var item : world.items) {
            sum += item.value();
          }
          return sum;
        });
  }

  /** A look-up of each key, which is made for it as a call makes its own. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public int map(World world) {
    int sum = 0;
    for (var known : world.keys) {
      sum += world.map.getOrDefault(new Key(known.type, known.key, known.operation), 1);
    }
    return sum;
  }

  private static int compute(World world, dev.evergreen.core.Computation<Integer> body) {
    try (var computation = world.node.reactive(body)) {
      return computation.tracker().next();
    }
  }
}
