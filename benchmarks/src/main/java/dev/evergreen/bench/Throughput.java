package dev.evergreen.bench;

import java.util.List;

/** Many callers: how many calls a second all processors make together. */
final class Throughput implements Experiment {

  private static final int CALLERS = 64;

  @Override
  public String name() {
    return "throughput";
  }

  @Override
  public List<Line> measure(Effort effort) throws Exception {
    var ownReads = Variant.counted(CallBenchmark.class, "readOwn", CALLERS);
    var ownWrites = Variant.counted(CallBenchmark.class, "writeOwn", CALLERS);
    var sharedReads = Variant.counted(CallBenchmark.class, "read", CALLERS);
    var sharedWrites = Variant.counted(CallBenchmark.class, "write", CALLERS);
    var handOffs = Variant.counted(CallBenchmark.class, "handOff", CALLERS);
    var values =
        new Measured(
            JmhRounds.measure(
                List.of(ownReads, ownWrites, sharedReads, sharedWrites, handOffs), effort),
            1e6);
    var hand = "starting a virtual thread and parking";
    return List.of(
        line("64 callers read a grain each", values, ownReads, hand, handOffs).atLeast(1),
        line("64 callers write to a grain each", values, ownWrites, hand, handOffs).atLeast(1),
        line("64 callers read one grain", values, sharedReads, hand, handOffs),
        line("64 callers write to one grain", values, sharedWrites, hand, handOffs));
  }

  private static Line line(
      String name, Measured values, Variant variant, String against, Variant baseline) {
    return Line.compared(name, "M/s", values.of(variant), against, values.of(baseline));
  }
}
