package dev.evergreen.bench;

import java.util.List;

/** One caller, nothing else to do: the latency of a call on the same node. */
final class LocalCall implements Experiment {

  @Override
  public String name() {
    return "call";
  }

  @Override
  public List<Line> measure(Effort effort) throws Exception {
    var read = Variant.sampled(CallBenchmark.class, "read");
    var write = Variant.sampled(CallBenchmark.class, "write");
    var handOff = Variant.sampled(CallBenchmark.class, "handOff");
    var plain = Variant.sampled(CallBenchmark.class, "plain");
    var values =
        new Measured(
            JmhRounds.measure(
                List.of(
                    read,
                    write,
                    handOff,
                    plain,
                    read.fromPlatformThread(),
                    write.fromPlatformThread(),
                    handOff.fromPlatformThread()),
                effort),
            1_000);
    var hand = "starting a virtual thread and parking";
    return List.of(
        Line.compared("call of a read", "µs", values.of(read), hand, values.of(handOff)).atMost(2),
        Line.compared("call of a write", "µs", values.of(write), hand, values.of(handOff))
            .atMost(2),
        Line.compared(
            "call of a read, from a platform thread",
            "µs",
            values.of(read.fromPlatformThread()),
            hand,
            values.of(handOff.fromPlatformThread())),
        Line.compared(
            "call of a write, from a platform thread",
            "µs",
            values.of(write.fromPlatformThread()),
            hand,
            values.of(handOff.fromPlatformThread())),
        Line.compared(
            "starting a virtual thread and parking",
            "µs",
            values.of(handOff),
            "a plain method call and reading the clock",
            values.of(plain)));
  }
}
