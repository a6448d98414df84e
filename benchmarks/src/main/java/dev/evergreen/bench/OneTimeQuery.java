package dev.evergreen.bench;

import java.util.List;

/** The latency of one-time reactive queries (004 §6.1.1). */
final class OneTimeQuery implements Experiment {

  @Override
  public String name() {
    return "query";
  }

  @Override
  public List<Line> measure(Effort effort) throws Exception {
    var variants =
        List.of(
            variant("plainSequential"),
            variant("reactiveSequential"),
            variant("cachedSequential"),
            variant("plainParallel"),
            variant("reactiveParallel"),
            variant("cachedParallel"));
    var values = new Measured(JmhRounds.measure(variants, effort), 1_000);
    return List.of(
        line("reactive query, sequential, nothing cached", values, variants.get(1), variants.get(0))
            .ratioAtMost(1.10),
        line("reactive query, parallel, nothing cached", values, variants.get(4), variants.get(3))
            .ratioAtMost(1.10),
        line("reactive query, sequential, items cached", values, variants.get(2), variants.get(0)),
        line("reactive query, parallel, items cached", values, variants.get(5), variants.get(3)),
        Line.alone(
            "items that a query with nothing cached executes",
            "of 4",
            List.of(QueryBenchmark.executedReads())));
  }

  private static Variant variant(String method) {
    return Variant.sampled(QueryBenchmark.class, method);
  }

  private static Line line(String name, Measured values, Variant variant, Variant plain) {
    return Line.compared(name, "µs", values.of(variant), "the plain query", values.of(plain));
  }
}
