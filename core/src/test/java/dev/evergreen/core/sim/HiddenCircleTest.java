package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * A ring of reads over nodes of which only neighbours hear each other: no member can see all of it.
 * Until somebody can, its members run each other, with a pause each time.
 */
final class HiddenCircleTest {

  private static final int COUNT = 4;
  private static final long SECOND = 1_000_000_000;

  interface Link extends Grain {
    @ReadOnly
    String end();

    void pointTo(String key);
  }

  record Held(String next) {}

  private static final class LinkGrain implements Link {
    private final Grains grains;
    private final State<Held> state;
    private final AtomicLong runs;

    LinkGrain(GrainContext<String> context, AtomicLong runs) {
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held(""));
      this.runs = runs;
    }

    @Override
    public String end() {
      runs.incrementAndGet();
      var next = state.get().next();
      try {
        return next.isEmpty() ? "end" : grains.get(Link.class, next).end();
      } catch (CycleException e) {
        return "circle";
      }
    }

    @Override
    public void pointTo(String key) {
      state.set(new Held(key));
    }
  }

  private final AtomicLong runs = new AtomicLong();
  private final FewNodes nodes =
      new FewNodes(
          COUNT,
          NodeSettings.DEFAULT,
          () -> GrainTypes.create().add(Link.class, context -> new LinkGrain(context, runs)));
  private final Scheduler scheduler = nodes.scheduler;

  @Test
  void itsMembersRunEachOtherSlowlyUntilItIsSeen() {
    nodes.run(
        () -> {
          scheduler.sleep(3 * SECOND);
          var ring = IntStream.range(0, COUNT).mapToObj(this::keyOn).toList();
          for (int i = 0; i + 1 < COUNT; i++) {
            link(ring, i).pointTo(ring.get(i + 1));
          }
          try (var computation = nodes.first().engine().reactive(link(ring, 0)::end)) {
            var shown = computation.tracker();
            assertEquals("end", shown.next(Duration.ofMinutes(1)));
            betweenOthersThanNeighbours(nodes::cut);
            scheduler.sleep(SECOND);
            link(ring, COUNT - 1).pointTo(ring.getFirst());
            scheduler.sleep(10 * SECOND);
            long before = runs.get();
            scheduler.sleep(20 * SECOND);
            // One in a patience for each member.
            long most = 20 * SECOND / NodeSettings.DEFAULT.pushRetryAfter().toNanos() * COUNT;
            assertTrue(runs.get() - before <= most, () -> runs.get() - before + " runs");
            betweenOthersThanNeighbours(nodes::join);
            // What they have shown meanwhile, in doubt, may come first.
            assertThrows(CycleException.class, () -> untilItFails(shown));
            assertEquals(Freshness.CURRENT, shown.freshness());
          }
        });
  }

  private static void untilItFails(ResultTracker<String> shown) {
    while (true) {
      shown.next(Duration.ofMinutes(1));
    }
  }

  private Link link(List<String> ring, int index) {
    return nodes.node(index).engine().grains().get(Link.class, ring.get(index));
  }

  private String keyOn(int node) {
    return nodes.keys(Link.class, node).findFirst().orElseThrow();
  }

  private interface Change {
    void between(int one, int other);
  }

  private static void betweenOthersThanNeighbours(Change change) {
    for (int i = 0; i < COUNT; i++) {
      for (int j = i + 2; j < COUNT; j++) {
        if (j - i < COUNT - 1) {
          change.between(i, j);
        }
      }
    }
  }
}
