package dev.evergreen.reports;

import static java.lang.System.Logger.Level.INFO;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.WiredNodes;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class EventsTest {

  @TempDir private Path folder;

  /** What a recording without thresholds has of something. */
  private List<RecordedEvent> recorded(Runnable something) throws IOException {
    var file = folder.resolve("node.jfr");
    try (var recording = new Recording()) {
      for (var event : List.of("Turn", "Run", "Activation", "Save", "PushBatch", "Renewal")) {
        recording.enable("dev.evergreen." + event).withoutThreshold();
      }
      recording.start();
      something.run();
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file);
  }

  /** In the order of their beginning; the file has each thread's together. */
  private static List<RecordedEvent> of(List<RecordedEvent> events, String name) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("dev.evergreen." + name))
        .sorted(Comparator.comparing(RecordedEvent::getStartTime))
        .toList();
  }

  @Test
  void aRecordingShowsWhatGrainsAndComputationsDid() throws IOException {
    var events =
        recorded(
            () -> {
              try (var node = TestGrains.node().start();
                  var text = node.reactive(() -> node.grains().get(Cell.class, "a").text());
                  var tracker = text.tracker()) {
                tracker.next(TestGrains.SOON);
                node.grains().get(Cell.class, "a").set("x");
                tracker.next(TestGrains.SOON);
                assertThrows(
                    IllegalArgumentException.class,
                    () -> node.grains().get(Cell.class, "a").setAndThrow("y"));
              }
            });
    var turns = of(events, "Turn");
    assertEquals(
        List.of("set", "setAndThrow"), turns.stream().map(e -> e.getString("operation")).toList());
    assertEquals("Cell/a", turns.getFirst().getString("grain"));
    assertTrue(turns.getFirst().getBoolean("succeeded"));
    assertFalse(turns.getLast().getBoolean("succeeded"));
    assertFalse(turns.getFirst().getBoolean("readOnly"));
    assertTrue(turns.getFirst().getDuration("waited").compareTo(Duration.ofSeconds(20)) < 0);
    var runs = of(events, "Run").stream().map(e -> e.getString("computation")).toList();
    assertTrue(runs.contains("Cell/a.text"), runs.toString());
    assertTrue(runs.contains("reactive computation"), runs.toString());
    assertEquals("Cell/a", of(events, "Activation").getFirst().getString("grain"));
    var saves = of(events, "Save");
    assertEquals(1, saves.size());
    assertTrue(saves.getFirst().getLong("size") > 0);
  }

  @Test
  void aRecordingShowsWhatGoesBetweenNodes() throws IOException {
    var host = WiredNodes.id("host");
    var events =
        recorded(
            () -> {
              try (var nodes = WiredNodes.observed(host, view -> new Reporter(view, INFO))) {
                nodes.startNode(host, WiredNodes.quick());
                var edge =
                    nodes.startNode(
                        WiredNodes.id("edge"),
                        WiredNodes.quick().withRenewEvery(Duration.ofMillis(20)));
                var cell = edge.grains().get(Cell.class, "a");
                try (var text = edge.reactive(cell::text);
                    var tracker = text.tracker()) {
                  tracker.next(TestGrains.SOON);
                  cell.set("x");
                  tracker.next(TestGrains.SOON);
                  WiredNodes.await(
                      "a renewal", () -> NodeReport.of(edge).subscribing().renewed() > 0);
                }
              }
            });
    assertEquals("edge#1", of(events, "PushBatch").getFirst().getString("node"));
    assertEquals(1, of(events, "PushBatch").getFirst().getInt("results"));
    assertEquals("host#1", of(events, "Renewal").getFirst().getString("node"));
    assertEquals(1, of(events, "Renewal").getFirst().getInt("subscriptions"));
  }
}
