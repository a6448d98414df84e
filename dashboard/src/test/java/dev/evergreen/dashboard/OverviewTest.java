package dev.evergreen.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Node;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.dashboard.Counting.Counter;
import dev.evergreen.reports.NodeReport;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class OverviewTest {

  private final Node node = Counting.node();
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicReference<List<NodeReport>> reports = new AtomicReference<>(List.of());
  private final Overview overview = new Overview(reports::get, nanos::get);

  @AfterEach
  void close() {
    node.close();
  }

  /** A report of another node, so much after its last. */
  private NodeReport report(String address, long incarnation, Duration later) {
    var now = NodeReport.of(node);
    return new NodeReport(
        new NodeId(address, incarnation),
        now.upSince(),
        now.upSince().plus(later),
        now.serving(),
        now.counts(),
        now.activations(),
        now.hottest(),
        now.queues(),
        now.calls(),
        now.life(),
        now.computing(),
        now.pushes(),
        now.subscribing(),
        now.saving(),
        now.links());
  }

  private Overview.Look look(long atSeconds, NodeReport... present) {
    nanos.set(Duration.ofSeconds(atSeconds).toNanos());
    reports.set(List.of(present));
    return overview.look();
  }

  @Test
  void makesRatesOfTheLastTwoReports() {
    var counter = node.grains().get(Counter.class, "b");
    var first = look(0, report("a", 1, Duration.ofSeconds(10))).nodes().getFirst();
    assertTrue(first.rates().isEmpty(), first.toString());
    for (int i = 0; i < 30; i++) {
      counter.count();
    }
    var second = look(2, report("a", 1, Duration.ofSeconds(12))).nodes().getFirst();
    var rates = second.rates().orElseThrow();
    assertEquals(15, rates.calls(), 1e-6);
    assertTrue(rates.p50() > 0 && rates.p50() <= rates.p99(), rates.toString());
    assertTrue(rates.p99() <= rates.longest(), rates.toString());
    assertEquals(30, second.totals().calls());
    var late = look(100, report("a", 1, Duration.ofSeconds(110))).nodes().getFirst();
    assertTrue(late.rates().isEmpty(), "nobody looked meanwhile: " + late);
  }

  @Test
  void aNodeWhoseClockWasSetBackIsNotSilent() {
    look(0, report("a", 1, Duration.ofSeconds(100)));
    for (int second = 2; second <= 20; second += 2) {
      var node = look(second, report("a", 1, Duration.ofSeconds(50 + second))).nodes().getFirst();
      assertEquals(0, node.silentSeconds());
      assertEquals(second > 2, node.rates().isPresent(), node::toString);
    }
  }

  @Test
  void aNodeThatIsMissingOrSaysNothingNewIsSilentAfterAWhile() {
    var a = report("a", 1, Duration.ofSeconds(1));
    look(0, a, report("b", 1, Duration.ofSeconds(1)));
    var soon = look(2, a).nodes();
    assertEquals(List.of(0L, 0L), soon.stream().map(Overview.NodeLook::silentSeconds).toList());
    var later = look(5, a, report("b", 1, Duration.ofSeconds(6))).nodes();
    assertEquals(List.of(5L, 0L), later.stream().map(Overview.NodeLook::silentSeconds).toList());
    var back = look(6, report("a", 1, Duration.ofSeconds(7))).nodes();
    assertEquals(0, back.getFirst().silentSeconds());
  }

  @Test
  void aNewLifeTakesThePlaceOfTheOldAndTheLongSilentAreForgotten() {
    look(0, report("a", 1, Duration.ofSeconds(1)), report("b", 1, Duration.ofSeconds(1)));
    var restarted = look(1, report("a", 2, Duration.ofSeconds(1))).nodes();
    assertEquals(
        List.of("a 2", "b 1"),
        restarted.stream().map(node -> node.address() + " " + node.incarnation()).toList());
    var much = look(3600, report("a", 2, Duration.ofSeconds(3601))).nodes();
    assertEquals(List.of("a"), much.stream().map(Overview.NodeLook::address).toList());
  }
}
