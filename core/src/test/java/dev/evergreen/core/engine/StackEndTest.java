package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.whereTheStackEnds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Computation;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.engine.TestGrains.Cell;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A stack of a thread of the application's that ends inside of the runtime is nobody else's affair.
 */
@Timeout(60)
final class StackEndTest {

  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final Node node =
      TestGrains.node().settings(NodeSettings.DEFAULT.withCallTimeout(LIMIT)).start();

  private final List<Cell> cells =
      IntStream.range(0, 2).mapToObj(i -> node.grains().get(Cell.class, "c" + i)).toList();

  /** Uses all once: what a class begins with where a stack ends is not begun again. */
  @BeforeEach
  void begin() throws InterruptedException {
    cells.getFirst().touch();
    try (var computation = node.reactive(cells.getFirst()::text)) {
      computation.tracker().next();
    }
    var other = new Thread(() -> node.reactive(cells.getLast()::text).tracker().next());
    other.start();
    other.join();
  }

  @AfterEach
  void stop() {
    node.close();
  }

  /** A turn that was admitted has to run, and a baton that was taken to be given back. */
  @Test
  void whoIsCalledAnswersOthers() throws InterruptedException {
    for (var cell : cells) {
      whereTheStackEnds(cell::touch);
    }
    for (var cell : cells) {
      cell.set("set");
      assertEquals("set", cell.text());
    }
  }

  /** Who asks first computes it for all, on its own thread. */
  @Test
  void aComputationGivesOthersItsResult() throws InterruptedException {
    var computations = new ArrayList<ReactiveComputation<String>>();
    Computation<String> work = () -> "a result"; // a stack that ends here would be the test's
    whereTheStackEnds(
        () -> {
          var computation = node.reactive(work);
          computations.add(computation);
          computation.tracker().next();
        });
    assertTrue(computations.size() > 1, "no stack has ended");
    for (var computation : computations) {
      assertEquals("a result", computation.tracker().next(LIMIT));
    }
  }

  @Test
  void whatAComputationReadsIsReadByOthers() throws InterruptedException {
    for (var cell : cells) {
      whereTheStackEnds(() -> node.reactive(cell::text).tracker().next());
      assertEquals("", node.reactive(cell::text).tracker().next(LIMIT));
    }
  }

  /** How much of its stack is left to who asks first is no property of the result. */
  @Test
  void aComputationThatNeedsMoreStackThanItsFirstReaderHasIsRunOnAnother() throws Exception {
    var computation = node.reactive(() -> depth(2_000));
    var shown = new ArrayList<Integer>();
    whereTheStackEnds(() -> shown.add(computation.tracker().next()));
    assertEquals(List.of(2_000), shown);
  }

  private static int depth(int frames) {
    return frames == 0 ? 0 : 1 + depth(frames - 1);
  }
}
