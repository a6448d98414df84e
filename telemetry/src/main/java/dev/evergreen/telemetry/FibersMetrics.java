package dev.evergreen.telemetry;

import dev.evergreen.fibers.FibersReport;
import dev.evergreen.fibers.FibersReport.ProcessorReport;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * What a runtime of fibers reports as Micrometer's meters, named {@code evergreen.fibers…}; {@code
 * docs/memcached.md} lists them. Those of processors have the tag {@code processor}, and are
 * missing in mode JDK. Thread-safe.
 */
public final class FibersMetrics implements MeterBinder {

  private final Supplier<FibersReport> source;

  private FibersMetrics(Supplier<FibersReport> source) {
    this.source = source;
  }

  /** The metrics of a runtime that is asked whenever a meter is read. */
  public static FibersMetrics of(Supplier<FibersReport> report) {
    return new FibersMetrics(report);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Gauge.builder("evergreen.fibers", source, report -> report.get().fibers())
        .description("fibers that live")
        .strongReference(true)
        .register(registry);
    int processors = source.get().processors().size();
    for (int i = 0; i < processors; i++) {
      bind(registry, i);
    }
  }

  private void bind(MeterRegistry registry, int processor) {
    Gauge.builder("evergreen.fibers.ready", source, value(processor, ProcessorReport::ready))
        .description("fibers that wait for the processor")
        .tag("processor", "" + processor)
        .strongReference(true)
        .register(registry);
    TimeGauge.builder(
            "evergreen.fibers.oldest.wait",
            source,
            TimeUnit.NANOSECONDS,
            value(processor, report -> report.oldestWait().toNanos()))
        .description("how long the first of them has waited")
        .tag("processor", "" + processor)
        .strongReference(true)
        .register(registry);
    count(registry, processor, "runs", "runs of fibers", ProcessorReport::runs);
    count(registry, processor, "polls", "questions for events", ProcessorReport::polls);
    count(registry, processor, "sleeps", "sleeps for want of work", ProcessorReport::sleeps);
    count(registry, processor, "steals", "fibers taken from another", ProcessorReport::steals);
    count(registry, processor, "helps", "overdue work done for another", ProcessorReport::helps);
    count(registry, processor, "posts", "outputs that left with others", ProcessorReport::posts);
  }

  private void count(
      MeterRegistry registry,
      int processor,
      String name,
      String description,
      ToDoubleFunction<ProcessorReport> count) {
    FunctionCounter.builder("evergreen.fibers." + name, source, value(processor, count))
        .description(description)
        .tag("processor", "" + processor)
        .register(registry);
  }

  private static ToDoubleFunction<Supplier<FibersReport>> value(
      int processor, ToDoubleFunction<ProcessorReport> value) {
    return report -> value.applyAsDouble(report.get().processors().get(processor));
  }
}
