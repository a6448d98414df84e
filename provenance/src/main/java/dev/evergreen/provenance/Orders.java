package dev.evergreen.provenance;

import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The orders in which overlapping operations may have taken effect.
 *
 * <p>Operations of one lane took effect as their rows say. Of two on different lanes the one that
 * had its reply before the other was sent came first; else either may have. Replies are evidence:
 * an order in which the model gives another reply than the recorded one is none. An operation
 * without a reply may have taken effect at any time since, or never.
 */
final class Orders {
  private record Place(BitSet left, State state) {}

  private final Execution execution;
  private final List<Operation> operations;
  private final List<BitSet> earlier;
  private final Set<Operation> evidence;
  private final List<Clock> clocks;
  private final Optional<Object> expected;
  private final int most;
  private final Set<Place> seen = new HashSet<>();
  private final List<List<Element>> found = new ArrayList<>();
  private long steps;

  /**
   * Orders of these operations, which are in the order of their rows.
   *
   * @param evidence those of them whose replies depend on nothing but these operations
   * @param expected the question's reply, if it has one
   */
  Orders(
      Execution execution,
      List<Operation> operations,
      Set<Operation> evidence,
      List<Clock> clocks,
      Optional<Object> expected,
      int most,
      long steps) {
    this.execution = execution;
    this.operations = operations;
    this.earlier = earlier(operations);
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
    return steps < 0 || found.size() >= most;
  }

  private void search(BitSet left, State state, List<Element> before) {
    // A loop as long as there is no choice, so that a long trace is no deep recursion.
    while (!left.isEmpty()) {
      if (--steps < 0 || found.size() >= most) {
        return;
      }
      var ready = ready(left);
      boolean choice = ready.size() > 1 || operations.get(ready.getFirst()).outcomeUnknown();
      if (choice) {
        if (seen.add(new Place((BitSet) left.clone(), state))) {
          ready.forEach(index -> branch(index, left, state, before));
        }
        return;
      }
      if (!take(ready.getFirst(), state, before)) {
        return;
      }
      left.clear(ready.getFirst());
    }
    tick(null, state, before);
    if (agrees(expected, execution.reply(state))) {
      found.add(before);
    }
  }

  private void branch(int index, BitSet left, State state, List<Element> before) {
    var rest = (BitSet) left.clone();
    rest.clear(index);
    if (operations.get(index).outcomeUnknown()) {
      search((BitSet) rest.clone(), state.copy(), new ArrayList<>(before));
    }
    var after = state.copy();
    var sequence = new ArrayList<>(before);
    if (take(index, after, sequence)) {
      search(rest, after, sequence);
    }
  }

  /** Lets an operation take effect, and tells whether its reply is the recorded one. */
  private boolean take(int index, State state, List<Element> before) {
    var operation = operations.get(index);
    tick(operation.sent(), state, before);
    before.add(new Done(operation));
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
  private void tick(@Nullable Instant until, State state, List<Element> before) {
    for (var clock : clocks) {
      if ((until == null || !until.isBefore(clock.moment())) && !before.contains(clock)) {
        state.advance(clock.moment());
        before.add(clock);
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

  private static boolean precedes(Operation one, Operation other) {
    if (one.lane() == other.lane() && one.epoch() == other.epoch()) {
      return one.row() < other.row();
    }
    return one.epoch() < other.epoch()
        || (one.replied() != null && !one.replied().isAfter(other.sent()));
  }
}
