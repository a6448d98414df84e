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
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
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
 * up for a while. Neither is held up for ever, however many come: a {@link Crowd} writes without
 * waiting for what is computed of that, and has something new computed without end. All the same no
 * chain waits longer for runs than that while, and each computation comes to show what a write has
 * left.
 */
final class AdmissionSimulationTest {

  private static final int SEEDS = Integer.getInteger("evergreen.admission.seeds", 300);

  /** Never fewer: the broken versions, which get them all, need some to be found. */
  static final int SEEDS_IN_CROWD = Math.max(20, SEEDS / 15);

  private static final int GRAINS = 5;
  private static final int LONGEST = 4;
  private static final int BRANCHES = 2;
  private static final long MOST_NANOS = 20_000_000;
  private static final int CLIENTS = 8;
  private static final int CHAINS = 30;
  private static final int CHAINS_IN_CROWD = 4;

  /** More than a turn takes by itself, with its messages, and with steps of threads. */
  private static final long TURN_NANOS = MOST_NANOS + 10_000_000;

  /** What all that are under way take one after the other, those included that pass a chain. */
  private static final long BOUND_NANOS = 3L * CLIENTS * LONGEST * TURN_NANOS;

  private static final long BOUND_IF_REENTRANT_NANOS =
      3L * CLIENTS * (LONGEST + 2 * BRANCHES) * TURN_NANOS;

  /** As long as runs and writes hold each other up, at most. */
  private static final Duration WRITE_DELAY = Duration.ofMillis(40);

  /** A writer that is alone waits so long at most, and for messages there and back. */
  private static final long PAUSE_NANOS = 2_000_000;

  /** Longer than both. */
  private static final long RUN_NANOS = 8_000_000;

  private static final int WRITERS = 3;
  private static final int READERS = 4;

  /** Each turn may have to wait for runs as well, and a result has to pass all grains. */
  private static final long BOUND_WITH_RUNS_NANOS =
      (CLIENTS * LONGEST + WRITERS + GRAINS) * (TURN_NANOS + WRITE_DELAY.toNanos());

  private static final Duration LIMIT = Duration.ofMinutes(10);

  /** For what would have no end in a crowd. */
  private static final Duration LIMIT_IN_CROWD = Duration.ofNanos(BOUND_WITH_RUNS_NANOS);

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

    /** How many writes this grain has seen since then: there is always another number. */
    @ReadOnly
    long writesSince(long number);
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
      context.sleep(Duration.ofNanos(RUN_NANOS));
      return written + (grain + 1 < GRAINS ? total(context.grains(), grain + 1) : 0);
    }

    @Override
    public long writesSince(long number) {
      context.sleep(Duration.ofNanos(RUN_NANOS));
      return written - number;
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
  @Test
  void norDoWritesAndWhatIsComputedOfThem() {
    for (int seed = 1; seed <= SEEDS_IN_CROWD; seed++) {
      checkInCrowd(seed);
    }
  }

  /** As every test run tries it, on one node and on several. */
  static void checkInCrowd(int seed) {
    check(seed, longest(seed, seed % 2 == 0 ? 1 : 3, Kind.COMPUTED), BOUND_WITH_RUNS_NANOS);
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
    boolean crowded = kind == Kind.COMPUTED;
    boolean allAscend = (crowded ? seed / 2 : seed) % 2 == 0;
    var limit = crowded ? LIMIT_IN_CROWD : LIMIT;
    var cluster =
        new Cluster(
            scheduler,
            random.split(),
            Scenario.of(seed)
                .with(
                    NodeSettings.DEFAULT
                        .withCallTimeout(limit)
                        .withWriteDelay(WRITE_DELAY)
                        .withCacheGrace(WRITE_DELAY)),
            network,
            storage,
            address ->
                GrainTypes.create()
                    .<String, Peer>add(Peer.class, context -> new PeerGrain(context, false))
                    .<String, ReentrantPeer>add(
                        ReentrantPeer.class, context -> new PeerGrain(context, true)));
    int chainsEach = crowded ? CHAINS_IN_CROWD : CHAINS;
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
                  try (var chains = new ChainClient(kind, node.engine(), own, allAscend)) {
                    for (int i = 0; i < chainsEach; i++) {
                      long begun = scheduler.now();
                      chains.call();
                      times.add(scheduler.now() - begun);
                    }
                  }
                });
          }
          var crowd = new Crowd(scheduler, serving, random.split());
          if (crowded) {
            crowd.come();
          }
          while (times.size() < CLIENTS * chainsEach) {
            scheduler.sleep(100_000_000);
          }
          crowd.go();
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
        totals.after(
            () -> AdmissionSimulationTest.call(grains, false, chain, first), LIMIT_IN_CROWD);
      }
    }

    @Override
    public void close() {
      if (totals != null) {
        totals.close();
      }
    }
  }

  /**
   * Goes on with some of the grains for as long as the clients do. There it writes again and again:
   * either several write, so that one always waits, and runs never begin between; or one does,
   * whose pauses are shorter than a run, so that runs begin and none ends. And there it begins one
   * computation after the other, so that runs are always under way. Each of these has a limit, too.
   */
  private static final class Crowd {
    private final Scheduler scheduler;
    private final List<SimNode> nodes;
    private final SplittableRandom random;
    private int here;
    private long computed;
    private boolean over;

    Crowd(Scheduler scheduler, List<SimNode> nodes, SplittableRandom random) {
      this.scheduler = scheduler;
      this.nodes = nodes;
      this.random = random;
    }

    void come() {
      int writers = random.nextBoolean() ? WRITERS : 1;
      for (int grain = 0; grain < GRAINS; grain++) {
        if (random.nextBoolean()) {
          comeTo(grain, writers);
        }
      }
    }

    private void comeTo(int grain, int writers) {
      for (int i = 0; i < writers; i++) {
        var own = random.split();
        repeat(
            node -> {
              write(node, grain, own);
              scheduler.sleep(writers == 1 ? own.nextLong(PAUSE_NANOS) : 0);
            });
      }
      for (int i = 0; i < READERS; i++) {
        repeat(node -> compute(node, grain));
      }
    }

    private void write(Node node, int grain, SplittableRandom own) {
      call(node.grains(), false, 0, new Hop(0, grain, true, nanos(own), List.of()));
    }

    private void compute(Node node, int grain) {
      long number = ++computed;
      var peer = node.grains().get(Peer.class, "p" + grain);
      try (var since = node.reactive(() -> peer.writesSince(number))) {
        since.tracker().next(LIMIT_IN_CROWD);
      }
    }

    private void repeat(Consumer<Node> action) {
      var node = nodes.get(here % nodes.size());
      scheduler.start(
          node.life(),
          "crowd-" + ++here,
          () -> {
            while (!over) {
              action.accept(node.engine());
            }
            here--;
          });
    }

    void go() {
      over = true;
      while (here > 0) {
        scheduler.sleep(1_000_000);
      }
      scheduler.sleep(1_000_000_000); // what is under way for them comes to its end
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
