package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How often results are pushed to a node whose acknowledgements take their time (004 §4.2). */
final class SlowLinkTest {

  private static final long MILLI = FewNodes.MILLI;
  private static final NodeSettings SETTINGS = NodeSettings.DEFAULT;

  private final FewNodes nodes = new FewNodes(2, SETTINGS, TestGrains::types);

  /** When pushes were sent, while a cell was written all the time. */
  private List<Long> pushes(long oneWay) {
    var pushes = new ArrayList<Long>();
    nodes.run(
        () -> {
          var key = nodes.keysOnSecond(Cell.class).findFirst().orElseThrow();
          var reader = nodes.first().engine();
          var cell = nodes.second().engine().grains().get(Cell.class, key);
          nodes.network.post(() -> List.of(new SimNetwork.Copy(oneWay, true)));
          nodes.network.fails(
              message -> {
                if (message instanceof Message.Push) {
                  pushes.add(nodes.scheduler.now());
                }
                return false;
              });
          try (var computation = reader.reactive(reader.grains().get(Cell.class, key)::text)) {
            var texts = computation.tracker();
            assertEquals("", texts.next(Duration.ofMinutes(1)));
            for (int i = 0; i < 1_000; i++) {
              cell.set("x" + i);
              nodes.scheduler.sleep(5 * MILLI);
            }
            while (!texts.next(Duration.ofMinutes(1)).equals("x999")) {
              // An older one.
            }
          }
        });
    return pushes;
  }

  @Test
  void afterASlowRoundTripTheNextBatchWaitsForAsLongAgain() {
    var pushes = pushes(SETTINGS.pushRoundTrip().toNanos());
    assertTrue(pushes.size() > 10, pushes::toString);
    for (int i = 1; i < pushes.size(); i++) {
      assertTrue(
          pushes.get(i) - pushes.get(i - 1) >= 4 * SETTINGS.pushRoundTrip().toNanos(),
          pushes::toString);
    }
  }

  @Test
  void afterAQuickOneItDoesNotWait() {
    long roundTrip = SETTINGS.pushRoundTrip().toNanos() / 2;
    var pushes = pushes(roundTrip / 2);
    assertTrue(pushes.size() > 5_000 * MILLI * 2 / (3 * roundTrip), pushes::toString);
  }
}
