package dev.evergreen.core.sim;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Makes up keys, reads, programs and queries. */
final class Wiring {

  private static final int MOST_STEPS = 5;
  private static final int MOST_RINGS = 7;
  private static final long INSTEAD = 50;
  private static final long LONGEST_WAIT = Duration.ofMillis(500).toNanos();

  private final Scenario scenario;
  private final SplittableRandom random;
  private final Map<Long, List<Step>> initial = new HashMap<>();

  Wiring(Scenario scenario, SplittableRandom random) {
    this.scenario = scenario;
    this.random = random;
    for (long key = 1; key <= scenario.formulas(); key++) {
      initial.put(key, program(key));
    }
  }

  /** With these programs at the beginning. */
  Wiring(Scenario scenario, SplittableRandom random, Map<Long, List<Step>> initial) {
    this.scenario = scenario;
    this.random = random;
    this.initial.putAll(initial);
  }

  /** What a formula does until it is first rewired. */
  List<Step> initialProgram(long key) {
    return initial.getOrDefault(key, List.of());
  }

  List<String> cells() {
    return names("c", scenario.cells());
  }

  List<String> meters() {
    return names("m", scenario.meters());
  }

  List<Courier.Key> couriers() {
    var keys = new ArrayList<Courier.Key>();
    for (int i = 1; i <= scenario.couriers(); i++) {
      keys.add(new Courier.Key("k", i));
    }
    return keys;
  }

  List<String> rings() {
    return names("r", scenario.rings());
  }

  List<String> stalls() {
    return names("s", scenario.stalls());
  }

  private static List<String> names(String prefix, int count) {
    var names = new ArrayList<String>();
    for (int i = 1; i <= count; i++) {
      names.add(prefix + i);
    }
    return names;
  }

  String cell() {
    return "c" + random.nextInt(1, scenario.cells() + 1);
  }

  long formula() {
    return random.nextLong(1, scenario.formulas() + 1L);
  }

  /** A program for a formula: it reads only lower ones, unless there may be cycles. */
  List<Step> program(long formula) {
    var steps = new ArrayList<Step>();
    int count = random.nextInt(1, MOST_STEPS + 1);
    for (int i = 0; i < count; i++) {
      steps.add(step(formula));
    }
    return List.copyOf(steps);
  }

  private Step step(long formula) {
    if (scenario.hurries() && random.nextInt(5) == 0) {
      return random.nextInt(3) == 0
          ? waiting(random.nextLong(LONGEST_WAIT))
          : new Step.AddWithin(
              readFor(formula), random.nextLong(LONGEST_WAIT), random.nextInt(100));
    }
    return switch (random.nextInt(scenario.failing() ? 10 : 9)) {
      case 0, 1, 2 -> new Step.Add(readFor(formula));
      case 3 -> new Step.AddAll(reads(formula));
      case 4 -> new Step.AddAllOr(reads(formula), INSTEAD);
      case 5 -> new Step.SkipIfOdd(readFor(formula), random.nextInt(1, 3));
      case 6 -> new Step.AddOr(readFor(formula), random.nextInt(100));
      case 7 -> new Step.AddOwn(random.nextInt(2));
      case 8 -> new Step.Times(random.nextInt(-2, 3));
      default -> new Step.FailIfOdd("formula " + formula + " is odd:");
    };
  }

  private static Step waiting(long nanos) {
    return nanos % 2 == 0 ? new Step.Wait(nanos) : new Step.WaitOr(nanos, INSTEAD);
  }

  private List<Ref> reads(long formula) {
    var refs = new ArrayList<Ref>();
    int count = random.nextInt(1, 5);
    for (int i = 0; i < count; i++) {
      refs.add(readFor(formula));
    }
    return List.copyOf(refs);
  }

  private Ref readFor(long formula) {
    long formulas = scenario.cyclic() ? scenario.formulas() : formula - 1;
    return read(formulas);
  }

  /** Any read. */
  Ref read() {
    return read(scenario.formulas());
  }

  private Ref read(long formulas) {
    int kind = random.nextInt(12);
    if (kind < 4 && formulas > 0) {
      return new Ref.OfFormula(random.nextLong(1, formulas + 1), random.nextInt(3), aspect());
    }
    if (kind == 4 && scenario.meters() > 0) {
      return new Ref.OfMeter("m" + random.nextInt(1, scenario.meters() + 1));
    }
    if (kind == 5 && scenario.couriers() > 0) {
      return new Ref.OfCourier(new Courier.Key("k", random.nextInt(1, scenario.couriers() + 1)));
    }
    if (kind == 6 && scenario.stalls() > 0) {
      var stall = "s" + random.nextInt(1, scenario.stalls() + 1);
      return new Ref.OfStall(stall, random.nextInt(2), random.nextInt(2));
    }
    if (kind == 7 && scenario.rings() > 0) {
      return new Ref.OfRing(ring());
    }
    return new Ref.OfCell(cell(), aspect());
  }

  private String ring() {
    return "r" + random.nextInt(1, scenario.rings() + 1);
  }

  /** A chain that begins at a ring, often branches, and often comes back to that ring. */
  Ring.Course course(long chain, String ring) {
    var patience = Duration.ofMillis(random.nextBoolean() ? 3_000 : random.nextInt(1, 200));
    var next = new ArrayList<List<Ring.Course>>();
    int count = random.nextInt(1, MOST_RINGS + 1);
    for (int place = 0; place < count; place++) {
      next.add(new ArrayList<>());
    }
    for (int place = count - 1; place > 0; place--) {
      int caller = random.nextBoolean() ? place - 1 : random.nextInt(place);
      var other = random.nextInt(3) == 0 ? ring : ring();
      var after = next.get(place);
      boolean reads = after.isEmpty() && random.nextInt(6) == 0;
      var task = reads ? Ring.Task.READ : change();
      next.get(caller)
          .addFirst(new Ring.Course(chain, place, other, task, patience, List.copyOf(after)));
    }
    return new Ring.Course(chain, 0, ring, change(), patience, List.copyOf(next.getFirst()));
  }

  private Ring.Task change() {
    return switch (random.nextInt(8)) {
      case 0, 1 -> Ring.Task.FAIL;
      case 2 -> Ring.Task.CHANGE_IN_HASTE;
      default -> Ring.Task.CHANGE;
    };
  }

  private Ref.Aspect aspect() {
    var all = Ref.Aspect.values();
    return all[random.nextInt(all.length)];
  }

  Query query() {
    return switch (random.nextInt(scenario.rings() > 0 ? 27 : 25)) {
      case 0, 1, 2, 3, 4, 5 -> new Query.One(read());
      case 6, 7, 8, 9, 10, 11 -> new Query.Run(program(scenario.formulas() + 1L));
      case 12, 13, 14, 15, 16, 17 -> new Query.VersionOf(cell());
      case 18, 19 -> new Query.FirstOf(read(), read());
      case 20, 21 -> new Query.RoughOf(cell());
      case 22 -> new Query.Writing(cell());
      case 25, 26 -> new Query.TwinsOf(ring());
      default -> new Query.ParityOf(read());
    };
  }
}
