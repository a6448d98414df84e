package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Call chains through a few grains, in fine weather and virtual time: none waits longer than what
 * all chains together have to do, whether the grains are on one node or on several.
 *
 * <p>So that no two chains can exclude each other in a circle, either all go from lower to higher
 * grains, or those that write do so and write only the first, and those that read go anywhere.
 *
 * <p>Where grains are re-entrant, all go from lower to higher ones, and then branch; each branch
 * goes on to a higher one, or not, and comes back to one that its chain is inside of. From there it
 * calls nobody, so that no branch waits for another one that waits for it.
 *
 * <p>Where there are computations over all grains, too, their runs and the writes hold each other
 * up for a while: so no write waits longer than that, too, and each computation comes to show what
 * a write has left however many follow.
 */
final class AdmissionSimulationTest {

  private static final int SEEDS = Integer.getInteger("evergreen.admission.seeds", 300);
  private static final int GRAINS = 5;
  private static final int LONGEST = 4;
  private static final int BRANCHES = 2;
  private static final long MOST_NANOS = 20_000_000;
  private static final int CLIENTS = 8;
  private static final int CHAINS = 30;

  /** More than a turn takes by itself, with its messages, and with steps of threads. */
  private static final long TURN_NANOS = MOST_NANOS + 10_000_000;

  /** What all that are under way take one after the other, those included that pass a chain. */
  private static final long BOUND_NANOS = 3L * CLIENTS * LONGEST * TURN_NANOS;

  private static final long BOUND_IF_REENTRANT_NANOS =
      3L * CLIENTS * (LONGEST + 2 * BRANCHES) * TURN_NANOS;

  /** As long as runs and writes hold each other up, at most. */
  private static final Duration WRITE_DELAY = Duration.ofMillis(40);

  /** Each turn may have to wait for runs as well, and a result has to pass all grains. */
  private static final long BOUND_WITH_RUNS_NANOS =
      3L * (CLIENTS * LONGEST + GRAINS) * (TURN_NANOS + WRITE_DELAY.toNanos());

  private static final Duration LIMIT = Duration.ofMinutes(10);

  private enum Kind {
    PLAIN,
    REENTRANT,
    COMPUTED
  }

  /**
   * One turn of a chain.
   *
   * @param call a number of its own in the chain
   * @param nanos for how long it is there before it calls the next, all at the same time
   */
  record Hop(int call, int grain, boolean writes, long nanos, List<Hop> next) {}

  interface Peer extends Grain {
    @ReadOnly
    long read(long chain, Hop hop);

    long write(long chain, Hop hop);

    /** How many writes this grain and those behind it have seen. */
    @ReadOnly
    long writes(int grain);
  }

  @Reentrant
  interface ReentrantPeer extends Grain {
    @ReadOnly
    long read(long chain, Hop hop);

    long write(long chain, Hop hop);
  }

  private static final class PeerGrain implements Peer, ReentrantPeer {
    private final GrainContext<String> context;
    private final boolean reentrant;
    private long written;

    PeerGrain(GrainContext<String> context, boolean reentrant) {
      this.context = context;
      this.reentrant = reentrant;
    }

    @Override
    public long read(long chain, Hop hop) {
      return go(chain, hop);
    }

    @Override
    public long write(long chain, Hop hop) {
      written++;
      return go(chain, hop);
    }

    @Override
    public long writes(int grain) {
      context.sleep(Duration.ofNanos(MOST_NANOS / 20));
      return written + (grain + 1 < GRAINS ? total(context.grains(), grain + 1) : 0);
    }

    private long go(long chain, Hop hop) {
      context.sleep(Duration.ofNanos(hop.nanos()));
      if (hop.next().size() == 1) {
        call(context.grains(), reentrant, chain, hop.next().getFirst());
      } else {
        Parallel.forEach(hop.next(), next -> call(context.grains(), reentrant, chain, next));
      }
      return chain;
    }
  }

  private static long total(Grains grains, int from) {
    return grains.get(Peer.class, "p" + from).writes(from);
  }

  private static long call(Grains grains, boolean reentrant, long chain, Hop hop) {
    var key = "p" + hop.grain();
    if (reentrant) {
      var peer = grains.get(ReentrantPeer.class, key);
      return hop.writes() ? peer.write(chain, hop) : peer.read(chain, hop);
    }
    var peer = grains.get(Peer.class, key);
    return hop.writes() ? peer.write(chain, hop) : peer.read(chain, hop);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void noChainWaitsLongerThanWhatIsUnderWayTakes(int nodes) {
    for (int seed = 0; seed < SEEDS; seed++) {
      check(seed, longest(seed, nodes, Kind.PLAIN), BOUND_NANOS);
    }
  }

  /** Else one of them ended by its time limit, which is longer than the bound. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void norDoChainsThatComeBackInSeveralBranches(int nodes) {
    for (int seed = 0; seed < SEEDS; seed++) {
      check(seed, longest(seed, nodes, Kind.REENTRANT), BOUND_IF_REENTRANT_NANOS);
    }
  }

  /** A write's time is that until its result is shown. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void norDoWritesAndWhatIsComputedOfThem(int nodes) {
    for (int seed = 0; seed < SEEDS / 10; seed++) {
      check(seed, longest(seed, nodes, Kind.COMPUTED), BOUND_WITH_RUNS_NANOS);
    }
  }

  private static void check(int seed, long longest, long bound) {
    assertTrue(
        longest <= bound, () -> "seed " + seed + ": a chain took " + longest / 1_000_000 + " ms");
  }

  /** The longest time that a chain took. */
  private static long longest(int seed, int nodes, Kind kind) {
    var random = new SplittableRandom(seed);
    var pace = new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 10_000_000);
    var scheduler = new Scheduler(new RandomPolicy(random.split(), pace), new Trace(false));
    var network = new SimNetwork(scheduler, random.split());
    var storage = new SimStorage(scheduler, random.split(), 1);
    var cluster =
        new Cluster(
            scheduler,
            random.split(),
            Scenario.of(seed)
                .with(NodeSettings.DEFAULT.withCallTimeout(LIMIT).withWriteDelay(WRITE_DELAY)),
            network,
            storage,
            address ->
                GrainTypes.create()
                    .<String, Peer>add(Peer.class, context -> new PeerGrain(context, false))
                    .<String, ReentrantPeer>add(
                        ReentrantPeer.class, context -> new PeerGrain(context, true)));
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
                  try (var chains = new ChainClient(kind, node.engine(), own, seed % 2 == 0)) {
                    for (int i = 0; i < CHAINS; i++) {
                      long begun = scheduler.now();
                      chains.call();
                      times.add(scheduler.now() - begun);
                    }
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

  /** Begins chains, one after the other. */
  private static final class ChainClient implements AutoCloseable {
    private final Kind kind;
    private final Grains grains;
    private final SplittableRandom random;
    private final boolean allAscend;
    private final @Nullable ReactiveComputation<Long> totals;

    ChainClient(Kind kind, Node node, SplittableRandom random, boolean allAscend) {
      this.kind = kind;
      this.grains = node.grains();
      this.random = random;
      this.allAscend = allAscend;
      this.totals = kind == Kind.COMPUTED ? node.reactive(() -> total(grains, 0)) : null;
    }

    void call() {
      boolean reentrant = kind == Kind.REENTRANT;
      var first = reentrant ? tree(random) : path(random, allAscend);
      long chain = random.nextLong();
      if (totals == null) {
        AdmissionSimulationTest.call(grains, reentrant, chain, first);
      } else {
        totals.after(() -> AdmissionSimulationTest.call(grains, false, chain, first), LIMIT);
      }
    }

    @Override
    public void close() {
      if (totals != null) {
        totals.close();
      }
    }
  }

  private static Hop path(SplittableRandom random, boolean allAscend) {
    int length = random.nextInt(1, LONGEST + 1);
    int writing = random.nextInt(3) > 0 ? 0 : allAscend ? random.nextInt(1, length + 1) : 1;
    var grains = random.ints(length, 0, GRAINS);
    var order = (allAscend || writing > 0 ? grains.distinct().sorted() : grains).toArray();
    return path(random, order, 0, writing, List.of());
  }

  /** A chain that branches at its end, to come back. */
  private static Hop tree(SplittableRandom random) {
    int length = random.nextInt(1, LONGEST);
    int writing = random.nextInt(length + 1);
    var order = random.ints(length, 0, GRAINS).distinct().sorted().toArray();
    var branches = new ArrayList<Hop>();
    for (int branch = 0; branch < BRANCHES; branch++) {
      branches.add(branch(random, order, writing >= order.length, 10 * (branch + 1)));
    }
    return path(random, order, 0, writing, List.copyOf(branches));
  }

  private static Hop branch(SplittableRandom random, int[] order, boolean mayWrite, int call) {
    int highest = order[order.length - 1];
    boolean goesOn = highest + 1 < GRAINS && random.nextBoolean();
    boolean writes = mayWrite && random.nextBoolean();
    var back =
        new Hop(
            call + 1,
            order[random.nextInt(order.length)],
            mayWrite && (writes || !goesOn) && random.nextBoolean(),
            nanos(random),
            List.of());
    return goesOn
        ? new Hop(call, random.nextInt(highest + 1, GRAINS), writes, nanos(random), List.of(back))
        : back;
  }

  private static Hop path(
      SplittableRandom random, int[] order, int from, int writing, List<Hop> last) {
    long nanos = nanos(random);
    var next =
        from + 1 < order.length ? List.of(path(random, order, from + 1, writing, last)) : last;
    return new Hop(from, order[from], from < writing, nanos, next);
  }

  private static long nanos(SplittableRandom random) {
    return random.nextInt(3) == 0 ? random.nextLong(MOST_NANOS) : MOST_NANOS / 20;
  }
}
