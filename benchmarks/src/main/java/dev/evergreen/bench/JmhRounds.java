package dev.evergreen.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Lets JMH measure variants in turns. JMH itself runs one benchmark to its end before the next, and
 * on a shared machine the two would see different weather. So each turn is a run of JMH without a
 * fork, all in this process: the variants share one warmed-up virtual machine, as they would in a
 * service.
 */
final class JmhRounds {

  static {
    System.setProperty("jmh.executor", "CUSTOM");
    System.setProperty("jmh.executor.class", Callers.class.getName());
    System.setProperty("jmh.ignoreLock", "true");
  }

  private JmhRounds() {}

  /**
   * Measures.
   *
   * @return the values of each variant by round, in the unit of its mode
   */
  static Map<Variant, List<Double>> measure(List<Variant> variants, Effort effort)
      throws RunnerException {
    for (int pass = 0; pass < 2; pass++) {
      for (var variant : variants) {
        run(variant, effort.warmUp());
      }
    }
    var values = new LinkedHashMap<Variant, List<Double>>();
    for (int round = 0; round < effort.rounds(); round++) {
      for (var variant : variants) {
        values.computeIfAbsent(variant, v -> new ArrayList<>()).add(run(variant, effort.slice()));
      }
    }
    return values;
  }

  private static double run(Variant variant, Duration time) throws RunnerException {
    Callers.areVirtual(variant.virtual());
    var options =
        new OptionsBuilder()
            .include(variant.pattern())
            .mode(variant.mode())
            .timeUnit(variant.mode() == Mode.Throughput ? TimeUnit.SECONDS : TimeUnit.NANOSECONDS)
            .threads(variant.callers())
            .forks(0)
            .warmupIterations(0)
            .measurementIterations(1)
            .measurementTime(TimeValue.nanoseconds(time.toNanos()))
            // JMH's threads would else spin for each other, and virtual ones never get a turn.
            .syncIterations(false)
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT)
            .build();
    var result = new Runner(options).runSingle().getPrimaryResult();
    return variant.mode() == Mode.SampleTime
        ? result.getStatistics().getPercentile(50)
        : result.getScore();
  }
}
