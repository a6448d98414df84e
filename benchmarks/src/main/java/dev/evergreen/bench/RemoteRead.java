package dev.evergreen.bench;

import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** One caller reads grains of other processes: plainly, in computations, from the cache. */
final class RemoteRead implements NodeExperiment {

  /** So many that what one read leaves in caches is gone when the item's turn comes again. */
  private static final int ITEMS = 10_000;

  private static final int BLOCK = 20;
  private static final int CACHED_READS = 1_000;
  private static final int[] SIZES = {1, 10, 100};

  private static final String CALL = "call";
  private static final String FIRST = "first";
  private static final String CACHED = "cached";

  /** The reads of one run. */
  private static final class Reads {
    private final BenchCluster cluster;
    private final List<Item> items;
    private int next;

    Reads(BenchCluster cluster) {
      this.cluster = cluster;
      Grains grains = cluster.node().grains();
      items = IntStream.range(0, ITEMS).mapToObj(i -> grains.get(Item.class, "read" + i)).toList();
      items.forEach(item -> item.set(1));
    }

    /** The next items in turn. */
    private List<Item> next(int count) {
      if (next + count > ITEMS) {
        next = 0;
      }
      next += count;
      return items.subList(next - count, next);
    }

    private int compute(dev.evergreen.core.Computation<Integer> body) {
      try (var computation = cluster.node().reactive(body)) {
        return computation.tracker().next();
      }
    }

    /** The variants by name, each of which makes one measurement. */
    Map<String, Runnable> variants() {
      var variants = new LinkedHashMap<String, Runnable>();
      variants.put(CALL, () -> check(next(1).getFirst().value(), 1));
      variants.put(FIRST, () -> check(compute(next(1).getFirst()::value), 1));
      for (int size : SIZES) {
        variants.put("plain" + size, () -> check(sum(next(size)), size));
        variants.put(
            "reactive" + size,
            () -> {
              var group = next(size);
              check(compute(() -> sum(group)), size);
            });
        variants.put("plain parallel" + size, () -> check(sumInParallel(next(size)), size));
        variants.put(
            "reactive parallel" + size,
            () -> {
              var group = next(size);
              check(compute(() -> sumInParallel(group)), size);
            });
      }
      return variants;
    }

    /** The time of one read from the cache, in microseconds. */
    double cachedRead(int computations) {
      var item = items.getFirst();
      try (var holder = cluster.node().reactive(item::value)) {
        check(holder.tracker().next(), 1);
        var latency = new Latency();
        for (int i = 0; i < computations; i++) {
          latency.time(() -> check(compute(() -> sumOf(item, CACHED_READS)), CACHED_READS));
        }
        return latency.percentile(50) / CACHED_READS;
      }
    }

    private static int sumOf(Item item, int times) {
      int sum = 0;
      for (int i = 0; i < times; i++) {
        sum += item.value();
      }
      return sum;
    }

    private static int sum(List<Item> group) {
      int sum = 0;
      for (var item : group) {
        sum += item.value();
      }
      return sum;
    }

    private static int sumInParallel(List<Item> group) {
      return Parallel.map(group, Item::value).stream().mapToInt(Integer::intValue).sum();
    }

    private static void check(int result, int expected) {
      if (result != expected) {
        throw new IllegalStateException("read " + result + " instead of " + expected);
      }
    }
  }

  @Override
  public String name() {
    return "read";
  }

  @Override
  public BenchCluster.Role role() {
    return BenchCluster.Role.CALLER;
  }

  @Override
  public List<Line> measure(BenchCluster cluster, Effort effort) throws Exception {
    return Latency.onVirtualThread(() -> measure(new Reads(cluster), effort));
  }

  private static List<Line> measure(Reads reads, Effort effort) {
    var values = new LinkedHashMap<String, List<Double>>();
    long warm = System.nanoTime() + 4 * effort.warmUp().toNanos();
    do {
      round(reads, effort.samples() / 5, new LinkedHashMap<>());
    } while (System.nanoTime() - warm < 0);
    for (int i = 0; i < effort.rounds(); i++) {
      round(reads, effort.samples(), values);
    }
    return lines(values);
  }

  private static void round(Reads reads, int samples, Map<String, List<Double>> values) {
    var variants = reads.variants();
    var latencies = new LinkedHashMap<String, Latency>();
    for (int done = 0; done < samples; done += BLOCK) {
      variants.forEach(
          (name, variant) -> {
            var latency = latencies.computeIfAbsent(name, n -> new Latency());
            // A hundred reads in one are a sample that is a hundred times as good.
            int block = name.endsWith("100") ? BLOCK / 10 : BLOCK;
            for (int i = 0; i < block; i++) {
              latency.time(variant);
            }
          });
    }
    latencies.forEach(
        (name, latency) ->
            values.computeIfAbsent(name, n -> new ArrayList<>()).add(latency.percentile(50)));
    values
        .computeIfAbsent(CACHED, n -> new ArrayList<>())
        .add(reads.cachedRead(Math.max(20, samples / 5)));
  }

  private static List<Double> of(Map<String, List<Double>> values, String name) {
    var found = values.get(name);
    if (found == null) {
      throw new IllegalArgumentException(name + " was not measured");
    }
    return found;
  }

  private static List<Line> lines(Map<String, List<Double>> values) {
    var lines = new ArrayList<Line>();
    var call = of(values, CALL);
    lines.add(
        Line.compared(
            "first read of a remote grain in a computation",
            "µs",
            of(values, FIRST),
            "remote call",
            call));
    var cached = of(values, CACHED);
    lines.add(
        Line.compared("cached read of a remote grain", "µs", cached, "remote call", call)
            .atMost(0.1));
    lines.add(
        Line.compared(
                "remote call, one caller", "µs", call, "cached read of a remote grain", cached)
            .ratioAtLeast(1_000));
    for (int size : SIZES) {
      for (var how : List.of("", " parallel")) {
        lines.add(
            Line.compared(
                    "one-time query of %d remote grain%s%s, nothing cached"
                        .formatted(
                            size, size == 1 ? "" : "s", how.isEmpty() ? "" : ", in parallel"),
                    "µs",
                    of(values, "reactive" + how + size),
                    "the plain query",
                    of(values, "plain" + how + size))
                .ratioAtMost(1.10));
      }
    }
    return lines;
  }
}
