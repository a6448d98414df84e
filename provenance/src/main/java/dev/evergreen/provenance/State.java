package dev.evergreen.provenance;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
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

  private Instant now;

  /** At most so many bytes its operations have brought, and so many it shares with no other. */
  private long brought;

  private long own;

  private State(NavigableMap<Cell, Object> values, NavigableMap<Cell, Boolean> empty, Instant now) {
    this.values = values;
    this.empty = empty;
    this.now = now;
  }

  /** A store without content, or one of which nothing is known; for which no time has passed. */
  static State initial(boolean known) {
    return new State(new TreeMap<>(), new TreeMap<>(Map.of(Cell.ALL, known)), Instant.MIN);
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

  /** The latest moment that is known to have passed. */
  public Instant now() {
    return now;
  }

  /** Lets time pass. */
  public void advance(Instant to) {
    if (now.isBefore(to)) {
      now = to;
    }
  }

  /** Nothing is known any more of the cell, of those below it, and of those above it. */
  void forget(Cell cell) {
    mark(cell, false);
    for (var above : cell.ancestors()) {
      if (!above.equals(Cell.ALL)) {
        values.put(above, UNKNOWN);
      }
    }
  }

  State copy() {
    var copy = new State(new TreeMap<>(values), new TreeMap<>(empty), now);
    copy.brought = brought;
    copy.own = own;
    return copy;
  }

  /**
   * An operation brings so many bytes.
   *
   * @param given whether nothing new is made of them, and of what was there
   */
  void grow(long bytes, boolean given) {
    brought += bytes;
    own = given ? own : brought;
  }

  /** About how many bytes it shares with no other, at most; not if values are copied to others. */
  long own() {
    return own;
  }

  private void mark(Cell cell, boolean isEmpty) {
    range(values, cell).clear();
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
        && now.equals(state.now)
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
    return 31 * values.hashCode() + now.hashCode();
  }

  @Override
  public String toString() {
    return new ArrayList<>(values.entrySet()) + " at " + now;
  }
}
