package dev.evergreen.telemetry;

import dev.evergreen.web.WebCounts;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * What a web server counts as Micrometer's meters, named {@code evergreen.web…}; {@code
 * docs/operations.md} lists them. Thread-safe.
 */
public final class WebMetrics implements MeterBinder {

  private final Supplier<WebCounts> source;
  private final List<MeterRegistry> registries = new CopyOnWriteArrayList<>();

  private WebMetrics(Supplier<WebCounts> source) {
    this.source = source;
  }

  /** The metrics of a server, which is asked whenever a meter is read: {@code server::counts}. */
  public static WebMetrics of(Supplier<WebCounts> counts) {
    return new WebMetrics(counts);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    gauge(registry, "connections", "open connections", WebCounts::connections);
    gauge(registry, "live", "WebSockets and event streams", WebCounts::liveConnections);
    gauge(registry, "subscriptions", "views that are watched", WebCounts::subscriptions);
    gauge(registry, "views", "live computations", WebCounts::views);
    gauge(registry, "held.bytes", "results that are kept", WebCounts::heldBytes);
    count(registry, "requests", "requests", Tags.empty(), WebCounts::requests);
    count(registry, "waits", "waits after much work", Tags.empty(), WebCounts::waits);
    count(registry, "malformed", "what was not understood", Tags.empty(), WebCounts::malformed);
    result(registry, "written", WebCounts::resultsSerialised);
    result(registry, "sent", WebCounts::resultsSent);
    result(registry, "skipped", WebCounts::resultsSkipped);
    result(registry, "unchanged", WebCounts::unchanged);
    registries.add(registry);
    refresh();
  }

  /** Makes meters for reasons of cuts and refusals that are new since the last time. */
  public void refresh() {
    var now = source.get();
    for (var registry : registries) {
      reasons(registry, "cut", "connections that were cut", now.cut(), WebCounts::cut);
      reasons(registry, "refused", "what was refused", now.refused(), WebCounts::refused);
    }
  }

  private void reasons(
      MeterRegistry registry,
      String name,
      String description,
      Map<String, Long> now,
      Function<WebCounts, Map<String, Long>> counts) {
    for (var reason : now.keySet()) {
      count(
          registry,
          name,
          description,
          Tags.of("reason", reason),
          all -> counts.apply(all).getOrDefault(reason, 0L));
    }
  }

  private void result(MeterRegistry registry, String what, ToDoubleFunction<WebCounts> value) {
    count(registry, "results", "results, and what became of them", Tags.of("what", what), value);
  }

  private void gauge(
      MeterRegistry registry, String name, String description, ToDoubleFunction<WebCounts> value) {
    Gauge.builder("evergreen.web." + name, () -> value.applyAsDouble(source.get()))
        .description(description)
        .register(registry);
  }

  /** A meter does not keep what it is given to ask, but its function; so that asks. */
  private void count(
      MeterRegistry registry,
      String name,
      String description,
      Tags tags,
      ToDoubleFunction<WebCounts> value) {
    FunctionCounter.builder(
            "evergreen.web." + name, registry, _ -> value.applyAsDouble(source.get()))
        .description(description)
        .tags(tags)
        .register(registry);
  }
}
