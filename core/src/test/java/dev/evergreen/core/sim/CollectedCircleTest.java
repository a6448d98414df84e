package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.SummaryKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A circle that nobody reads any more is closed, and somebody may read it again meanwhile. */
final class CollectedCircleTest {

  private static final long MILLI = FewNodes.MILLI;
  private static final NodeSettings SETTINGS = NodeSettings.DEFAULT;

  /** Shows its number, and what others show. */
  interface Viewer extends Grain {
    @ReadOnly
    String view();

    void read(List<String> others);

    void count();
  }

  record Held(List<String> others, int number) {}

  private static final class ViewerGrain implements Viewer {
    private final Grains grains;
    private final State<Held> state;

    ViewerGrain(GrainContext<String> context) {
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held(List.of(), 0));
    }

    @Override
    public String view() {
      var view = new StringBuilder().append(state.get().number());
      for (var other : state.get().others()) {
        view.append(' ').append(viewOf(other));
      }
      return view.toString();
    }

    private String viewOf(String other) {
      try {
        return grains.get(Viewer.class, other).view();
      } catch (CycleException e) {
        return "circle";
      }
    }

    @Override
    public void read(List<String> others) {
      state.set(new Held(others, state.get().number()));
    }

    @Override
    public void count() {
      state.set(new Held(state.get().others(), state.get().number() + 1));
    }
  }

  private final FewNodes nodes =
      new FewNodes(2, SETTINGS, () -> GrainTypes.create().add(Viewer.class, ViewerGrain::new));
  private final Scheduler scheduler = nodes.scheduler;

  private Viewer viewer(SimNode node, String key) {
    return node.engine().grains().get(Viewer.class, key);
  }

  private static SummaryKey viewOf(String key) {
    return new SummaryKey(new GrainId(GrainTypes.nameOf(Viewer.class), key), "view()", new byte[0]);
  }

  /** One node was told by a late message that nobody reads the circle, and the other was not. */
  @Test
  void whoReadsWhatIsClosedDoubtsUntilItRunsAgain() {
    nodes.run(
        () -> {
          var here = nodes.first();
          var there = nodes.second();
          var top = nodes.keysOnFirst(Viewer.class).findFirst().orElseThrow();
          var far = nodes.keysOnSecond(Viewer.class).limit(3).toList();
          viewer(here, top).read(List.of(far.get(0)));
          viewer(here, far.get(0)).read(List.of(far.get(1)));
          viewer(here, far.get(1)).read(List.of(far.get(2)));
          viewer(here, far.get(2)).read(List.of(far.get(1)));
          try (var above = here.engine().reactive(viewer(here, top)::view);
              var below = there.engine().reactive(viewer(there, far.get(0))::view)) {
            var shown = above.tracker();
            assertEquals("0 circle", below.tracker().next(Duration.ofMinutes(1)));
            assertEquals("0 0 circle", shown.next(Duration.ofMinutes(1)));
            scheduler.sleep(1_000 * MILLI);
            assertEquals(Freshness.CURRENT, shown.freshness());
            var unread =
                Stream.concat(Stream.of(top), far.stream())
                    .map(CollectedCircleTest::viewOf)
                    .toList();
            here.engine().receive(there.id(), new Message.Unreachable(unread));
            viewer(there, far.get(0)).count();
            scheduler.sleep(100 * MILLI);
            assertTrue(shown.poll(Duration.ZERO).isEmpty());
            assertEquals(Freshness.IN_DOUBT, shown.freshness());
            assertEquals("0 1 circle", shown.next(SETTINGS.pushRetryAfter().multipliedBy(2)));
            assertEquals(Freshness.CURRENT, shown.freshness());
          }
        });
  }

  /** All read each other, so that what one node closes by itself does not end the circle. */
  @Test
  void aCircleIsClosedAlsoIfThatIsNotToldAtFirst() {
    nodes.run(
        () -> {
          var all =
              Stream.concat(
                      nodes.keysOnFirst(Viewer.class).limit(2),
                      nodes.keysOnSecond(Viewer.class).limit(2))
                  .toList();
          all.forEach(key -> viewer(nodes.first(), key).read(all));
          var told = new AtomicInteger();
          nodes.network.unsent(
              message -> message instanceof Message.Unreachable && told.incrementAndGet() <= 2);
          try (var one = nodes.first().engine().reactive(viewer(nodes.first(), all.get(0))::view)) {
            assertTrue(one.tracker().poll(Duration.ofMinutes(1)).isPresent());
          }
          scheduler.sleep(3 * SETTINGS.leaseFor().toNanos());
          assertTrue(told.get() > 0);
          for (var node : List.of(nodes.first(), nodes.second())) {
            assertEquals(0, node.engine().counts().summaries());
            assertEquals(0, node.engine().counts().caches());
          }
        });
  }
}
