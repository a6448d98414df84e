package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The content of a store as a {@link Model} keeps it: values in cells, and the time. Values do not
 * change and have {@code equals}: a model puts a new one instead.
 *
 * <p>Parts of it may be unknown, for instance what was there before the recording. A model need not
 * care: reading such a part ends {@link Model#run}, and what the operation could have written is
 * unknown from then on.
 */
public final class State {
  private static final Object UNKNOWN = new Object();

  private final NavigableMap<Cell, Object> values;

  /**
   * Of the cells without a value: whether one and all below it are known to be empty, as the
   * nearest mark above it says.
   */
  private final NavigableMap<Cell, Boolean> empty;

  /** The moments that have come, but for those that another one of them tells to have come. */
  private Set<Moment> passed;

  /** About how many bytes the values have, but for those that are shared with requests. */
  private final Map<Cell, Long> sizes;

  /** All these together. */
  private long own;

  /** Whether what is put now is what a request says. */
  private boolean given;

  private State(
      NavigableMap<Cell, Object> values,
      NavigableMap<Cell, Boolean> empty,
      Set<Moment> passed,
      Map<Cell, Long> sizes) {
    this.sizes = sizes;
    this.values = values;
    this.empty = empty;
    this.passed = passed;
  }

  /** A store without content, or one of which nothing is known; for which no time has passed. */
  static State initial(boolean known) {
    return new State(
        new TreeMap<>(), new TreeMap<>(Map.of(Cell.ALL, known)), Set.of(), new HashMap<>());
  }

  /** The store is asked for something that is not known of it. */
  @SuppressWarnings("serial") // it goes from a state to whoever runs the model, and no farther
  static final class UnknownException extends RuntimeException {
    UnknownException() {
      super("not known", null, false, false);
    }
  }

  /** The value of the cell, or null if it has none. */
  public @Nullable Object get(Cell cell) {
    var value = values.get(cell);
    if (value == UNKNOWN || (value == null && !knownEmpty(cell))) {
      throw new UnknownException();
    }
    return value;
  }

  /** Gives the cell a value. */
  public void put(Cell cell, Object value) {
    values.put(cell, value);
    uncount(cell);
    if (!given) {
      long size = Sized.of(value);
      sizes.put(cell, size);
      own += size;
    }
  }

  /** Takes away the values of the cell and of all below it. */
  public void clear(Cell cell) {
    mark(cell, true);
  }

  /** The values of the cell and of all below it, in the order of the cells. */
  public SortedMap<Cell, Object> below(Cell cell) {
    var found = range(values, cell);
    if (!knownEmpty(cell)
        || range(empty, cell).containsValue(false)
        || found.containsValue(UNKNOWN)) {
      throw new UnknownException();
    }
    return Collections.unmodifiableSortedMap(new TreeMap<>(found));
  }

  /** Whether a moment has come. */
  public boolean hasPassed(Moment moment) {
    return passed.stream().anyMatch(moment::precedes);
  }

  /** Lets time pass up to a moment. */
  void pass(Moment moment) {
    if (!hasPassed(moment)) {
      var now = new HashSet<Moment>(passed);
      now.removeIf(earlier -> earlier.precedes(moment));
      now.add(moment);
      passed = Set.copyOf(now);
    }
  }

  /** Nothing is known any more of the cell, of those below it, and of those above it. */
  void forget(Cell cell) {
    mark(cell, false);
    for (var above : cell.ancestors()) {
      if (!above.equals(Cell.ALL)) {
        uncount(above);
        values.put(above, UNKNOWN);
      }
    }
  }

  State copy() {
    var copy = new State(new TreeMap<>(values), new TreeMap<>(empty), passed, new HashMap<>(sizes));
    copy.own = own;
    return copy;
  }

  /**
   * What an operation puts from now on.
   *
   * @param shared whether that is what its request says, which all states share
   */
  void given(boolean shared) {
    given = shared;
  }

  /** About how many bytes it shares with no other at most. */
  long own() {
    return own;
  }

  private void uncount(Cell cell) {
    own -= Objects.requireNonNullElse(sizes.remove(cell), 0L);
  }

  private void mark(Cell cell, boolean isEmpty) {
    var gone = range(values, cell);
    gone.keySet().forEach(this::uncount);
    gone.clear();
    range(empty, cell).clear();
    if (knownEmpty(cell) != isEmpty) {
      empty.put(cell, isEmpty);
    }
  }

  private boolean knownEmpty(Cell cell) {
    var mark = empty.get(cell);
    if (mark != null) {
      return mark;
    }
    return cell.equals(Cell.ALL) || knownEmpty(cell.parent());
  }

  private static <V> NavigableMap<Cell, V> range(NavigableMap<Cell, V> map, Cell cell) {
    var end =
        map.tailMap(cell, true).keySet().stream().filter(key -> !cell.contains(key)).findFirst();
    return end.isPresent() ? map.subMap(cell, true, end.get(), false) : map.tailMap(cell, true);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof State state
        && passed.equals(state.passed)
        && same(values, state.values)
        && same(empty, state.empty);
  }

  /** Both are in the same order: so none has to be looked up in the other. */
  private static <V> boolean same(NavigableMap<Cell, V> one, NavigableMap<Cell, V> other) {
    if (one.size() != other.size()) {
      return false;
    }
    var others = other.entrySet().iterator();
    for (var entry : one.entrySet()) {
      if (!entry.equals(others.next())) {
        return false;
      }
    }
    return true;
  }

  @Override
  public int hashCode() {
    return 31 * values.hashCode() + passed.hashCode();
  }

  @Override
  public String toString() {
    return new ArrayList<>(values.entrySet()) + " at " + passed;
  }
}
