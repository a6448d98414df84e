package dev.evergreen.bench;

import java.util.List;

/** Reads inside a computation that this process's caches answer. */
final class CachedRead implements Experiment {

  @Override
  public String name() {
    return "cached-read";
  }

  @Override
  public List<Line> measure(Effort effort) throws Exception {
    var again = Variant.sampled(CachedReadBenchmark.class, "readAgain");
    var argument = Variant.sampled(CachedReadBenchmark.class, "readAgainWithArgument");
    var first = Variant.sampled(CachedReadBenchmark.class, "readFirst");
    var map = Variant.sampled(CachedReadBenchmark.class, "map");
    var values =
        new Measured(JmhRounds.measure(List.of(again, argument, first, map), effort), 1_000);
    var get = "ConcurrentHashMap.get with a record of strings";
    return List.of(
        Line.compared("cached read, again in one run", "µs", values.of(again), get, values.of(map))
            .atMost(0.1),
        Line.compared(
                "cached read, again, with an argument",
                "µs",
                values.of(argument),
                get,
                values.of(map))
            .atMost(0.1),
        Line.compared(
                "cached read, first of its key in a run",
                "µs",
                values.of(first),
                get,
                values.of(map))
            .atMost(0.1));
  }
}
