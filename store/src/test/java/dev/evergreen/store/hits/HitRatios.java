package dev.evergreen.store.hits;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares policies of eviction by their hit ratios in equal memory, all overhead included, and
 * prints the table of docs/evaluation/store-eviction.md. Arguments: the number of requests per
 * trace, by default three million.
 */
public final class HitRatios {
  private HitRatios() {}

  /** Runs all traces. */
  public static void main(String[] args) {
    long count = args.length > 0 ? Long.parseLong(args[0]) : 3_000_000;
    boolean first = true;
    for (var trace : Trace.all()) {
      for (long mebibytes : new long[] {16, 64}) {
        var policies = policies(trace, mebibytes << 20);
        if (first) {
          first = false;
          row("trace", "MiB", policies.stream().map(Policy::name));
          row("---", "---", policies.stream().map(policy -> "---"));
        }
        row(
            trace.name(),
            Long.toString(mebibytes),
            policies.stream().map(policy -> "%.1f".formatted(hitRatio(trace, policy, count))));
        policies.forEach(Policy::close);
      }
    }
  }

  private static void row(String trace, String mebibytes, Stream<String> cells) {
    System.out.println(
        Stream.concat(Stream.of(trace, mebibytes), cells)
            .collect(Collectors.joining(" | ", "| ", " |")));
  }

  private static List<Policy> policies(Trace trace, long limit) {
    double mean =
        trace.stream(100_000).mapToInt(Policies::ourBytes).average().orElseThrow()
            - Policies.INDEX_BYTES;
    return List.of(
        new Policies.Lru(trace.keys(), limit),
        new Policies.SegmentedLru(trace.keys(), limit),
        new Policies.S3Fifo(trace.keys(), limit, 1),
        new Policies.S3Fifo(trace.keys(), limit, 2),
        new Policies.Merging(trace.keys(), limit),
        new RealStore(limit, mean));
  }

  /** The share of hits in the second half of the requests; the first one fills the cache. */
  private static double hitRatio(Trace trace, Policy policy, long count) {
    var requests = trace.requests().get();
    long hits = 0;
    for (long i = 0; i < count; i++) {
      boolean hit = policy.get(requests.get(), (int) (i / Trace.PER_SECOND));
      hits += hit && i >= count / 2 ? 1 : 0;
    }
    return 100.0 * hits / (count - count / 2);
  }
}
