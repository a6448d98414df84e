package dev.evergreen.core.sim;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.version.Program;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * One run: shops of a program in two versions point to each other, so that they are in circles or
 * not, while they move between nodes of both versions, and their lists of reads with them, and the
 * {@link Nemesis} does what it can. When all is quiet every reader shows what a call yields, as
 * current. That several times, and when all readers are gone nothing is left.
 */
final class VersionStorm {

  // Compiled before the scheduler runs, which takes a thread that is at that for stuck.
  private static final Program OLDER = Versions.OLDER_SHOP;
  private static final Program NEWER = Versions.NEWER_SHOP;
  private static final int MOST_SHOPS = 6;
  private static final int MOST_STORMS = 6;
  private static final int MOST_ACTIONS = 25;

  private final Scenario scenario;
  private final SplittableRandom random;
  private final World world;
  private final Checks checks;
  private final List<String> shops;
  private final List<Look> looks = new ArrayList<>();

  private VersionStorm(Scenario scenario, Trace trace) {
    this.scenario = scenario;
    this.random = new SplittableRandom(scenario.seed() * 0x9e3779b97f4a7c15L + 3);
    var policy = new RandomPolicy(random.split(), scenario.pace());
    var wiring = new Wiring(scenario, random.split());
    this.world =
        new World(scenario, wiring, address -> program(address).types(), policy, random, trace);
    this.checks = new Checks(world, scenario.patience());
    this.shops =
        IntStream.rangeClosed(1, random.nextInt(2, MOST_SHOPS + 1)).mapToObj(i -> "s" + i).toList();
  }

  private static Program program(String address) {
    boolean older = (address.hashCode() & 1) == 1;
    return older ? OLDER : NEWER;
  }

  /**
   * Runs a scenario to its end.
   *
   * @return numbers about the run
   * @throws SimulationFailure if something is not as it must be
   */
  static String of(Scenario scenario, Trace trace) {
    var storm = new VersionStorm(scenario, trace);
    storm.world.scheduler.run(storm::main);
    return storm.world.summary();
  }

  private void main() {
    world.cluster.startAll(scenario.nodes());
    int storms = random.nextInt(1, MOST_STORMS + 1);
    for (int storm = 1; storm <= storms; storm++) {
      rage();
      checks.settle("storm " + storm);
      open().forEach(Look::judge);
    }
    checks.checkQuiet();
    open().forEach(Look::close);
    checks.checkNothingLeft();
  }

  private void rage() {
    var nemesis = new Nemesis(world, random.split());
    if (random.nextBoolean()) {
      nemesis.start();
    }
    int actors = random.nextInt(1, 4);
    for (int i = 0; i < actors; i++) {
      var node = world.anyNode();
      world.population.add(node, "actor", true, () -> act(node));
    }
    world.await("all have acted", world.population::idle);
    nemesis.stop();
    world.await("the cluster settles", world.cluster::settled);
  }

  private void act(SimNode node) {
    int actions = random.nextInt(1, MOST_ACTIONS);
    long pause = random.nextBoolean() ? scenario.thinkNanos() : 0;
    for (int i = 0; i < actions; i++) {
      world.scheduler.sleep(random.nextLong(pause + 1));
      try {
        actOnce(node);
      } catch (SimulationFailure e) {
        throw e;
      } catch (RuntimeException e) {
        world.app.trace(node.toString(), "an action fails: " + Seen.failure(e));
      } finally {
        // The nemesis interrupts now and then; the next action shall work again.
        Thread.interrupted();
      }
    }
  }

  private void actOnce(SimNode node) {
    switch (random.nextInt(8)) {
      case 0, 1 -> look(node);
      case 2 ->
          open().stream().filter(look -> look.node == node).findFirst().ifPresent(Look::close);
      case 3, 4 -> world.moveOne(random);
      case 5 -> ask(node, "point " + anyShop());
      default -> ask(node, "point " + anyShop() + " " + anyShop());
    }
  }

  private String anyShop() {
    return shops.get(random.nextInt(shops.size()));
  }

  private static String ask(SimNode node, String what) {
    return program(node.id().address()).ask(node.engine().grains(), what);
  }

  private void look(SimNode node) {
    // The older version knows no tag, so that circles differ by where they are entered.
    var look = new Look(node, "way " + anyShop() + (random.nextBoolean() ? "" : " x"));
    looks.add(look);
    look.begin();
  }

  private List<Look> open() {
    return looks.stream().filter(Look::open).toList();
  }

  /** A computation that follows where a shop leads. */
  private final class Look {
    private final SimNode node;
    private final String what;
    private final ReactiveComputation<String> computation;
    private boolean closed;

    Look(SimNode node, String what) {
      this.node = node;
      this.what = what;
      this.computation = node.engine().reactive(() -> ask(node, what));
    }

    void begin() {
      var _ = computation.tracker().poll(Duration.ZERO);
    }

    boolean open() {
      return !closed && node.serves();
    }

    void close() {
      closed = true;
      computation.close();
    }

    void judge() {
      var tracker = computation.tracker();
      var got = tracker.poll(Duration.ZERO).map(Seen::of).orElse(Seen.value("nothing"));
      var expected = Seen.of(() -> ask(world.anyNode(), what));
      if (!got.equals(expected) || tracker.freshness() != Freshness.CURRENT) {
        world.app.violation(
            "1: a reader of '%s' on %s shows %s, %s, but it is %s"
                .formatted(what, node, got, tracker.freshness(), expected));
      }
    }
  }
}
