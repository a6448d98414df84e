package dev.evergreen.core.sim;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.sim.Member.Reads;
import dev.evergreen.core.sim.Member.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One run: members read each other along lists that are written at random, so that circles form,
 * grow, break and come back, while the {@link Nemesis} moves, kills and cuts off what it can. When
 * all is quiet every reader shows what the {@link Mesh} says, as current, and what changes no
 * result runs nobody. That several times, and when all readers are gone nothing is left.
 *
 * <p>Where results are {@linkplain Slowness compared}, there is more trouble: grains move while
 * that goes on, readers close and come back, and some have little patience.
 */
final class Storm {

  private static final int MOST_MEMBERS = 12;
  private static final int MOST_STORMS = 10;
  private static final int MOST_REWIRERS = 3;

  private final Scenario scenario;
  private final SplittableRandom random;
  private final World world;
  private final Checks checks;
  private final List<String> members;

  /** How many others a member reads at most. */
  private final int most;

  /** Whether all members read in a thorough way. */
  private final boolean thorough;

  /** How members and readers read. */
  private final Member.Operation how;

  /** How long comparers take; null if nothing is compared by them. */
  private final @Nullable Slowness slowness;

  private final List<Look> looks = new ArrayList<>();
  private final Map<String, Reads> written = new HashMap<>();

  private Storm(Scenario given, @Nullable Slowness slowness, Trace trace) {
    this.slowness = slowness;
    this.how = slowness == null ? Member::value : Member::compared;
    this.scenario = slowness == null ? given : given.with(slowness.settings(given));
    this.random = new SplittableRandom(scenario.seed() * 0x9e3779b97f4a7c15L + 2);
    var policy = new RandomPolicy(random.split(), scenario.pace());
    var wiring = new Wiring(scenario, random.split());
    this.world = new World(scenario, wiring, address -> types(), policy, random, trace);
    var patience = scenario.patience();
    this.checks = new Checks(world, slowness == null ? patience : slowness.patience(patience));
    this.members =
        IntStream.rangeClosed(1, random.nextInt(2, MOST_MEMBERS + 1))
            .mapToObj(i -> "m" + i)
            .toList();
    this.most = random.nextInt(1, 4);
    this.thorough = random.nextBoolean();
    if (slowness != null) {
      slowness.slowDown(world.scheduler, random);
    }
  }

  private GrainTypes types() {
    return GrainTypes.create()
        .<String, Member>add(Member.class, context -> new MemberGrain(context, world.app));
  }

  /**
   * Runs a scenario to its end.
   *
   * @return numbers about the run
   * @throws SimulationFailure if something is not as it must be
   */
  static String of(Scenario scenario, Trace trace) {
    return new Storm(scenario, null, trace).toEnd();
  }

  /** As {@link #of}, where results are compared by what takes its time. */
  static String compared(Scenario scenario, Trace trace) {
    return new Storm(scenario, Slowness.of(scenario), trace).toEnd();
  }

  private String toEnd() {
    world.scheduler.run(this::main);
    return world.summary();
  }

  private void main() {
    world.cluster.startAll(scenario.nodes());
    int storms = random.nextInt(1, MOST_STORMS + 1);
    for (int storm = 1; storm <= storms; storm++) {
      rage();
      judge("storm " + storm);
      if (storm == storms || random.nextInt(4) == 0) {
        judgeQuiet();
        judgeForLateOnes("storm " + storm + ", for who comes late,");
      }
      open().stream().filter(look -> random.nextInt(4) == 0).forEach(Look::close);
    }
    open().forEach(Look::close);
    checks.checkNothingLeft();
  }

  // Storms

  private void rage() {
    int readers = random.nextInt(members.size());
    for (int i = 0; i < readers; i++) {
      look(world.anyNode());
    }
    var nemesis = new Nemesis(world, random.split());
    if (random.nextBoolean()) {
      nemesis.start();
      if (slowness != null && random.nextBoolean()) {
        world.network.weather(Weather.JUMBLED);
      }
    }
    int rewirers = random.nextInt(1, MOST_REWIRERS + 1);
    for (int i = 0; i < rewirers; i++) {
      var node = world.anyNode();
      int actions = random.nextInt(1, 2 * members.size());
      world.population.add(node, "rewirer", true, () -> rewire(node, actions));
    }
    world.await("all is rewired", world.population::idle);
    nemesis.stop();
    world.await("the cluster settles", world.cluster::settled);
  }

  private void rewire(SimNode node, int actions) {
    long pause = random.nextBoolean() ? scenario.thinkNanos() : 0;
    for (int i = 0; i < actions; i++) {
      world.scheduler.sleep(random.nextLong(pause + 1));
      try {
        act(node);
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

  private void act(SimNode node) {
    int choice = random.nextInt(slowness == null ? 10 : 14);
    if (choice > 11) {
      world.moveOne(random);
    } else if (choice > 9) {
      any(openOn(node)).ifPresent(this::comeBack);
    } else if (choice < 2) {
      look(node);
    } else if (choice == 2) {
      any(openOn(node)).ifPresent(Look::close);
    } else {
      var key = anyMember();
      var before = written.getOrDefault(key, Reads.NOTHING);
      write(node, key, other(before));
      if (random.nextBoolean()) {
        // Not all have heard by now that it was otherwise.
        world.scheduler.sleep(random.nextLong(1L << random.nextInt(30)));
        write(node, key, before);
      }
    }
  }

  private void write(SimNode node, String key, Reads reads) {
    world.app.trace(node.toString(), key + " is to read " + reads);
    written.put(key, reads);
    member(node, key).read(reads);
  }

  /** What a member could read instead of what it reads. */
  private Reads other(Reads now) {
    var others = new ArrayList<>(now.others());
    switch (random.nextInt(8)) {
      case 0 -> {
        return new Reads(random.nextInt(Member.LIMIT), now.others(), anyWay());
      }
      case 1 -> others.clear();
      case 2 -> others.add(anyMember());
      case 3 -> any(others).ifPresent(others::remove);
      default -> {
        others.clear();
        int count = random.nextInt(1, most + 1);
        for (int i = 0; i < count; i++) {
          others.add(anyMember());
        }
      }
    }
    return new Reads(now.own(), List.copyOf(others), anyWay());
  }

  private Way anyWay() {
    if (thorough) {
      return random.nextInt(3) == 0 ? Way.CATCHING : Way.ALL;
    }
    return random.nextInt(3) == 0 ? Way.TOGETHER : Way.IN_TURN;
  }

  private String anyMember() {
    return members.get(random.nextInt(members.size()));
  }

  private <T> Optional<T> any(List<T> list) {
    return list.isEmpty() ? Optional.empty() : Optional.of(list.get(random.nextInt(list.size())));
  }

  private static Member member(SimNode node, String key) {
    return node.engine().grains().get(Member.class, key);
  }

  // Readers

  /** Opens a computation that reads some members. */
  private void look(SimNode node) {
    var keys = new TreeSet<String>();
    do {
      keys.add(anyMember());
    } while (random.nextInt(3) == 0);
    look(node, keys);
  }

  private void look(SimNode node, Set<String> keys) {
    boolean hurries = slowness != null && random.nextInt(3) == 0;
    var grains = node.engine().grains();
    var look =
        new Look(
            node,
            keys,
            hurries ? grains.withTimeout(Duration.ofNanos(1L << random.nextInt(20, 32))) : grains);
    looks.add(look);
    look.begin();
  }

  /**
   * A reader closes, and another one reads the same, inside the grace of what it has read or not.
   */
  private void comeBack(Look look) {
    look.close();
    world.scheduler.sleep(random.nextLong(2 * scenario.settings().cacheGrace().toNanos() + 1));
    if (look.node.serves()) {
      look(look.node, look.keys);
    }
  }

  private List<Look> open() {
    return looks.stream().filter(Look::open).toList();
  }

  private List<Look> openOn(SimNode node) {
    return open().stream().filter(look -> look.node == node).toList();
  }

  /** A computation that reads some members. */
  private final class Look {
    private final SimNode node;
    private final Set<String> keys;
    private final ReactiveComputation<String> computation;
    private boolean closed;

    Look(SimNode node, Set<String> keys, Grains grains) {
      this.node = node;
      this.keys = keys;
      this.computation =
          node.engine().reactive(() -> Mesh.seen(grains, keys, how, thorough).toString());
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

    void judge(Mesh mesh, String when) {
      var tracker = computation.tracker();
      var got = tracker.poll(Duration.ZERO).map(Seen::of).orElse(Seen.value("nothing"));
      var expected = Seen.value(mesh.shown(keys));
      if (!got.equals(expected) || tracker.freshness() != Freshness.CURRENT) {
        world.app.violation(
            "1: after "
                + when
                + " a reader on "
                + node
                + " shows "
                + got
                + ", "
                + tracker.freshness()
                + ", but it is "
                + expected
                + " by "
                + mesh);
      }
    }
  }

  // What must hold

  private void judge(String when) {
    checks.settle(when);
    var mesh = mesh();
    open().forEach(look -> look.judge(mesh, when));
  }

  private void judgeQuiet() {
    checks.checkQuiet();
    var mesh = mesh();
    for (var key : members) {
      checks.checkTouch("Member/" + key, () -> leaveAsItIs(key, mesh));
    }
  }

  /** By what the members say themselves. */
  private Mesh mesh() {
    var lists = new TreeMap<String, Reads>();
    members.forEach(key -> lists.put(key, member(world.anyNode(), key).reads()));
    return new Mesh(lists);
  }

  /** A write by which no result becomes another. */
  private void leaveAsItIs(String key, Mesh mesh) {
    var member = member(world.anyNode(), key);
    // One whose grain was saved by another host meanwhile learns of that by its next save.
    var reversed = scenario.profile().split() ? null : mesh.reversed(key);
    if (reversed == null || random.nextBoolean()) {
      member.touch();
    } else {
      member.read(reversed);
    }
  }

  /** Also those members that nobody has read until now. */
  private void judgeForLateOnes(String when) {
    members.forEach(key -> look(world.anyNode(), Set.of(key)));
    judge(when);
  }
}
