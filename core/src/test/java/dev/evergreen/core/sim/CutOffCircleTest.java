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
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A grain looks at a circle of reads, of which some members are on a node that is cut off: it shows
 * its own writes all the same.
 */
final class CutOffCircleTest {

  private static final long MILLI = FewNodes.MILLI;

  /** A member of a circle, or who looks at one. */
  interface Link extends Grain {
    @ReadOnly
    String end();

    /** The number, and how the link ends that this one points to. */
    @ReadOnly
    String view();

    void pointTo(String key);

    void count();
  }

  record Held(String next, int number) {}

  private static final class LinkGrain implements Link {
    private final Grains grains;
    private final State<Held> state;

    LinkGrain(GrainContext<String> context) {
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held("", 0));
    }

    @Override
    public String end() {
      return grains.get(Link.class, state.get().next()).end();
    }

    @Override
    public String view() {
      try {
        return state.get().number() + " " + end();
      } catch (CycleException e) {
        return state.get().number() + " circle";
      }
    }

    @Override
    public void pointTo(String key) {
      state.set(new Held(key, 0));
    }

    @Override
    public void count() {
      state.set(new Held(state.get().next(), state.get().number() + 1));
    }
  }

  private static final NodeSettings SETTINGS = NodeSettings.DEFAULT;

  private final FewNodes nodes =
      new FewNodes(2, SETTINGS, () -> GrainTypes.create().add(Link.class, LinkGrain::new));
  private final Scheduler scheduler = nodes.scheduler;

  private interface Watched {
    void by(Link reader, ResultTracker<String> view);
  }

  /** A verdict takes its time, and the grain is written meanwhile. */
  @ParameterizedTest
  @CsvSource({"1, 0", "1, 60000", "3, 0", "3, 60000", "40, 0"})
  void whoIsWrittenAgainAndAgainShowsThat(int count, long millisBefore) {
    whenCutOff(
        count,
        millisBefore,
        (reader, view) -> {
          var patience = SETTINGS.pushRetryAfter();
          int written = writeUntilShown(reader, view, patience.multipliedBy(4));
          for (int i = 0; i < 20; i++) {
            written += writeUntilShown(reader, view, patience.dividedBy(20));
          }
          assertEquals(Freshness.IN_DOUBT, view.freshness());
          nodes.join();
          scheduler.sleep(2 * SETTINGS.renewEvery().toNanos());
          reader.count();
          scheduler.sleep(1_000 * MILLI);
          assertEquals(written + 1 + " circle", lastOf(view));
          assertEquals(Freshness.CURRENT, view.freshness());
        });
  }

  /** Writes in short intervals until another result is shown; returns how often. */
  private int writeUntilShown(Link reader, ResultTracker<String> view, Duration patience) {
    long deadline = scheduler.now() + patience.toNanos();
    for (int written = 1; ; written++) {
      reader.count();
      scheduler.sleep(10 * MILLI);
      if (view.poll(Duration.ZERO).isPresent()) {
        return written;
      }
      assertTrue(scheduler.now() < deadline, "no result");
    }
  }

  /** The time of a verdict does not grow with the circle. */
  @ParameterizedTest
  @CsvSource({"2, 0", "2, 60000", "40, 0", "40, 60000"})
  void whoIsWrittenOnceShowsThatHoweverManyAreCutOff(int count, long millisBefore) {
    whenCutOff(
        count,
        millisBefore,
        (reader, view) -> {
          reader.count();
          var patience = SETTINGS.pushRetryAfter().multipliedBy(3);
          assertEquals("1 circle", view.next(patience));
        });
  }

  private void whenCutOff(int count, long millisBefore, Watched watched) {
    nodes.run(
        () -> {
          var here = nodes.keysOnFirst(Link.class).limit(2).toList();
          var far = nodes.keysOnSecond(Link.class).limit(count);
          var circle = Stream.concat(Stream.of(here.getFirst()), far).toList();
          for (int i = 0; i < circle.size(); i++) {
            link(circle.get(i)).pointTo(circle.get((i + 1) % circle.size()));
          }
          var reader = link(here.getLast());
          reader.pointTo(circle.getFirst());
          try (var computation = nodes.first().engine().reactive(reader::view)) {
            var view = computation.tracker();
            assertEquals("0 circle", view.next(Duration.ofMinutes(1)));
            scheduler.sleep(10_000 * MILLI);
            nodes.cut();
            scheduler.sleep(millisBefore * MILLI);
            assertTrue(view.poll(Duration.ZERO).isEmpty());
            watched.by(reader, view);
          }
        });
  }

  private Link link(String key) {
    return nodes.first().engine().grains().get(Link.class, key);
  }

  private static String lastOf(ResultTracker<String> view) {
    var last = "nothing new";
    for (var next = view.poll(Duration.ZERO); next.isPresent(); next = view.poll(Duration.ZERO)) {
      last = next.get().get();
    }
    return last;
  }
}
