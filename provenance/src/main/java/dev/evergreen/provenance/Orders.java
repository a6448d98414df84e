package dev.evergreen.provenance;

import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The orders in which overlapping operations may have taken effect.
 *
 * <p>Operations of one lane took effect as their rows say. Of two on different lanes the one that
 * had its reply before the other was sent came first, and that which was sent to a process of the
 * store that was no more; else either may have. Replies are evidence: an order in which the model
 * gives another reply than the recorded one is none. An operation without a reply may have taken
 * effect at any time since, or never.
 *
 * <p>The question is one of them: what was under way together with it on another lane may have come
 * after it, and is then in no order that leads to its reply.
 *
 * <p>So are the moments at which the store changes something by itself: they come before what was
 * sent when they had come, after what was over before, and anywhere among the others.
 */
final class Orders {
  /**
   * Where a search is: which are left, and of each that took effect those before it with which its
   * order matters. The state alone is not enough: of another order other parts may be witnesses.
   */
  private record Place(BitSet left, Map<Integer, BitSet> done, State state) {}

  private final Execution execution;
  private final List<Operation> operations;

  /** The operations, then the moments. */
  private final List<Element> elements = new ArrayList<>();

  private final List<BitSet> earlier;
  private final IdentityHashMap<Operation, Integer> indexes = new IdentityHashMap<>();
  private final List<BitSet> mattering = new ArrayList<>();

  /** Those that came before the question, if they took effect at all. */
  private final BitSet before = new BitSet();

  private final Set<Operation> evidence;
  private final List<Clock> clocks;
  private final Optional<Object> expected;
  private final int most;
  private final Set<Place> seen = new HashSet<>();
  private final List<List<Element>> found = new ArrayList<>();
  private long steps;

  /** The bytes of the states of the places that were seen. */
  private long held;

  /**
   * Orders of these operations, which are in the order of their rows, up to the question.
   *
   * @param evidence those of them whose replies depend on nothing but these operations
   * @param expected the question's reply, if it has one
   */
  Orders(
      Execution execution,
      Operation question,
      List<Operation> operations,
      Set<Operation> evidence,
      List<Clock> clocks,
      Optional<Object> expected,
      int most,
      long steps) {
    this.execution = execution;
    this.operations = operations;
    this.evidence = evidence;
    this.clocks = clocks;
    operations.forEach(operation -> elements.add(new Done(operation)));
    elements.addAll(clocks);
    this.earlier = earlier();
    for (int i = 0; i < elements.size(); i++) {
      switch (elements.get(i)) {
        case Done(var operation) -> {
          indexes.put(operation, i);
          before.set(i, !operation.outcomeUnknown() && precedes(operation, question));
        }
        case Clock(var moment) -> before.set(i, moment.precedes(question));
      }
    }
    this.expected = expected;
    this.most = most;
    this.steps = steps;
  }

  /** All orders that explain every reply, up to the bound. */
  List<List<Element>> from(State start) {
    var left = new BitSet();
    left.set(0, elements.size());
    search(left, start, new ArrayList<>());
    return found;
  }

  /** Whether there may be more orders than were found. */
  boolean truncated() {
    return steps < 0 || found.size() >= most || held > Execution.MOST_BYTES;
  }

  private void search(BitSet left, State state, List<Element> sequence) {
    // A loop as long as there is no choice, so that a long trace is no deep recursion.
    while (!left.isEmpty()) {
      steps--;
      if (truncated()) {
        return;
      }
      var ready = ready(left);
      int sure = ready.stream().filter(index -> isSure(index, left)).findFirst().orElse(-1);
      if (sure >= 0) {
        ready = List.of(sure);
      }
      boolean over = !left.intersects(before);
      if (over || ready.size() > 1 || mayNotBe(ready.getFirst())) {
        if (seen.add(new Place((BitSet) left.clone(), dependences(sequence), state))) {
          held += state.own();
          if (over) {
            end(state.copy(), new ArrayList<>(sequence));
          }
          for (int index : ready) {
            branch(index, left, state, sequence);
          }
        }
        return;
      }
      if (!take(ready.getFirst(), state, sequence)) {
        return;
      }
      left.clear(ready.getFirst());
    }
    end(state, sequence);
  }

  /** Of each that took effect those before it with which it could not have changed places. */
  private Map<Integer, BitSet> dependences(List<Element> sequence) {
    var all = HashMap.<Integer, BitSet>newHashMap(sequence.size());
    var earlier = new BitSet();
    for (var element : sequence) {
      int index = index(element);
      var mattering = (BitSet) mattering().get(index).clone();
      mattering.and(earlier);
      all.put(index, mattering);
      earlier.set(index);
    }
    return all;
  }

  private boolean mayNotBe(int index) {
    return elements.get(index) instanceof Done(var operation) && operation.outcomeUnknown();
  }

  /**
   * Whether it is a moment that comes before all others that are left, and before the question: or
   * together with other moments, which among themselves make no difference.
   */
  private boolean isSure(int index, BitSet left) {
    if (index < operations.size() || !before.get(index)) {
      return false;
    }
    for (int i = left.nextSetBit(0); i >= 0 && i < operations.size(); i = left.nextSetBit(i + 1)) {
      if (!earlier.get(i).get(index)) {
        return false;
      }
    }
    return true;
  }

  private int index(Element element) {
    return switch (element) {
      case Done(var operation) -> Objects.requireNonNull(indexes.get(operation));
      case Clock clock -> operations.size() + clocks.indexOf(clock);
    };
  }

  /** Of each operation and each deadline those with which its order matters; made once. */
  private List<BitSet> mattering() {
    if (mattering.isEmpty()) {
      var written = operations.stream().map(this::written).toList();
      var lookedAt = operations.stream().map(this::lookedAt).toList();
      for (int i = 0; i < elements.size(); i++) {
        var others = new BitSet();
        for (int j = 0; j < elements.size(); j++) {
          boolean both = Math.max(i, j) < operations.size();
          others.set(
              j,
              both
                  ? (overlap(written.get(i), lookedAt.get(j))
                      || overlap(written.get(j), lookedAt.get(i)))
                  : Math.min(i, j) < operations.size());
        }
        mattering.add(others);
      }
    }
    return mattering;
  }

  /** What an operation could have written. */
  private NavigableSet<Cell> written(Operation operation) {
    return cells(touches(operation).filter(Touch::writes).map(Touch::cell));
  }

  /** What an operation touches or looks at. */
  private NavigableSet<Cell> lookedAt(Operation operation) {
    return cells(
        touches(operation)
            .flatMap(
                touch ->
                    Stream.of(List.of(touch.cell()), touch.from(), touch.unless())
                        .flatMap(Collection::stream)));
  }

  private static NavigableSet<Cell> cells(Stream<Cell> cells) {
    return cells.collect(Collectors.toCollection(TreeSet::new));
  }

  private Stream<Touch> touches(Operation operation) {
    return execution.specification().allTouches(operation).stream();
  }

  private static boolean overlap(NavigableSet<Cell> some, NavigableSet<Cell> others) {
    return some.stream().anyMatch(one -> one.overlapsAny(others));
  }

  /** The question is asked. */
  private void end(State state, List<Element> sequence) {
    if (found.size() < most
        && agrees(expected, execution.reply(state))
        && !found.contains(sequence)) {
      found.add(sequence);
    }
  }

  private void branch(int index, BitSet left, State state, List<Element> done) {
    var rest = (BitSet) left.clone();
    rest.clear(index);
    if (mayNotBe(index)) {
      search((BitSet) rest.clone(), state.copy(), new ArrayList<>(done));
    }
    var after = state.copy();
    var sequence = new ArrayList<>(done);
    if (take(index, after, sequence)) {
      search(rest, after, sequence);
    }
  }

  /** Lets an element take effect, and tells whether its reply is the recorded one. */
  private boolean take(int index, State state, List<Element> done) {
    var element = elements.get(index);
    done.add(element);
    if (!(element instanceof Done(var operation))) {
      execution.run(element, state);
      return true;
    }
    for (var part : Walk.parts(operation)) {
      var reply = execution.run(part, state);
      if (evidence.contains(operation) && !agrees(execution.recorded(part), reply)) {
        return false;
      }
    }
    return true;
  }

  private static boolean agrees(Optional<Object> recorded, Optional<Object> computed) {
    return recorded.isEmpty() || computed.isEmpty() || computed.equals(recorded);
  }

  /** Those that can be next: nothing that is left must come before them. */
  private List<Integer> ready(BitSet left) {
    var ready = new ArrayList<Integer>();
    for (int i = left.nextSetBit(0); i >= 0; i = left.nextSetBit(i + 1)) {
      if (!earlier.get(i).intersects(left)) {
        ready.add(i);
      }
    }
    // Where somebody has set a clock back, each may have to come before another one.
    return ready.isEmpty() ? List.of(left.nextSetBit(0)) : ready;
  }

  /** Of each element those that must come before it. */
  private List<BitSet> earlier() {
    var all = new ArrayList<BitSet>();
    for (var element : elements) {
      var before = new BitSet();
      for (int i = 0; i < elements.size(); i++) {
        before.set(i, elements.get(i) != element && precedes(elements.get(i), element));
      }
      all.add(before);
    }
    return all;
  }

  private boolean precedes(Element one, Element other) {
    return switch (one) {
      case Done(var first) ->
          switch (other) {
            case Done(var second) -> precedes(first, second);
            case Clock(var moment) -> moment.follows(first);
          };
      case Clock(var first) ->
          switch (other) {
            case Done(var second) -> first.precedes(second);
            case Clock(var second) -> first.precedes(second);
          };
    };
  }

  private boolean precedes(Operation one, Operation other) {
    return precedes(execution.trace(), one, other);
  }

  /** Whether one operation certainly took effect before the other, if it did at all. */
  static boolean precedes(Trace trace, Operation one, Operation other) {
    if (one.isAsked() || (one.lane() == other.lane() && one.epoch() == other.epoch())) {
      return one.row() < other.row();
    }
    return trace.isOver(one.epoch(), other.epoch())
        || (one.replied() != null && (other.isOfNow() || !one.replied().isAfter(other.sent())));
  }

  /** Whether nobody knows which of two different operations took effect first. */
  static boolean unordered(Trace trace, Operation one, Operation other) {
    return one.row() != other.row() && !precedes(trace, one, other) && !precedes(trace, other, one);
  }
}
