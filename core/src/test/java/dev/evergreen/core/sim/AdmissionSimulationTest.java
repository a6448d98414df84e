package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Call chains through a few grains, in fine weather and virtual time: none waits longer than what
 * all chains together have to do, whether the grains are on one node or on several.
 *
 * <p>So that no two chains can exclude each other in a circle, either all go from lower to higher
 * grains, or those that write do so and write only the first, and those that read go anywhere.
 */
final class AdmissionSimulationTest {

  private static final int SEEDS = Integer.getInteger("evergreen.admission.seeds", 300);
  private static final int GRAINS = 5;
  private static final int LONGEST = 4;
  private static final long MOST_NANOS = 20_000_000;
  private static final int CLIENTS = 8;
  private static final int CHAINS = 30;

  /** More than a turn takes by itself, with its messages, and with steps of threads. */
  private static final long TURN_NANOS = MOST_NANOS + 10_000_000;

  /** What all that are under way take one after the other, those included that pass a chain. */
  private static final long BOUND_NANOS = 3L * CLIENTS * LONGEST * TURN_NANOS;

  /** One turn of a chain: where it is, what it does, and for how long before it calls the next. */
  record Hop(int grain, boolean writes, long nanos) {}

  interface Peer extends Grain {
    @ReadOnly
    long read(long chain, List<Hop> path);

    long write(long chain, List<Hop> path);
  }

  private static final class PeerGrain implements Peer {
    private final GrainContext<String> context;

    PeerGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public long read(long chain, List<Hop> path) {
      return go(chain, path);
    }

    @Override
    public long write(long chain, List<Hop> path) {
      return go(chain, path);
    }

    private long go(long chain, List<Hop> path) {
      context.sleep(Duration.ofNanos(path.getFirst().nanos()));
      var rest = path.subList(1, path.size());
      return rest.isEmpty() ? chain : call(context.grains(), chain, rest);
    }
  }

  private static long call(Grains grains, long chain, List<Hop> path) {
    var first = path.getFirst();
    var peer = grains.get(Peer.class, "p" + first.grain());
    var copy = List.copyOf(path);
    return first.writes() ? peer.write(chain, copy) : peer.read(chain, copy);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void noChainWaitsLongerThanWhatIsUnderWayTakes(int nodes) {
    for (int seed = 0; seed < SEEDS; seed++) {
      long longest = longest(seed, nodes);
      assertTrue(
          longest <= BOUND_NANOS, "seed " + seed + ": a chain took " + longest / 1_000_000 + " ms");
    }
  }

  /** The longest time that a chain took. */
  private static long longest(int seed, int nodes) {
    var random = new SplittableRandom(seed);
    var pace = new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 10_000_000);
    var scheduler = new Scheduler(new RandomPolicy(random.split(), pace), new Trace(false));
    var network = new SimNetwork(scheduler, random.split());
    var storage = new SimStorage(scheduler, random.split(), 1);
    var cluster =
        new Cluster(
            scheduler,
            random.split(),
            Scenario.of(seed).with(NodeSettings.DEFAULT.withCallTimeout(Duration.ofMinutes(10))),
            network,
            storage,
            address -> GrainTypes.create().add(Peer.class, PeerGrain::new));
    var times = new ArrayList<Long>();
    scheduler.run(
        () -> {
          cluster.startAll(nodes);
          var serving = cluster.serving();
          for (int client = 0; client < CLIENTS; client++) {
            var node = serving.get(client % nodes);
            var own = random.split();
            scheduler.start(
                node.life(),
                "client-" + client,
                () -> {
                  for (int i = 0; i < CHAINS; i++) {
                    long begun = scheduler.now();
                    call(node.engine().grains(), own.nextLong(), path(own, seed % 2 == 0));
                    times.add(scheduler.now() - begun);
                  }
                });
          }
          while (times.size() < CLIENTS * CHAINS) {
            scheduler.sleep(1_000_000_000);
          }
          serving.forEach(node -> node.engine().fence("the test has ended"));
        });
    return times.stream().mapToLong(nanos -> nanos).max().orElseThrow();
  }

  private static List<Hop> path(SplittableRandom random, boolean allAscend) {
    int length = random.nextInt(1, LONGEST + 1);
    int writing = random.nextInt(3) > 0 ? 0 : allAscend ? random.nextInt(1, length + 1) : 1;
    var grains = random.ints(length, 0, GRAINS);
    var order = (allAscend || writing > 0 ? grains.distinct().sorted() : grains).toArray();
    return IntStream.range(0, order.length)
        .mapToObj(
            i ->
                new Hop(
                    order[i],
                    i < writing,
                    random.nextInt(3) == 0 ? random.nextLong(MOST_NANOS) : MOST_NANOS / 20))
        .toList();
  }
}
