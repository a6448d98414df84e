package dev.evergreen.bench;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The queries of 004, Figure 7, of views with four items each. The views take turns, and there are
 * so many that what one query leaves in caches is gone when its view's turn comes again. Public and
 * open, since JMH derives from it.
 */
@SuppressWarnings("NullAway.Init") // JMH calls the set-up first
public class QueryBenchmark {

  private static final int VIEWS = 500;
  private static final int CACHED = 25;
  private static final int ITEMS = 4;
  private static final Duration GRACE = Duration.ofMillis(1);

  private static final LongAdder UNCACHED = new LongAdder();
  private static final LongAdder EXECUTED = new LongAdder();

  /** How many reads of items the queries that should find nothing cached made, on average. */
  static double executedReads() {
    return EXECUTED.sumThenReset() / (double) UNCACHED.sumThenReset();
  }

  /** A node with its views; the items of some are cached. */
  @State(Scope.Benchmark)
  public static class World {
    private Node node;
    private List<View> views;
    private List<View> cachedViews;
    private ReactiveComputation<Integer> holder;
    private int turn;
    private long readsBefore;
    private int uncached;

    /** Starts the node and activates all grains. */
    @Setup
    public void start() {
      node =
          EmbeddedNode.builder()
              .grain(Item.class, Item.ItemGrain::new)
              .grain(View.class, View.ViewGrain::new)
              .settings(NodeSettings.DEFAULT.withCacheGrace(GRACE))
              .start();
      views = IntStream.range(0, VIEWS).mapToObj(i -> view("view" + i)).toList();
      cachedViews = IntStream.range(0, CACHED).mapToObj(i -> view("cached" + i)).toList();
      var items =
          IntStream.range(0, CACHED)
              .boxed()
              .flatMap(i -> items("cached" + i).stream())
              .map(key -> node.grains().get(Item.class, key))
              .toList();
      holder = node.reactive(() -> items.stream().mapToInt(Item::value).sum());
      if (holder.tracker().next() != 0) {
        throw new IllegalStateException("new items should be 0");
      }
      readsBefore = Item.ItemGrain.READS.sum();
    }

    private View view(String key) {
      var view = node.grains().get(View.class, key);
      view.dependOn(items(key));
      view.query(true);
      return view;
    }

    private static List<String> items(String view) {
      return IntStream.range(0, ITEMS).mapToObj(i -> view + "-item" + i).toList();
    }

    /** Stops the node. */
    @TearDown
    public void stop() {
      if (uncached > 0) {
        EXECUTED.add(Item.ItemGrain.READS.sum() - readsBefore);
        UNCACHED.add(uncached);
      }
      holder.close();
      node.close();
    }

    private View next() {
      return views.get(++turn % VIEWS);
    }

    private View nextUncached() {
      uncached++;
      return next();
    }

    private View nextCached() {
      return cachedViews.get(++turn % CACHED);
    }
  }

  /** The plain query. */
  @Benchmark
  public int[] plainSequential(World world) {
    return world.next().query(true);
  }

  /** The plain query in parallel. */
  @Benchmark
  public int[] plainParallel(World world) {
    return world.next().query(false);
  }

  /** The one-time reactive query, nothing cached. */
  @Benchmark
  public int[] reactiveSequential(World world) {
    return world.nextUncached().oneTimeReactiveQuery(true);
  }

  /** The one-time reactive query in parallel, nothing cached. */
  @Benchmark
  public int[] reactiveParallel(World world) {
    return world.nextUncached().oneTimeReactiveQuery(false);
  }

  /** The one-time reactive query, the items cached. */
  @Benchmark
  public int[] cachedSequential(World world) {
    return world.nextCached().oneTimeReactiveQuery(true);
  }

  /** The one-time reactive query in parallel, the items cached. */
  @Benchmark
  public int[] cachedParallel(World world) {
    return world.nextCached().oneTimeReactiveQuery(false);
  }
}
