package dev.evergreen.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersReport;
import dev.evergreen.fibers.FibersReport.ProcessorReport;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class FibersMetricsTest {

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  @Test
  void showWhatEachProcessorReports() {
    var first = new ProcessorReport(1, Duration.ofMillis(2), 3, 4, 5, 6, 7, 8);
    var second = new ProcessorReport(10, Duration.ofMillis(20), 30, 40, 50, 60, 70, 80);
    var report = new FibersReport(9, List.of(first, second));
    FibersMetrics.of(() -> report).bindTo(registry);
    assertEquals(9, registry.get("evergreen.fibers").gauge().value());
    var names = List.of("runs", "polls", "sleeps", "steals", "helps", "posts");
    for (int i = 0; i < names.size(); i++) {
      assertEquals(3 + i, count(names.get(i), "0"));
      assertEquals(30 + 10 * i, count(names.get(i), "1"));
    }
    var ready = registry.get("evergreen.fibers.ready").tag("processor", "1").gauge();
    assertEquals(10, ready.value());
    var wait = registry.get("evergreen.fibers.oldest.wait").tag("processor", "1").timeGauge();
    assertEquals(20, wait.value(TimeUnit.MILLISECONDS));
  }

  private double count(String name, String processor) {
    return registry
        .get("evergreen.fibers." + name)
        .tag("processor", processor)
        .functionCounter()
        .count();
  }

  @Test
  void followARunningRuntimeInEveryMode() throws InterruptedException {
    try (var fibers = Fibers.builder().processors(2).start()) {
      FibersMetrics.of(fibers::report).bindTo(registry);
      assertEquals(0, registry.get("evergreen.fibers").gauge().value());
      var end = new CountDownLatch(1);
      var fiber = fibers.spawn(() -> awaitQuietly(end));
      assertEquals(1, registry.get("evergreen.fibers").gauge().value());
      end.countDown();
      fiber.join();
      if (fibers.mode() == Fibers.Mode.PROCESSORS) {
        assertTrue(count("runs", "0") + count("runs", "1") > 0);
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
