package dev.evergreen.reports;

import static java.lang.System.Logger.Level.INFO;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.WiredNodes;
import dev.evergreen.core.spi.Clock;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class LifeLogTest {

  private static final Logger LOGGER = Logger.getLogger(LifeLog.NAME);

  private final List<LogRecord> records = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord entry) {
          records.add(entry);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    LOGGER.setUseParentHandlers(false);
    LOGGER.setLevel(Level.INFO);
    handler.setLevel(Level.ALL);
    LOGGER.addHandler(handler);
  }

  @AfterEach
  void stopListening() {
    LOGGER.removeHandler(handler);
    LOGGER.setLevel(null);
    LOGGER.setUseParentHandlers(true);
  }

  /** The lines of a node, each with its level. */
  private List<String> lines(String node) {
    return records.stream()
        .filter(entry -> entry.getMessage().contains(" node=" + node + "#"))
        .map(entry -> entry.getLevel() + " " + entry.getMessage())
        .toList();
  }

  @Test
  void aNodesLifeIsOneLineForEachEvent() {
    var self = WiredNodes.id("mortal");
    try (var nodes = WiredNodes.observed(self, view -> new Reporter(view, INFO))) {
      var node = nodes.startNode(self, WiredNodes.quick());
      node.grains().get(Cell.class, "a").set("x");
      node.grains().get(Cell.class, "b").set("x");
      node.release(WiredNodes.part("a"));
      node.close();
    }
    var lines = lines("mortal");
    assertEquals(5, lines.size(), lines.toString());
    assertEquals("INFO event=node-started node=mortal#1 types=3", lines.getFirst());
    assertEquals("INFO event=release-begun node=mortal#1", lines.get(1));
    assertTrue(
        lines.get(2).matches("INFO event=release-ended node=mortal#1 grains=1 millis=\\d+"),
        lines.get(2));
    assertTrue(
        lines.get(3).matches("INFO event=node-stopped node=mortal#1 grains=1 millis=\\d+"),
        lines.get(3));
    assertEquals(
        "WARNING event=node-fenced node=mortal#1 grains=0 reason=\"the test has ended\"",
        lines.getLast());
  }

  @Test
  void aNodeThatIsAloneInItsProcessSaysNothingUnlessSomethingIsWrong() {
    var node = TestGrains.node().start();
    node.grains().get(Cell.class, "a").set("x");
    node.close();
    assertEquals(List.of(), lines("embedded"));
  }

  @Test
  void livesOfGrainsAreToldToThoseWhoAskForThem() {
    LOGGER.setLevel(Level.FINE);
    var self = WiredNodes.id("chatty");
    try (var nodes = WiredNodes.observed(self, view -> new Reporter(view, INFO))) {
      nodes.startNode(self, WiredNodes.quick()).grains().get(Cell.class, "a").set("x");
    }
    var lines = lines("chatty");
    assertEquals("FINE event=activated node=chatty#1 grain=Cell/a", lines.get(1));
    assertEquals(
        "FINE event=deactivated node=chatty#1 grain=Cell/a"
            + " reason=\"the node was stopped: the test has ended\"",
        lines.getLast());
  }

  @Test
  void anActivationThatFailsIsTold() {
    var self = WiredNodes.id("unlucky");
    try (var nodes = WiredNodes.observed(self, view -> new Reporter(view, INFO))) {
      var node =
          nodes.startNode(
              self,
              WiredNodes.quick(),
              GrainTypes.create()
                  .add(
                      Cell.class,
                      context -> {
                        throw new IllegalStateException("no luck");
                      }));
      assertThrows(ActivationException.class, () -> node.grains().get(Cell.class, "a").text());
      assertEquals(1, NodeReport.of(node).life().failed());
    }
    var failed = lines("unlucky").get(1);
    assertTrue(
        failed.startsWith("WARNING event=activation-failed node=unlucky#1 grain=Cell/a reason=\""),
        failed);
    assertTrue(failed.contains("no luck"), failed);
  }

  @Test
  void aFloodOfOneKindIsCutAndCounted() {
    var now = new AtomicLong();
    var log = new LifeLog(WiredNodes.id("flooded"), new FixedClock(now), INFO);
    for (int i = 0; i < 1_000; i++) {
      log.warning("activation-failed", "grain", "Cell/" + i, "reason", "it said \"no\"\nand more");
    }
    assertEquals(LifeLog.MOST_PER_SECOND, lines("flooded").size());
    log.usual("node-stopped");
    assertEquals(LifeLog.MOST_PER_SECOND + 1, lines("flooded").size(), "of another kind");
    now.addAndGet(1_000_000_000L);
    log.warning("activation-failed", "grain", "Cell/x", "reason", "it said \"no\"\nand more");
    assertEquals(
        "WARNING event=activation-failed node=flooded#1 grain=Cell/x"
            + " reason=\"it said \\\"no\\\"\\nand more\" left-out=990",
        lines("flooded").getLast());
  }

  private record FixedClock(AtomicLong elapsed) implements Clock {
    @Override
    public long nanos() {
      return elapsed.get();
    }

    @Override
    public Instant now() {
      return Instant.EPOCH;
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      throw new UnsupportedOperationException("This clock has no timers");
    }
  }
}
