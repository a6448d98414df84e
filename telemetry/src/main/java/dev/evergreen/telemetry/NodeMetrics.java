package dev.evergreen.telemetry;

import dev.evergreen.core.Node;
import dev.evergreen.reports.Durations;
import dev.evergreen.reports.NodeReport;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A node's report as Micrometer's meters, named {@code evergreen.…}; {@code docs/operations.md}
 * lists them. The node is asked at most once a second, when meters are read. Thread-safe.
 */
public final class NodeMetrics implements MeterBinder {

  private static final long NEW_AFTER_NANOS = Duration.ofSeconds(1).toNanos();

  /** How long the interval of the latencies is, at least. */
  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private static final List<Double> QUANTILES = List.of(0.5, 0.99, 1.0);

  /** What was read when. */
  private record Reading(NodeReport report, long atNanos) {}

  /** Meters whose tags are known only when they are read. */
  private record Dynamic(MultiGauge activations, MultiGauge outboxes) {}

  private final Supplier<NodeReport> source;
  private final LongSupplier nanoTime;
  private final List<Dynamic> dynamics = new CopyOnWriteArrayList<>();

  /** The present reading, and two earlier ones; guarded by this. */
  private @Nullable Reading present;

  private @Nullable Reading begun;
  private Durations before = Durations.NONE;

  private NodeMetrics(Supplier<NodeReport> source, LongSupplier nanoTime) {
    this.source = source;
    this.nanoTime = nanoTime;
  }

  /** The metrics of this node. */
  public static NodeMetrics of(Node node) {
    return of(() -> NodeReport.of(node), System::nanoTime);
  }

  /** With another clock. */
  static NodeMetrics of(Supplier<NodeReport> source, LongSupplier nanoTime) {
    return new NodeMetrics(source, nanoTime);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    for (var metric : Metric.ALL) {
      bind(metric, registry);
    }
    FunctionTimer.builder(
            "evergreen.calls",
            this,
            metrics -> metrics.time().count(),
            metrics -> metrics.time().total().toNanos(),
            TimeUnit.NANOSECONDS)
        .description("calls that have ended, and how long they took")
        .register(registry);
    for (double quantile : QUANTILES) {
      TimeGauge.builder(
              "evergreen.calls.latency",
              this,
              TimeUnit.NANOSECONDS,
              metrics -> metrics.recent().quantile(quantile).toNanos())
          .description("latencies of the calls of the last ten to twenty seconds")
          .tags("quantile", Double.toString(quantile))
          .register(registry);
    }
    TimeGauge.builder("evergreen.uptime", this, TimeUnit.MILLISECONDS, NodeMetrics::uptime)
        .description("since the start of the node")
        .register(registry);
    Gauge.builder("evergreen.serving", this, metrics -> metrics.report().serving() ? 1 : 0)
        .description("1 while the node takes calls, else 0")
        .register(registry);
    dynamics.add(
        new Dynamic(
            MultiGauge.builder("evergreen.grains.active")
                .description("active grains by type")
                .register(registry),
            MultiGauge.builder("evergreen.outbox")
                .description("results that another node has not acknowledged")
                .register(registry)));
    refresh();
  }

  private void bind(Metric metric, MeterRegistry registry) {
    if (metric.counts()) {
      FunctionCounter.builder(metric.name(), this, m -> metric.value().applyAsDouble(m.report()))
          .description(metric.description())
          .tags(metric.tags())
          .register(registry);
    } else {
      Gauge.builder(metric.name(), this, m -> metric.value().applyAsDouble(m.report()))
          .description(metric.description())
          .tags(metric.tags())
          .strongReference(true)
          .register(registry);
    }
  }

  /**
   * Asks the node anew if the last report is old. Reading any meter does that, too; but tags that
   * appear by it, such as a new grain type, are seen by the next reading only, unless this came
   * before.
   */
  public void refresh() {
    report();
  }

  private NodeReport report() {
    NodeReport fresh;
    synchronized (this) {
      long now = nanoTime.getAsLong();
      if (present != null && now - present.atNanos < NEW_AFTER_NANOS) {
        return present.report;
      }
      fresh = source.get();
      present = new Reading(fresh, now);
      if (begun == null) {
        begun = present;
      } else if (now - begun.atNanos >= INTERVAL_NANOS) {
        before = begun.report.calls().time();
        begun = present;
      }
    }
    for (var dynamic : dynamics) {
      dynamic.activations.register(rows("type", fresh.activations()), true);
      dynamic.outboxes.register(rows("node", fresh.queues().outboxes()), true);
    }
    return fresh;
  }

  private static List<Row<?>> rows(String tag, Map<String, Integer> counts) {
    return counts.entrySet().stream()
        .<Row<?>>map(entry -> Row.of(Tags.of(tag, entry.getKey()), entry.getValue()))
        .toList();
  }

  private Durations time() {
    return report().calls().time();
  }

  private Durations recent() {
    var now = time();
    synchronized (this) {
      return now.since(before);
    }
  }

  private double uptime() {
    var report = report();
    return Duration.between(report.upSince(), report.at()).toMillis();
  }
}
