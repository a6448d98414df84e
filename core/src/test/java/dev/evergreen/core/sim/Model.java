package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.Grains;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** What every read must yield, from the states of all grains, without any runtime. */
final class Model implements Reader {

  /** A read that leads back to itself. */
  private static final class Circle extends Error {
    final Set<Ref> members;

    Circle(Set<Ref> members) {
      super("a circle of reads", null, false, false);
      this.members = members;
    }
  }

  /** With more members of circles than this, all that may come of them is too much. */
  private static final int MOST_MEMBERS = 12;

  private final App app;
  private final Map<String, Cell.Contents> cells = new HashMap<>();
  private final Map<Long, Formula.Contents> formulas = new HashMap<>();
  private final Map<Courier.Key, Courier.Contents> couriers = new HashMap<>();
  private final Set<Ref> reading = new LinkedHashSet<>();
  private Set<Ref> failing = Set.of();
  private boolean asCalled;

  private Model(App app) {
    this.app = app;
  }

  /** Asks every grain for its state. */
  static Model of(App app, Grains grains) {
    var model = new Model(app);
    var wiring = app.wiring();
    for (var key : wiring.cells()) {
      model.cells.put(key, insist(() -> grains.get(Cell.class, key).contents()));
    }
    for (long key = 1; key <= app.scenario().formulas(); key++) {
      long formula = key;
      model.formulas.put(key, insist(() -> grains.get(Formula.class, formula).contents()));
    }
    for (var key : wiring.couriers()) {
      model.couriers.put(key, insist(() -> grains.get(Courier.class, key).contents()));
    }
    return model;
  }

  private static <T> T insist(Supplier<T> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      throw new SimulationFailure(
          "violated 1: nothing is wrong any more, but a call fails: " + e, e);
    }
  }

  /** Judges every grain by the writes that it must consist of. */
  void judge() {
    cells.forEach(
        (key, cell) -> {
          judge("Cell/" + key, cell.version(), cell.applied());
          if (cell.version() != cell.applied().size()
              || cell.value() != app.replay(cell.applied())) {
            app.violation(
                "3: the state of cell " + key + " does not follow from its writes: " + cell);
          }
        });
    formulas.forEach(
        (key, formula) -> judge("Formula/" + key, formula.version(), formula.applied()));
    couriers.forEach(
        (key, courier) ->
            judge("Courier/" + key.name() + key.number(), courier.version(), courier.applied()));
  }

  private void judge(String grain, long version, List<Long> applied) {
    app.writes().judge(grain, version, applied);
  }

  /** Whether both say the same of every grain. */
  boolean sameStates(Model other) {
    return cells.equals(other.cells)
        && formulas.equals(other.formulas)
        && couriers.equals(other.couriers);
  }

  /** The states, for a message. */
  String states() {
    return cells + " " + formulas + " " + couriers;
  }

  @Override
  public long read(Ref ref) {
    return switch (ref) {
      case Ref.OfCell(var key, var aspect) -> readCell(key, aspect);
      case Ref.OfFormula(long key, int argument, var aspect) ->
          readFormula(ref, key, argument, aspect);
      case Ref.OfMeter(var key) -> app.meter(key);
      case Ref.OfCourier(var key) -> state(couriers, key).ticks();
    };
  }

  /** What is there at last: the computation runs again when it is. */
  @Override
  public long readWithin(Ref ref, long nanos) {
    return read(ref);
  }

  @Override
  public void sleep(long nanos) {}

  long version(String cell) {
    return state(cells, cell).version();
  }

  long value(String cell) {
    return state(cells, cell).value();
  }

  private long readCell(String key, Ref.Aspect aspect) {
    var contents = state(cells, key);
    return switch (aspect) {
      case VALUE -> CellGrain.valueOf(contents, key, app.scenario().failing());
      case PARITY -> contents.value() & 1;
      case AUDITED -> contents.value();
    };
  }

  private long readFormula(Ref ref, long key, int argument, Ref.Aspect aspect) {
    if (failing.contains(ref)) {
      throw new CycleException("reads go in a circle");
    }
    if (!reading.add(ref)) {
      if (asCalled) {
        throw new CycleException("reads go in a circle");
      }
      throw new Circle(circle(ref));
    }
    try {
      long value = Program.run(state(formulas, key).program(), key, argument, this);
      return aspect == Ref.Aspect.PARITY ? value & 1 : value;
    } finally {
      reading.remove(ref);
    }
  }

  private Set<Ref> circle(Ref back) {
    return reading.stream().dropWhile(ref -> !ref.equals(back)).collect(Collectors.toSet());
  }

  /**
   * What a read may yield: what a chain of calls yields, of which the one that comes back fails;
   * and a result for each set of members of circles that, when they fail, leave no circle.
   */
  Set<Seen> outcomes(Callable<Long> read) {
    var members = new ArrayList<Ref>();
    var outcomes = new HashSet<Seen>();
    asCalled = true;
    outcomes.add(Seen.of(read));
    asCalled = false;
    for (int chosen = 0; chosen < 1 << members.size() || chosen == 0; chosen++) {
      failing = subset(members, chosen);
      reading.clear();
      try {
        outcomes.add(Seen.of(read));
      } catch (Circle circle) {
        // A member that is new doubles the choices that are still to come.
        circle.members.stream().filter(ref -> !members.contains(ref)).forEach(members::add);
        if (members.size() > MOST_MEMBERS) {
          throw new SimulationFailure("a scenario has too many reads in circles: " + members);
        }
      }
    }
    failing = Set.of();
    return outcomes;
  }

  private static Set<Ref> subset(List<Ref> members, int chosen) {
    var subset = new HashSet<Ref>();
    for (int i = 0; i < members.size(); i++) {
      if ((chosen & 1 << i) != 0) {
        subset.add(members.get(i));
      }
    }
    return subset;
  }

  @Override
  public List<Long> readAll(List<Ref> refs) {
    var values = new ArrayList<Long>();
    RuntimeException failure = null;
    for (var ref : refs) {
      try {
        values.add(read(ref));
      } catch (RuntimeException e) {
        // The others are read all the same, and may lead into a cycle.
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return values;
  }

  private static <K, V> V state(Map<K, V> states, K key) {
    var state = states.get(key);
    if (state == null) {
      throw new IllegalStateException("no grain " + key);
    }
    return state;
  }
}
