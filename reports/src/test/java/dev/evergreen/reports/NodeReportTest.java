package dev.evergreen.reports;

import static java.lang.System.Logger.Level.INFO;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.core.ActivationException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.engine.WiredNodes;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class NodeReportTest {

  /** Saves nothing, and has nothing but a grain that cannot be loaded. */
  private static final class FailingStorage implements Storage {
    private volatile RuntimeException failure;

    FailingStorage(RuntimeException failure) {
      this.failure = failure;
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      if (grain.key().equals("lost")) {
        throw new StorageException("it is lost");
      }
      return Optional.empty();
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      throw failure;
    }

    @Override
    public void close() {}
  }

  @Test
  void countsCallsByTheirEnd() {
    try (var node = TestGrains.node().start()) {
      var cell = node.grains().get(Cell.class, "a");
      cell.set("x");
      cell.text();
      assertThrows(IllegalArgumentException.class, () -> cell.setAndThrow("y"));
      var gate = node.grains().withTimeout(Duration.ofMillis(20)).get(Gate.class, "g");
      TestGrains.GateGrain.shut();
      try {
        assertThrows(GrainTimeoutException.class, gate::readWhenOpen);
      } finally {
        TestGrains.GateGrain.open.countDown();
      }
      var calls = NodeReport.of(node).calls();
      assertEquals(4, calls.ended());
      assertEquals(1, calls.failed());
      assertEquals(1, calls.timedOut());
      assertEquals(0, calls.refused());
      assertTrue(calls.time().longest().toMillis() >= 20, calls.toString());
    }
  }

  @Test
  void namesWhatIsActiveAndWhatRunsMostOften() throws Exception {
    try (var node = TestGrains.node().start();
        var sum = node.reactive(() -> node.grains().get(Sum.class, "s").joined(List.of("a", "b")));
        var tracker = sum.tracker()) {
      var a = node.grains().get(Cell.class, "a");
      tracker.next(TestGrains.SOON);
      for (int i = 0; i < 5; i++) {
        a.set("text " + i);
        tracker.next(TestGrains.SOON);
      }
      // A result is delivered before the reads of the former run are given back.
      WiredNodes.await(
          "one reader of each",
          () -> NodeReport.of(node).hottest().stream().allMatch(summary -> summary.readers() == 1));
      var report = NodeReport.of(node);
      assertEquals(Map.of("Cell", 2, "Sum", 1), report.activations());
      assertEquals(3, report.counts().summaries());
      assertEquals(3, report.hottest().size());
      var hottest = report.hottest().getFirst();
      assertEquals(6, hottest.runs(), report.hottest().toString());
      assertEquals(1, report.hottest().getLast().runs());
      assertEquals("b", report.hottest().getLast().key());
      var joined =
          report.hottest().stream().filter(s -> s.operation().equals("joined")).findFirst();
      assertEquals("[a, b]", joined.orElseThrow().arguments());
      assertEquals(1, joined.orElseThrow().subscribers());
      assertEquals(1, joined.orElseThrow().readers());
      assertEquals(1 + 6 + 6 + 6, report.computing().runs());
      assertEquals(1 + 6 + 6, report.pushes().here());
      assertEquals(5, report.saving().saves());
      assertEquals(2, report.saving().loads());
      assertEquals(new NodeReport.Life(3, 0, 0), report.life());
    }
  }

  @Test
  void namesTwentySummariesAtMostAndShortensLongTexts() throws Exception {
    try (var node = TestGrains.node().start()) {
      var cells = IntStream.range(0, 30).mapToObj(i -> "c" + i).toList();
      try (var sum = node.reactive(() -> node.grains().get(Sum.class, "s").joined(cells));
          var tracker = sum.tracker()) {
        tracker.next(TestGrains.SOON);
        node.grains().get(Cell.class, "c7").set("x");
        tracker.next(TestGrains.SOON);
        var report = NodeReport.of(node);
        assertEquals(31, report.counts().summaries());
        assertEquals(NodeReport.HOTTEST, report.hottest().size());
        assertEquals(
            List.of(2L, 2L, 1L),
            report.hottest().stream().limit(3).map(NodeReport.HotSummary::runs).toList());
        for (var hot : report.hottest()) {
          assertTrue(hot.arguments().length() <= 120, hot.arguments());
        }
      }
    }
  }

  @Test
  void saysWhetherTheNodeTakesCalls() {
    var node = TestGrains.node().start();
    assertTrue(NodeReport.of(node).serving());
    node.grains().get(Cell.class, "a").text();
    node.close();
    assertEquals(1, NodeReport.of(node).life().deactivated());
    assertFalse(NodeReport.of(node).serving());
    assertEquals(0, NodeReport.of(node).counts().activations());
  }

  @Test
  void isAValueThatCanBeSent() throws Exception {
    var type = Codec.create(new Limits(100_000, Limits.DEFAULT.maxDepth())).of(NodeReport.class);
    try (var node = TestGrains.node().start();
        var sum = node.reactive(() -> node.grains().get(Cell.class, "s").text());
        var tracker = sum.tracker()) {
      tracker.next(TestGrains.SOON);
      var report = NodeReport.of(node);
      assertEquals(report, type.decode(type.encode(report)));
    }
  }

  @Test
  void countsWhatGoesBetweenNodes() throws Exception {
    var host = WiredNodes.id("host");
    try (var nodes = WiredNodes.observed(host, view -> new Reporter(view, INFO))) {
      // Nothing is asked for or sent a second time, however slow the machine is.
      var patient =
          WiredNodes.quick()
              .withPushRetryAfter(TestGrains.SOON)
              .withRenewEvery(TestGrains.SOON.multipliedBy(2));
      var there = nodes.startNode(host, patient);
      var here = nodes.startNode(WiredNodes.id("edge"), patient);
      var cell = here.grains().get(Cell.class, "a");
      try (var text = here.reactive(cell::text);
          var tracker = text.tracker()) {
        tracker.next(TestGrains.SOON);
        cell.set("x");
        tracker.next(TestGrains.SOON);
        WiredNodes.await(
            "the change's acknowledgement",
            () -> NodeReport.of(there).pushes().acknowledged() == 1);
      }
      assertEquals(2, NodeReport.of(there).pushes().sent());
      assertEquals(1, NodeReport.of(there).pushes().batches(), "the first result was an answer");
      assertEquals(2, NodeReport.of(here).pushes().received());
      assertEquals(1, NodeReport.of(there).calls().served());
      assertEquals(1, NodeReport.of(here).calls().ended());
      assertEquals(1, NodeReport.of(here).subscribing().begun());
      assertEquals(0, NodeReport.of(here).subscribing().renewed());
      assertEquals(Map.of("edge", 0), NodeReport.of(there).queues().outboxes());
    }
  }

  @Test
  void countsRenewals() throws Exception {
    var host = WiredNodes.id("host");
    try (var nodes = WiredNodes.observed(host, view -> new Reporter(view, INFO))) {
      nodes.startNode(host, WiredNodes.quick());
      var here =
          nodes.startNode(
              WiredNodes.id("edge"), WiredNodes.quick().withRenewEvery(Duration.ofMillis(50)));
      try (var text = here.reactive(here.grains().get(Cell.class, "a")::text);
          var tracker = text.tracker()) {
        tracker.next(TestGrains.SOON);
        WiredNodes.await(
            "two renewals of one subscription",
            () -> NodeReport.of(here).subscribing().renewed() >= 2);
      }
      assertEquals(1, NodeReport.of(here).subscribing().begun());
    }
  }

  @Test
  void tellsConflictsFromOtherFailuresOfTheStorage() {
    var storage = new FailingStorage(new RevisionConflictException("another has saved"));
    try (var node = TestGrains.node().storage(storage).start()) {
      var cell = node.grains().get(Cell.class, "a");
      assertThrows(StateNotSavedException.class, () -> cell.set("x"));
      storage.failure = new StorageException("it is broken");
      assertThrows(StateNotSavedException.class, () -> cell.set("x"));
      storage.failure = new NodeGivenUpException(new GrainId("Cell", "a"), WiredNodes.id("gone"));
      assertThrows(StateNotSavedException.class, () -> cell.set("x"));
      var lost = node.grains().get(Cell.class, "lost");
      assertThrows(ActivationException.class, lost::text);
      var saving = NodeReport.of(node).saving();
      assertEquals(1, saving.conflicts());
      assertEquals(2, saving.failures());
      assertEquals(3, saving.loads());
      assertEquals(0, saving.saves());
    }
  }
}
