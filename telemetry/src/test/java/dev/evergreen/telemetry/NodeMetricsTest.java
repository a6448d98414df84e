package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Node;
import dev.evergreen.reports.NodeReport;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class NodeMetricsTest {

  private static final Path OPERATIONS = Path.of("../docs/operations.md");
  private static final Pattern ROW =
      Pattern.compile("^\\| `(evergreen(?!\\.web)[a-z.]+)` \\|([^|]*)\\|");

  private final Node node = EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start();
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicInteger asked = new AtomicInteger();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final NodeMetrics metrics =
      NodeMetrics.of(
          () -> {
            asked.incrementAndGet();
            return NodeReport.of(node);
          },
          nanos::get);

  @AfterEach
  void close() {
    registry.close();
    node.close();
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  @Test
  void followTheNode() {
    metrics.bindTo(registry);
    var counter = node.grains().get(Counter.class, "c");
    counter.add(3);
    counter.value();
    assertThrows(IllegalArgumentException.class, () -> counter.add(-1));
    try (var value = node.reactive(counter::value);
        var tracker = value.tracker()) {
      tracker.next(Duration.ofSeconds(20));
      pass(Duration.ofSeconds(1));
      metrics.refresh();
      assertEquals(3, registry.get("evergreen.calls").functionTimer().count());
      assertTrue(
          registry.get("evergreen.calls").functionTimer().totalTime(TimeUnit.NANOSECONDS) > 0);
      assertEquals(
          1,
          registry.get("evergreen.calls.troubles").tag("kind", "failed").functionCounter().count());
      assertEquals(1, registry.get("evergreen.storage.saves").functionCounter().count());
      assertEquals(1, registry.get("evergreen.computations").gauge().value());
      assertEquals(
          1, registry.get("evergreen.grains.active").tag("type", "Counter").gauge().value());
      assertEquals(1, registry.get("evergreen.serving").gauge().value());
    }
    node.close();
    pass(Duration.ofSeconds(1));
    assertEquals(0, registry.get("evergreen.serving").gauge().value());
    assertEquals(0, registry.get("evergreen.computations").gauge().value());
  }

  @Test
  void askTheNodeOnceASecondHoweverManyAreRead() {
    metrics.bindTo(registry);
    for (int second = 1; second <= 3; second++) {
      assertEquals(second, asked.get());
      registry.getMeters().forEach(meter -> meter.measure().forEach(one -> one.getValue()));
      assertEquals(second, asked.get());
      pass(Duration.ofSeconds(1));
      metrics.refresh();
    }
  }

  @Test
  void latenciesAreThoseOfTheLastSeconds() {
    metrics.bindTo(registry);
    var longest = registry.get("evergreen.calls.latency").tag("quantile", "1.0").timeGauge();
    var counter = node.grains().get(Counter.class, "c");
    for (int i = 0; i < 10; i++) {
      counter.value();
    }
    pass(Duration.ofSeconds(2));
    assertTrue(longest.value(TimeUnit.NANOSECONDS) > 0);
    pass(Duration.ofSeconds(10));
    metrics.refresh();
    pass(Duration.ofSeconds(10));
    metrics.refresh();
    assertEquals(0, longest.value(TimeUnit.NANOSECONDS), "there were no calls meanwhile");
  }

  @Test
  void areThoseThatTheManualLists() throws IOException {
    metrics.bindTo(registry);
    node.grains().get(Counter.class, "c").value();
    pass(Duration.ofSeconds(1));
    metrics.refresh();
    var actual = new TreeMap<String, String>();
    for (var meter : registry.getMeters()) {
      var tags = meter.getId().getTags().stream().map(Tag::getKey).collect(Collectors.joining());
      actual.put(meter.getId().getName(), tags);
    }
    // There is no other node to have an outbox for.
    actual.put("evergreen.outbox", "node");
    var listed = new TreeMap<String, String>();
    for (var line : Files.readAllLines(OPERATIONS)) {
      var row = ROW.matcher(line);
      if (row.find()) {
        var tag = Pattern.compile("`([a-z]+)`").matcher(row.group(2));
        listed.put(row.group(1), tag.find() ? tag.group(1) : "");
      }
    }
    assertEquals(actual, listed);
  }
}
