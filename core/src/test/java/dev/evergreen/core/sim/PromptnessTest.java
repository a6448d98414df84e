package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What would happen without being told, too, but much later: by virtual time. */
final class PromptnessTest {

  private static final long MILLI = FewNodes.MILLI;
  private static final NodeSettings SETTINGS =
      NodeSettings.DEFAULT.withCacheGrace(Duration.ofMinutes(5));

  /** Reads what is slow, and then the end of another one; calls others after a while. */
  interface Link extends Grain {
    @ReadOnly
    String end();

    @ReadOnly
    String slow();

    void pointTo(String slow, String next);

    void touch();

    void pass(String next);

    void passLater(String next, long millis);

    void occupy(long millis);
  }

  record Held(String slow, String next) {}

  private final class LinkGrain implements Link {
    private final String key;
    private final Grains grains;
    private final State<Held> state;

    LinkGrain(GrainContext<String> context) {
      this.key = context.key();
      this.grains = context.grains();
      this.state = context.state(Held.class, new Held("", ""));
    }

    private Link link(String key) {
      return grains.get(Link.class, key);
    }

    @Override
    public String end() {
      var held = state.get();
      if (!held.slow().isEmpty()) {
        link(held.slow()).slow();
      }
      return held.next().isEmpty() ? key : link(held.next()).end();
    }

    @Override
    public String slow() {
      scheduler.sleep(1_500 * MILLI);
      return "slow";
    }

    @Override
    public void pointTo(String slow, String next) {
      state.set(new Held(slow, next));
    }

    @Override
    public void touch() {}

    @Override
    public void pass(String next) {
      link(next).touch();
    }

    @Override
    public void passLater(String next, long millis) {
      scheduler.sleep(millis * MILLI);
      link(next).touch();
    }

    @Override
    public void occupy(long millis) {
      scheduler.sleep(millis * MILLI);
    }
  }

  private final FewNodes nodes =
      new FewNodes(2, SETTINGS, () -> GrainTypes.create().add(Link.class, LinkGrain::new));
  private final Scheduler scheduler = nodes.scheduler;

  private Link link(String key) {
    return nodes.first().engine().grains().get(Link.class, key);
  }

  private List<String> here(int count) {
    return nodes.keysOnFirst(Link.class).limit(count).toList();
  }

  private List<String> there(int count) {
    return nodes.keysOnSecond(Link.class).limit(count).toList();
  }

  /** After a long time caches ask again only every now and then. */
  @Test
  void whoLooksForAGrainAsksAsSoonAsItIsFound() {
    nodes.run(
        () -> {
          var far = there(2);
          var reader = nodes.first().engine();
          try (var computation = reader.reactive(link(far.getFirst())::end)) {
            var ends = computation.tracker();
            assertEquals(far.getFirst(), ends.next(Duration.ofMinutes(1)));
            nodes.cut();
            scheduler.sleep(120_000 * MILLI);
            nodes
                .second()
                .engine()
                .grains()
                .get(Link.class, far.getFirst())
                .pointTo("", far.getLast());
            nodes.join();
            reader.found(grain -> true);
            assertEquals(far.getLast(), ends.next(Duration.ofMillis(500)));
          }
        });
  }

  /**
   * What waits for itself across nodes is found by the one that is the first by a hash, although
   * the other's list was asked for before that had read what closes the circle.
   *
   * @param others how many other keys there are before, so that either is the first in some
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void whatARunUnderWayReadsIsListedAtOnce(int others) {
    nodes.run(
        () -> {
          var one = here(others + 1).getLast();
          var other = there(others + 1).getLast();
          var slow = there(others + 2).getLast();
          link(one).pointTo("", other);
          link(other).pointTo(slow, one);
          try (var computation = nodes.first().engine().reactive(link(one)::end)) {
            var ends = computation.tracker();
            assertThrows(CycleException.class, () -> ends.next(Duration.ofSeconds(10)));
          }
        });
  }

  /** It would be looked at again, but less and less often. */
  @Test
  void whoWaitsForAWriteToBeReflectedIsToldOfTheEndOfTheRun() {
    nodes.run(
        () -> {
          var key = here(1).getFirst();
          try (var computation = nodes.first().engine().reactive(link(key)::slow)) {
            assertEquals("slow", computation.tracker().next(Duration.ofMinutes(1)));
            long before = scheduler.now();
            assertEquals("slow", computation.after(() -> link(key).touch()));
            long took = scheduler.now() - before;
            assertTrue(took < 1_530 * MILLI, () -> took + " ns");
          }
        });
  }

  /** Two ways lead to it, of which one takes longer. */
  @Test
  void whoAsksLaterForWhatReflectsAWriteIsToldAtOnce() {
    nodes.run(
        () -> {
          var near = here(4);
          var one = link(near.get(0));
          var other = link(near.get(1));
          var shared = near.get(2);
          one.pointTo("", shared);
          try (var computation = nodes.first().engine().reactive(() -> one.end() + other.end())) {
            assertEquals(shared + near.get(1), computation.tracker().next(Duration.ofMinutes(1)));
            long before = scheduler.now();
            assertEquals(
                shared + shared, computation.after(() -> other.pointTo(near.get(3), shared)));
            long took = scheduler.now() - before;
            assertTrue(took < 1_600 * MILLI, () -> took + " ns");
          }
        });
  }

  /** It would be made again with the renewal of all. */
  @Test
  void aRequestThatIsLostWhileAnotherIsOpenIsMadeAgain() {
    nodes.run(
        () -> {
          var far = there(2);
          var reader = nodes.first().engine();
          try (var first = reader.reactive(link(far.getFirst())::end);
              var second = reader.reactive(link(far.getLast())::end)) {
            assertEquals(far.getFirst(), first.tracker().next(Duration.ofMinutes(1)));
            scheduler.sleep(1_000 * MILLI);
            nodes.network.post(List::of);
            var ends = second.tracker();
            assertEquals(Optional.empty(), ends.poll(Duration.ofMillis(100)));
            nodes.network.post(() -> List.of(new SimNetwork.Copy(MILLI, true)));
            assertEquals(far.getLast(), ends.next(Duration.ofSeconds(3)));
          }
        });
  }

  private record Told(long at, long began) {}

  /** The age is told again and again, but then it may take a second. */
  @Test
  void aCallThatBecomesOlderOnceMoreTellsThatAtOnce() {
    nodes.run(
        () -> {
          var told = new ArrayList<Told>();
          nodes.network.fails(
              message -> {
                if (message instanceof Message.Hasten(var id, var began)) {
                  told.add(new Told(scheduler.now(), began));
                }
                return false;
              });
          var far = there(1).getFirst();
          var near = here(3);
          long start = scheduler.now();
          begin(() -> link(far).occupy(20_000));
          begin(() -> link(near.get(1)).passLater(near.getFirst(), 10_200));
          begin(() -> link(near.get(2)).passLater(near.getFirst(), 4_000));
          begin(() -> link(near.getFirst()).pass(far));
          scheduler.sleep(start + 29_000 * MILLI - scheduler.now());
          long oldest = told.stream().mapToLong(Told::began).min().orElseThrow();
          assertTrue(told.stream().anyMatch(one -> one.began() > oldest), told::toString);
          long first =
              told.stream().filter(one -> one.began() == oldest).findFirst().orElseThrow().at();
          assertTrue(first - start < 10_300 * MILLI, told::toString);
        });
  }

  /** By a thread of its own, in the order of these calls. */
  private void begin(Runnable call) {
    scheduler.start(nodes.first().life(), "call", call);
    scheduler.sleep(10 * MILLI);
  }
}
