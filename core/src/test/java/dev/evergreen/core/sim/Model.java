package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What every read must yield, from the states of all grains, without any runtime. */
final class Model implements Reader {

  /** What a formula yields. */
  private record Yield(long value, @Nullable RuntimeException failure) {
    long get() {
      if (failure != null) {
        throw failure;
      }
      return value;
    }
  }

  /** After so many looks at the edges the members of circles are not going to be the same twice. */
  private static final int MOST_LOOKS = 50;

  /** Which no reference exceeds. */
  private static final int MOST_ARGUMENT = 2;

  private final App app;
  private final Map<String, Cell.Contents> cells = new HashMap<>();
  private final Map<Long, Formula.Contents> formulas = new HashMap<>();
  private final Map<Courier.Key, Courier.Contents> couriers = new HashMap<>();
  private final Map<String, Ring.Contents> rings = new HashMap<>();
  private final Map<String, Stalls.Contents> stalls = new HashMap<>();
  private final Deque<Ref> reading = new ArrayDeque<>();
  private Set<Ref> failing = Set.of();
  private boolean asCalled;
  private final Map<Ref, Yield> known = new HashMap<>();
  private final Map<Ref, Set<Ref>> edges = new LinkedHashMap<>();

  private Model(App app) {
    this.app = app;
  }

  /** Asks every grain for its state. */
  static Model of(App app, SimNode node) {
    var model = new Model(app);
    var grains = node.engine().grains();
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
    for (var key : wiring.rings()) {
      model.rings.put(key, insist(() -> grains.get(Ring.class, key).contents()));
    }
    for (var key : wiring.stalls()) {
      var stalls = Objects.requireNonNull(app.stallsOf(node.id().address()));
      model.stalls.put(key, insist(() -> stalls.contents(grains, key)));
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

  /**
   * Judges every grain by the writes that it must consist of; all nodes are of the newer version.
   */
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
    rings.forEach(
        (key, ring) -> {
          judge("Ring/" + key, ring.version(), ring.applied());
          if (ring.version() != ring.applied().size()) {
            app.violation(
                "3: the state of ring " + key + " does not follow from its writes: " + ring);
          }
        });
    stalls.forEach(
        (key, stall) -> {
          judge("Stall/" + key, stall.version(), stall.applied());
          app.writes().judgeNoted("Stall/" + key, stall.noted());
          if (stall.version() != stall.applied().size()
              || stall.value() != app.replay(stall.applied())) {
            app.violation(
                "3: the state of stall " + key + " does not follow from its writes: " + stall);
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
        && couriers.equals(other.couriers)
        && rings.equals(other.rings)
        && stallsOfBoth().equals(other.stallsOfBoth());
  }

  /** A node of the older version does not see all of them. */
  private Map<String, Stalls.Contents> stallsOfBoth() {
    var all = new HashMap<>(stalls);
    all.replaceAll((key, stall) -> stall.ofBoth());
    return all;
  }

  /** The states, for a message. */
  String states() {
    return cells + " " + formulas + " " + couriers + " " + rings + " " + stalls;
  }

  @Override
  public long read(Ref ref) {
    return switch (ref) {
      case Ref.OfCell(var key, var aspect) -> readCell(key, aspect);
      case Ref.OfFormula(long key, int argument, var aspect) ->
          readFormula(ref, key, argument, aspect);
      case Ref.OfStall(var key, long added, int tag) -> state(stalls, key).value() + added;
      case Ref.OfRing(var key) -> state(rings, key).version();
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

  int twins(String ring) {
    return state(rings, ring).twins();
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
    if (asCalled) {
      return run(ref, key, argument, aspect).get();
    }
    var reader = reading.peek();
    if (reader != null) {
      edges.computeIfAbsent(reader, r -> new LinkedHashSet<>()).add(ref);
    }
    var before = known.get(ref);
    if (before == null) {
      before = run(ref, key, argument, aspect);
      known.put(ref, before);
    }
    return before.get();
  }

  /** One that comes back to itself, or is in a circle, fails; but first it reads what it reads. */
  private Yield run(Ref ref, long key, int argument, Ref.Aspect aspect) {
    if (reading.contains(ref)) {
      return new Yield(0, new CycleException("reads go in a circle"));
    }
    if (failing.contains(ref)) {
      known.put(ref, new Yield(0, new CycleException("reads go in a circle")));
    }
    edges.put(ref, new LinkedHashSet<>());
    reading.push(ref);
    try {
      long value = Program.run(state(formulas, key).program(), key, argument, this);
      return failed(ref, new Yield(aspect == Ref.Aspect.PARITY ? value & 1 : value, null));
    } catch (RuntimeException e) {
      return failed(ref, new Yield(0, e));
    } finally {
      reading.pop();
    }
  }

  private Yield failed(Ref ref, Yield otherwise) {
    return failing.contains(ref) ? Objects.requireNonNull(known.get(ref)) : otherwise;
  }

  /** What a call yields: of a chain of calls that comes back, the last one fails. */
  Seen called(Callable<Long> read) {
    asCalled = true;
    failing = Set.of();
    var seen = Seen.of(read);
    asCalled = false;
    return seen;
  }

  /**
   * What a computation yields. All that are in a circle of reads fail, and what they fail with may
   * decide what is read; so who is in a circle is looked at again until it is the same.
   *
   * <p>There is one answer at most. Say there were two, and that a grain is in a circle by one of
   * them only. Then somebody on that circle reads other grains by the other answer, as one that it
   * reads by both yields something else; so that one is in a circle by one answer only, or reads
   * such a one by both, and so on. Who is come to like this comes again at last, along reads that
   * are made by both answers: a circle by both.
   */
  Seen computed(Callable<Long> read) {
    var fromNone = computed(read, Set.of());
    var fromAll = computed(read, allFormulas());
    failing = Set.of();
    var answer = fromNone != null ? fromNone : fromAll;
    if (answer == null || (fromAll != null && !fromAll.equals(answer))) {
      throw new SimulationFailure("the model has no single answer: " + fromNone + ", " + fromAll);
    }
    return answer;
  }

  private @Nullable Seen computed(Callable<Long> read, Set<Ref> first) {
    failing = first;
    for (int looks = 0; looks < MOST_LOOKS; looks++) {
      known.clear();
      edges.clear();
      var seen = Seen.of(read);
      var members = inCircles();
      if (members.equals(failing)) {
        return seen;
      }
      failing = members;
    }
    return null;
  }

  private Set<Ref> allFormulas() {
    var all = new HashSet<Ref>();
    for (long key : formulas.keySet()) {
      for (var aspect : Ref.Aspect.values()) {
        for (int argument = 0; argument <= MOST_ARGUMENT; argument++) {
          all.add(new Ref.OfFormula(key, argument, aspect));
        }
      }
    }
    return all;
  }

  private Set<Ref> inCircles() {
    return edges.keySet().stream()
        .filter(ref -> Circles.reached(ref, edges).contains(ref))
        .collect(Collectors.toSet());
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
