package dev.evergreen.server;

import dev.evergreen.provenance.LoaderReport;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.SpoolReport;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/**
 * How a recording is doing, as meters named {@code evergreen.trace…}; {@code docs/redis-shim.md}
 * lists them.
 */
final class RecordingMetrics implements MeterBinder {
  private final Recording recording;

  RecordingMetrics(Recording recording) {
    this.recording = recording;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    gauge(
        registry,
        "loading.failing",
        "1 while the database takes nothing, else 0",
        loader(report -> report.failure().isEmpty() ? 0 : 1));
    count(
        registry,
        "loading.failures",
        "attempts to load that have failed",
        loader(LoaderReport::failures));
    gauge(
        registry,
        "behind",
        "frames that are recorded and not in the database",
        of -> Math.max(0, of.spool().report().nextNumber() - 1 - of.loading().loaded()));
    gauge(registry, "spool.files", "files that are not loaded yet", spool(SpoolReport::segments));
    count(registry, "spool.waits", "waits for room in the spool", spool(SpoolReport::waits));
    count(
        registry, "spool.dropped", "frames dropped for want of room", spool(SpoolReport::dropped));
  }

  private static ToDoubleFunction<Recording> loader(ToDoubleFunction<LoaderReport> value) {
    return recording -> value.applyAsDouble(recording.loading());
  }

  private static ToDoubleFunction<Recording> spool(ToDoubleFunction<SpoolReport> value) {
    return recording -> value.applyAsDouble(recording.spool().report());
  }

  private void gauge(
      MeterRegistry registry, String name, String description, ToDoubleFunction<Recording> value) {
    Gauge.builder("evergreen.trace." + name, recording, value)
        .description(description)
        .strongReference(true)
        .register(registry);
  }

  private void count(
      MeterRegistry registry, String name, String description, ToDoubleFunction<Recording> value) {
    FunctionCounter.builder("evergreen.trace." + name, recording, value)
        .description(description)
        .register(registry);
  }
}
