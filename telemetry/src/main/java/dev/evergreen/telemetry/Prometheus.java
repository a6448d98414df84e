package dev.evergreen.telemetry;

import dev.evergreen.core.Node;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

/** The metrics of a process as the text that Prometheus reads. Thread-safe. */
public final class Prometheus implements AutoCloseable {

  /** What {@link #scrape} is, for HTTP. */
  public static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final NodeMetrics metrics;

  private Prometheus(Node node) {
    metrics = NodeMetrics.of(node);
    metrics.bindTo(registry);
  }

  /** The metrics of this node; others can be added to {@link #registry}. */
  public static Prometheus of(Node node) {
    return new Prometheus(node);
  }

  /** Where the application may bind meters of its own, such as those of the JVM. */
  public MeterRegistry registry() {
    return registry;
  }

  /** All metrics as text, in the format {@link #CONTENT_TYPE}. */
  public String scrape() {
    metrics.refresh();
    return registry.scrape("text/plain");
  }

  @Override
  public void close() {
    registry.close();
  }
}
