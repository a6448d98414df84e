package dev.evergreen.reports;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.engine.WiredNodes;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeView;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class ReporterTest {

  private static final NodeId HOST = WiredNodes.id("host");
  private static final NodeId EDGE = WiredNodes.id("edge");
  private static final NodeId DEAF = WiredNodes.id("deaf");

  private final WiredNodes nodes =
      WiredNodes.observed(HOST, view -> new Reporter(view, System.Logger.Level.DEBUG));

  private EngineNode start(NodeId self) {
    return nodes.startNode(self, WiredNodes.quick().withPushRetryAfter(Duration.ofMillis(20)));
  }

  @Test
  void otherNodesReportWhatTheyHold() {
    try (nodes) {
      var host = start(HOST);
      var edge = start(EDGE);
      edge.grains().get(Cell.class, "a").set("x");
      var reports = Reporter.of(edge).ask(List.of(HOST), TestGrains.SOON);
      assertEquals(List.of(HOST), reports.stream().map(NodeReport::node).toList());
      assertEquals(1, reports.getFirst().calls().served());
      assertEquals(NodeReport.of(host).saving(), reports.getFirst().saving());
      assertEquals(List.of(), Reporter.of(edge).ask(List.of(), TestGrains.SOON));
    }
  }

  /** Whoever decides where to send requests may ask every second, of nodes with many grains. */
  @Test
  void whetherANodeServesIsKnownWithoutALookAtItsGrains() {
    var walks = new AtomicInteger();
    var watched =
        WiredNodes.observed(
            HOST, view -> new Reporter(counting(view, walks), System.Logger.Level.DEBUG));
    try (watched) {
      var host = watched.startNode(HOST, WiredNodes.quick());
      assertTrue(Reporter.of(host).serving());
      assertEquals(0, walks.get());
      assertTrue(NodeReport.of(host).serving());
      assertEquals(1, walks.get());
      host.close();
      assertFalse(Reporter.of(host).serving());
    }
  }

  private static NodeView counting(NodeView view, AtomicInteger walks) {
    return (NodeView)
        Proxy.newProxyInstance(
            NodeView.class.getClassLoader(),
            new Class<?>[] {NodeView.class},
            (_, method, arguments) -> {
              if (method.getName().equals("walk")) {
                walks.incrementAndGet();
              }
              return method.invoke(view, arguments);
            });
  }

  @Test
  void whoDoesNotAnswerOrCannotBeReachedIsMissing() {
    try (nodes) {
      start(HOST);
      var edge = start(EDGE);
      nodes.wire =
          (from, to, message) -> {
            if (!to.equals(DEAF)) {
              nodes.deliver(from, to, message);
            }
          };
      var gone = WiredNodes.id("gone");
      nodes.connected = node -> !node.equals(gone);
      var reports = Reporter.of(edge).ask(List.of(DEAF, gone, HOST), Duration.ofMillis(500));
      assertEquals(List.of(HOST), reports.stream().map(NodeReport::node).toList());
    }
  }

  @Test
  void onlyWhoWasAskedCanAnswerAndOnlyWithAReport() {
    try (nodes) {
      var edge = start(EDGE);
      var host = start(HOST);
      var report = Questions.encode(NodeReport.of(host));
      nodes.wire =
          (from, to, message) -> {
            if (message instanceof Message.Inspect(var id)) {
              edge.receive(DEAF, new Message.Inspected(id, report));
              edge.receive(HOST, new Message.Inspected(id, new byte[] {1, 2, 3}));
              edge.receive(HOST, new Message.Inspected(id + 1, report));
            }
          };
      assertEquals(List.of(), Reporter.of(edge).ask(List.of(HOST), Duration.ofMillis(100)));
    }
  }

  @Test
  void countsAttemptsOfCallsThatCannotStart() {
    try (nodes) {
      var edge = start(EDGE);
      nodes.connected = node -> false;
      var cell = edge.grains().withTimeout(Duration.ofMillis(100)).get(Cell.class, "a");
      assertThrows(NotStartedException.class, cell::text);
      var calls = NodeReport.of(edge).calls();
      assertTrue(calls.retried() > 0, calls.toString());
      assertEquals(1, calls.refused());
      assertEquals(0, calls.served());
    }
  }

  @Test
  void countsWhatIsSentAgainAndAskedAgain() {
    try (nodes) {
      var host = start(HOST);
      var edge = start(EDGE);
      nodes.wire =
          (from, to, message) -> {
            if (!(message instanceof Message.Subscribe) || asked(edge)) {
              nodes.deliver(from, to, message);
            }
          };
      var cell = edge.grains().get(Cell.class, "a");
      try (var text = edge.reactive(cell::text);
          var tracker = text.tracker()) {
        assertEquals("", tracker.next(TestGrains.SOON));
        nodes.wire =
            (from, to, message) -> {
              if (!(message instanceof Message.PushAck)) {
                nodes.deliver(from, to, message);
              }
            };
        cell.set("x");
        WiredNodes.await("another push", () -> NodeReport.of(host).pushes().resent() > 0);
      }
    }
  }

  private static boolean asked(EngineNode edge) {
    return NodeReport.of(edge).subscribing().askedAgain() > 0;
  }

  @Test
  void countsReadsByWhetherTheirResultWasThere() {
    try (var node = TestGrains.node().start()) {
      var sum = node.grains().get(Sum.class, "s");
      try (var first = node.reactive(() -> sum.twice("a"));
          var second = node.reactive(() -> sum.twice("a"))) {
        first.tracker().next(TestGrains.SOON);
        var before = NodeReport.of(node).computing();
        assertEquals(2, before.misses(), "of the sum, and of the cell, which it reads twice");
        second.tracker().next(TestGrains.SOON);
        var after = NodeReport.of(node).computing();
        assertEquals(before.hits() + 1, after.hits());
        assertEquals(before.misses(), after.misses());
      }
    }
  }

  @Test
  void countsRunsThatAWriteMakesWorthless() throws Exception {
    GateGrain.shut();
    try (var node = TestGrains.node().start()) {
      var gate = node.grains().get(Gate.class, "g");
      try (var read = node.reactive(gate::readWhenOpen)) {
        var result = CompletableFuture.supplyAsync(() -> read.tracker().next(TestGrains.SOON));
        assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
        var write = Thread.startVirtualThread(gate::writeWhenOpen);
        WiredNodes.await("the run's end", () -> NodeReport.of(node).computing().discarded() == 1);
        GateGrain.open.countDown();
        assertEquals("read", result.get());
        write.join();
      } finally {
        GateGrain.open.countDown();
      }
    }
  }

  @Test
  void showsCallsThatWaitForTheirGrain() throws Exception {
    GateGrain.shut();
    try (var node = TestGrains.node().start()) {
      var gate = node.grains().get(Gate.class, "g");
      var writes =
          IntStream.range(0, 3)
              .mapToObj(i -> Thread.startVirtualThread(gate::writeWhenOpen))
              .toList();
      WiredNodes.await("two that wait", () -> NodeReport.of(node).queues().calls() == 2);
      assertEquals(3, NodeReport.of(node).counts().calls());
      GateGrain.open.countDown();
      for (var write : writes) {
        write.join();
      }
      assertEquals(0, NodeReport.of(node).queues().calls());
    } finally {
      GateGrain.open.countDown();
    }
  }

  /** Reads itself. */
  interface Mirror extends Grain {
    @ReadOnly
    int image();
  }

  @Test
  void countsCirclesOfCallsAndOfReads() {
    try (var node =
        EmbeddedNode.builder()
            .grain(Mirror.class, context -> () -> mirror(context.grains()).image())
            .start()) {
      assertThrows(CycleException.class, () -> mirror(node.grains()).image());
      assertEquals(1, NodeReport.of(node).computing().cycles());
      try (var image = node.reactive(() -> mirror(node.grains()).image())) {
        assertThrows(CycleException.class, () -> image.tracker().next(TestGrains.SOON));
      }
      assertTrue(NodeReport.of(node).computing().cycles() > 1);
    }
  }

  private static Mirror mirror(Grains grains) {
    return grains.get(Mirror.class, "m");
  }

  @Test
  void aNodeThatNobodyWatchesMakesNoReports() {
    try (var unwatched = new WiredNodes(HOST)) {
      var node = unwatched.startNode(HOST, WiredNodes.quick());
      assertThrows(IllegalArgumentException.class, () -> NodeReport.of(node));
    }
  }
}
