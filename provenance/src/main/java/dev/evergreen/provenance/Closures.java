package dev.evergreen.provenance;

import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The closed witnesses of one answer in one order of operations, by the definition.
 *
 * <p>A part of the trace is closed if the answer comes out whatever of the rest is done too. So all
 * of that is tried at once: a set of states is carried through the trace, and an element that is
 * not in the part leads from each state to two, one in which it was done and one in which it was
 * not. (Without one that covers what was folded, it is not known what would be there.) Equal states
 * fall together, so that this is far less work than running every supertrace. A set of states that
 * grows too large, in number or in bytes, counts as not closed: the witness is then larger than it
 * need be, never wrong.
 *
 * <p>Whatever contains a closed part is closed. So one minimal part is found by leaving out what
 * can be left out, one element after the other. All of them are found by Reiter's method (<em>A
 * theory of diagnosis from first principles</em>, 1987): another minimal part lacks some element of
 * each that is known, so look among what is left when such elements are taken away.
 */
final class Closures {
  private static final int MOST_STATES = 2048;

  private final Execution execution;
  private final List<Element> elements;
  private final State start;
  private final Object expected;
  private long steps;

  /** Whether a set of states was too large. */
  private boolean tooMany;

  /** Whether some state did not tell the answer. */
  private boolean unknown;

  /** Whether it counts as known what would be there without those that cover what was folded. */
  private boolean asIfWhole;

  /** Parts of these elements, which after this start lead to this reply. */
  Closures(Execution execution, List<Element> elements, State start, Object expected, long steps) {
    this.execution = execution;
    this.elements = elements;
    this.start = start;
    this.expected = expected;
    this.steps = steps;
  }

  /** Whether the answer is the same with these elements alone, which is found by one run. */
  private boolean isWitness(BitSet part) {
    return leadsToAnswer(start, 0, part);
  }

  /** Whether a state leads to the answer if of the elements from one on these are done. */
  private boolean leadsToAnswer(State before, int from, BitSet part) {
    var state = before.copy();
    for (int i = part.nextSetBit(from); i >= 0; i = part.nextSetBit(i + 1)) {
      execution.run(elements.get(i), state);
      steps--;
    }
    return leadsToAnswer(state);
  }

  /** Whether the answer is the same with these elements, whatever others are done too. */
  boolean closed(BitSet part) {
    return closed(List.of(start), 0, part);
  }

  /** The same, if the elements before one have led to these states. */
  private boolean closed(List<State> before, int from, BitSet part) {
    var states = before;
    for (int i = from; i < elements.size() && possible(states); i++) {
      states = after(states, i, part.get(i));
    }
    boolean possible = possible(states);
    tooMany |= !possible;
    return possible && states.stream().allMatch(this::leadsToAnswer);
  }

  /** The same, if nothing had been there that was folded. */
  boolean closedAsIfWhole(BitSet part) {
    asIfWhole = true;
    try {
      return closed(part);
    } finally {
      asIfWhole = false;
    }
  }

  /** Whether some may be in a part only because it is not known what was folded. */
  boolean mayHoldMore(BitSet part) {
    if (elements.stream().noneMatch(execution::covers)) {
      return false;
    }
    var less = (BitSet) part.clone();
    return part.stream()
        .anyMatch(
            element -> {
              less.clear(element);
              boolean closed = closedAsIfWhole(less);
              less.set(element);
              return closed;
            });
  }

  /**
   * Whether some part may have been taken for one that is not closed, as the model cannot run what
   * is not in it.
   */
  boolean isGuessed() {
    return unknown && execution.metUnmodelled();
  }

  private boolean leadsToAnswer(State state) {
    var reply = execution.reply(state);
    unknown |= reply.isEmpty();
    return reply.filter(expected::equals).isPresent();
  }

  private boolean possible(List<State> states) {
    return steps >= 0
        && !states.isEmpty()
        && states.size() <= MOST_STATES
        && (states.size() == 1
            || states.stream().mapToLong(State::own).sum() <= Execution.MOST_BYTES);
  }

  /** The states to which an element leads, which must be done or may be; none if too large. */
  private List<State> after(List<State> states, int element, boolean must) {
    if (must && states.size() == 1) {
      return List.of(after(states.getFirst(), element));
    }
    var after = new LinkedHashSet<State>();
    long bytes = 0;
    for (var state : states) {
      if (!must) {
        after.add(asIfWhole ? state : execution.without(elements.get(element), state));
      }
      var done = after(state, element);
      bytes += after.add(done) ? done.own() : 0;
      if (bytes > Execution.MOST_BYTES) {
        return List.of(); // which nobody takes for all of them
      }
    }
    return List.copyOf(after);
  }

  private State after(State state, int element) {
    var done = state.copy();
    execution.run(elements.get(element), done);
    steps--;
    return done;
  }

  /** Whether work was cut short, so that parts that are closed may have been taken for others. */
  boolean exhausted() {
    return steps < 0 || tooMany;
  }

  /**
   * A minimal closed part of a closed one. What comes first in the order is left out first: many at
   * once, and if that is too much, each half of them alone.
   */
  BitSet shrink(BitSet closed, List<List<Integer>> order) {
    var shrinking = new Shrinking((BitSet) closed.clone());
    order.forEach(shrinking::leaveOut);
    return shrinking.part;
  }

  /** A part that becomes smaller, with the states to which what is decided already leads. */
  private final class Shrinking {
    final BitSet part;
    private List<State> before = List.of(start);

    /** The one of them to which all leads that is decided, also what was left out. */
    private State all = start;

    private int decided;

    Shrinking(BitSet part) {
      this.part = part;
    }

    /** Leaves out as many of these elements as can be; they are in the order of the trace. */
    void leaveOut(List<Integer> candidates) {
      var present = candidates.stream().filter(part::get).toList();
      if (present.isEmpty() || !decideUpTo(present.getFirst())) {
        return;
      }
      present.forEach(part::clear);
      if (!isNeeded(present) && closed(before, decided, part)) {
        return;
      }
      present.forEach(part::set);
      if (present.size() > 1) {
        leaveOut(present.subList(0, present.size() / 2));
        leaveOut(present.subList(present.size() / 2, present.size()));
      }
    }

    /**
     * Whether the answer is another one if all is done but these: then no closed part lacks them,
     * and it need not be tried what else could be done.
     */
    private boolean isNeeded(List<Integer> candidates) {
      var others = new BitSet();
      others.set(decided, elements.size());
      candidates.forEach(others::clear);
      return !leadsToAnswer(all, decided, others);
    }

    private boolean decideUpTo(int element) {
      if (element < decided) {
        before = List.of(start);
        all = start;
        decided = 0;
      }
      for (; decided < element && possible(before); decided++) {
        before = after(before, decided, part.get(decided));
        all = after(all, decided);
      }
      return decided == element;
    }
  }

  /**
   * The minimal closed parts, one of which is known; the known one first, and no more than so many.
   */
  Set<BitSet> all(BitSet known, List<List<Integer>> order, int most) {
    var found = new LinkedHashSet<BitSet>(Set.of(known));
    var tried = new HashSet<BitSet>();
    var removed = new ArrayDeque<BitSet>(List.of(new BitSet()));
    while (!removed.isEmpty() && found.size() < most && steps >= 0) {
      var without = removed.remove();
      var part = found.stream().filter(set -> !set.intersects(without)).findFirst().orElse(null);
      if (part == null) {
        var rest = (BitSet) without.clone();
        rest.flip(0, elements.size());
        if (!isWitness(rest) || !closed(rest)) {
          continue;
        }
        part = shrink(rest, order);
        found.add(part);
      }
      part.stream()
          .forEach(
              element -> {
                var more = (BitSet) without.clone();
                more.set(element);
                if (tried.add(more)) {
                  removed.add(more);
                }
              });
    }
    return found;
  }

  /** The elements of a part, in order. */
  Witness witness(BitSet part) {
    return new Witness(part.stream().mapToObj(elements::get).toList());
  }

  /**
   * The order in which elements are left out: first those that no chain needs, then the oldest,
   * then the clock.
   */
  List<List<Integer>> order(BitSet chain) {
    var order = List.<List<Integer>>of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    for (int i = 0; i < elements.size(); i++) {
      order.get(elements.get(i) instanceof Clock ? 2 : chain.get(i) ? 1 : 0).add(i);
    }
    return order;
  }

  /** All operations among the elements. */
  Set<Operation> operations() {
    var all = new HashSet<Operation>();
    for (var element : elements) {
      if (element instanceof Done(var operation)) {
        all.add(operation);
      }
    }
    return all;
  }

  /** Of witnesses in other orders the first that is a closed one in this, too; or null. */
  @Nullable BitSet firstClosed(Collection<Witness> others) {
    for (var other : others) {
      var part = part(other);
      if (part != null && closed(part)) {
        return part;
      }
    }
    return null;
  }

  /** The part that a witness is; null if in this order some of it did not happen, or too late. */
  private @Nullable BitSet part(Witness other) {
    var part = new BitSet();
    for (var element : other.elements()) {
      int index = elements.indexOf(element);
      if (index < 0) {
        return null;
      }
      part.set(index);
    }
    return part;
  }

  /** The part that these operations are, with the clock. */
  BitSet part(Set<Operation> operations) {
    var part = new BitSet();
    for (int i = 0; i < elements.size(); i++) {
      if (elements.get(i) instanceof Done(var operation) ? operations.contains(operation) : true) {
        part.set(i);
      }
    }
    return part;
  }
}
