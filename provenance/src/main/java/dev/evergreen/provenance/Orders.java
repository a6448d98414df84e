package dev.evergreen.provenance;

import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.time.Instant;
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
import org.jspecify.annotations.Nullable;

/**
 * The orders in which overlapping operations may have taken effect.
 *
 * <p>Operations of one lane took effect as their rows say. Of two on different lanes the one that
 * had its reply before the other was sent came first; else either may have. Replies are evidence:
 * an order in which the model gives another reply than the recorded one is none. An operation
 * without a reply may have taken effect at any time since, or never.
 *
 * <p>The question is one of them: what was under way together with it on another lane may have come
 * after it, and is then in no order that leads to its reply.
 */
final class Orders {
  /**
   * Where a search is: which are left, and of each that took effect those before it with which its
   * order matters. The state alone is not enough: of another order other parts may be witnesses.
   */
  private record Place(BitSet left, Map<Integer, BitSet> done, State state) {}

  private final Execution execution;
  private final List<Operation> operations;
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
    this.earlier = earlier(operations);
    for (int i = 0; i < operations.size(); i++) {
      var operation = operations.get(i);
      indexes.put(operation, i);
      before.set(i, !operation.outcomeUnknown() && precedes(operation, question));
    }
    this.evidence = evidence;
    this.clocks = clocks;
    this.expected = expected;
    this.most = most;
    this.steps = steps;
  }

  /** All orders that explain every reply, up to the bound. */
  List<List<Element>> from(State start) {
    var left = new BitSet();
    left.set(0, operations.size());
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
      boolean over = !left.intersects(before);
      if (over || ready.size() > 1 || operations.get(ready.getFirst()).outcomeUnknown()) {
        if (seen.add(new Place((BitSet) left.clone(), dependences(sequence), state))) {
          held += state.own();
          if (over) {
            end(state.copy(), new ArrayList<>(sequence));
          }
          ready.forEach(index -> branch(index, left, state, sequence));
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

  /** The operations come first, then the deadlines. */
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
      for (int i = 0; i < operations.size() + clocks.size(); i++) {
        var others = new BitSet();
        for (int j = 0; j < operations.size() + clocks.size(); j++) {
          boolean deadline = Math.max(i, j) >= operations.size();
          others.set(
              j,
              deadline
                  || overlap(written.get(i), lookedAt.get(j))
                  || overlap(written.get(j), lookedAt.get(i)));
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
    tick(null, state, sequence);
    if (found.size() < most
        && agrees(expected, execution.reply(state))
        && !found.contains(sequence)) {
      found.add(sequence);
    }
  }

  private void branch(int index, BitSet left, State state, List<Element> done) {
    var rest = (BitSet) left.clone();
    rest.clear(index);
    if (operations.get(index).outcomeUnknown()) {
      search((BitSet) rest.clone(), state.copy(), new ArrayList<>(done));
    }
    var after = state.copy();
    var sequence = new ArrayList<>(done);
    if (take(index, after, sequence)) {
      search(rest, after, sequence);
    }
  }

  /** Lets an operation take effect, and tells whether its reply is the recorded one. */
  private boolean take(int index, State state, List<Element> done) {
    var operation = operations.get(index);
    tick(operation.sent(), state, done);
    done.add(new Done(operation));
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

  /** Lets the deadlines pass that passed before a moment; all of them if there is none. */
  private void tick(@Nullable Instant until, State state, List<Element> done) {
    for (var clock : clocks) {
      if ((until == null || !until.isBefore(clock.moment())) && !done.contains(clock)) {
        state.advance(clock.moment());
        done.add(clock);
      }
    }
  }

  /** Those that can be next: nothing that is left must come before them. */
  private List<Integer> ready(BitSet left) {
    var ready = new ArrayList<Integer>();
    for (int i = left.nextSetBit(0); i >= 0; i = left.nextSetBit(i + 1)) {
      if (!earlier.get(i).intersects(left)) {
        ready.add(i);
      }
    }
    return ready;
  }

  /** Of each operation those that must come before it. */
  private static List<BitSet> earlier(List<Operation> operations) {
    var all = new ArrayList<BitSet>();
    for (var operation : operations) {
      var before = new BitSet();
      for (int i = 0; i < operations.size(); i++) {
        before.set(i, precedes(operations.get(i), operation));
      }
      all.add(before);
    }
    return all;
  }

  /** Whether one operation certainly took effect before the other, if it did at all. */
  static boolean precedes(Operation one, Operation other) {
    if (one.isAsked() || (one.lane() == other.lane() && one.epoch() == other.epoch())) {
      return one.row() < other.row();
    }
    return one.epoch() < other.epoch()
        || (one.replied() != null && (other.isOfNow() || !one.replied().isAfter(other.sent())));
  }

  /** Whether nobody knows which of two different operations took effect first. */
  static boolean unordered(Operation one, Operation other) {
    return one.row() != other.row() && !precedes(one, other) && !precedes(other, one);
  }
}
