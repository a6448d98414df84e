package dev.evergreen.telemetry;

import dev.evergreen.core.Node;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The metrics of a process as the text that Prometheus reads. Thread-safe. */
public final class Prometheus implements AutoCloseable {

  /** What {@link #scrape} is, for HTTP. */
  public static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final List<Runnable> refreshing = new CopyOnWriteArrayList<>();

  private Prometheus(Node node) {
    var metrics = NodeMetrics.of(node);
    metrics.bindTo(registry);
    refreshing.add(metrics::refresh);
  }

  /** The metrics of this node; others can be added to {@link #registry}. */
  public static Prometheus of(Node node) {
    return new Prometheus(node);
  }

  /** Where the application may bind meters of its own, such as those of the JVM. */
  public MeterRegistry registry() {
    return registry;
  }

  /** Adds the metrics of a web server, whichever of the process's. */
  public Prometheus add(WebMetrics server) {
    server.bindTo(registry);
    refreshing.add(server::refresh);
    return this;
  }

  /** All metrics as text, in the format {@link #CONTENT_TYPE}. */
  public String scrape() {
    refreshing.forEach(Runnable::run);
    return registry.scrape("text/plain");
  }

  @Override
  public void close() {
    registry.close();
  }
}
