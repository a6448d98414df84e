package dev.evergreen.provenance;

import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Tells which old operations no later answer needs. It is shown the operations from some row back
 * to the first, the newest first.
 *
 * <p>A later answer may depend on any cell as it was at that row. An operation that wrote a cell is
 * needed, unless a needed one has replaced the cell since. What a needed operation looked at is
 * demanded from its row on back, also if it has been replaced since. That keeps at least the causes
 * that a {@link Walk} from any cell would give.
 *
 * <p>Rows are no order of effects: an operation is replaced by one only if it certainly came
 * before, as {@link Orders} has it. What may be a part of a later operation of its connection is
 * needed, unless that one is not.
 */
final class Folding {
  /** With more cells that were replaced, no more are noted: more is kept than need be. */
  private static final int MOST_CELLS = 1_000_000;

  /** Some operations, all of one epoch and lane or of several: what comes before all of them. */
  private record Since(long epoch, long lane, boolean mixed, Instant sent) {
    static Since of(@Nullable Since later, Operation operation) {
      if (later == null || later.follows(operation)) {
        return new Since(operation.epoch(), operation.lane(), false, operation.sent());
      }
      return new Since(
          later.epoch,
          later.lane,
          later.mixed || later.lane != operation.lane() || later.epoch != operation.epoch(),
          later.sent.isBefore(operation.sent()) ? later.sent : operation.sent());
    }

    /** Whether an operation of a row before theirs took effect before all of them. */
    boolean follows(Operation operation) {
      return (!mixed && epoch == operation.epoch() && lane == operation.lane())
          || (operation.replied() != null && !operation.replied().isAfter(sent));
    }
  }

  /** What has replaced a cell. */
  private final Map<Cell, Since> replaced = new HashMap<>();

  /** Of what is replaced, what is needed nevertheless, and by which operations. */
  private final TreeMap<Cell, Since> demanded = new TreeMap<>();

  /** Of a connection, whether the next operation that has parts, if there is one, is needed. */
  private final Map<Long, Boolean> wholeNeeded = new HashMap<>();

  /** Whether an answer may need the operation, which may be a part of one that was shown before. */
  boolean isNeededPart(Operation operation) {
    // Else one that is not shown, since it is newer or has not ended, may have it as a part.
    return wholeNeeded.getOrDefault(operation.connection(), true);
  }

  /** Whether an answer may need the operation, which is no part and has these touches. */
  boolean isNeeded(Operation operation, List<Touch> touches) {
    boolean needed =
        touches.stream().anyMatch(touch -> touch.writes() && isOpen(touch.cell(), operation));
    if (!operation.parts().isEmpty()) {
      wholeNeeded.put(operation.connection(), needed);
    }
    if (needed) {
      take(operation, touches);
    }
    return needed;
  }

  private void take(Operation operation, List<Touch> touches) {
    if (!operation.outcomeUnknown()) {
      for (var touch : touches) {
        if (certainlyReplaces(touch)) {
          replace(touch.cell(), operation);
        }
      }
    }
    for (var touch : touches) {
      if (touch.kind() != Touch.Kind.REPLACES) {
        demand(touch.cell(), operation);
      }
      touch.from().forEach(cell -> demand(cell, operation));
      touch.unless().forEach(cell -> demand(cell, operation));
    }
  }

  private void demand(Cell cell, Operation operation) {
    demanded.put(cell, Since.of(demanded.get(cell), operation));
  }

  private static boolean certainlyReplaces(Touch touch) {
    return touch.kind() == Touch.Kind.REPLACES
        && touch.effect() == Touch.Effect.YES
        && touch.unless().isEmpty();
  }

  private void replace(Cell cell, Operation operation) {
    // Those within it come right behind it.
    for (var next = demanded.ceilingEntry(cell);
        next != null && cell.contains(next.getKey());
        next = demanded.higherEntry(next.getKey())) {
      if (next.getValue().follows(operation)) {
        demanded.remove(next.getKey());
      }
    }
    if (replaced.containsKey(cell) || replaced.size() < MOST_CELLS) {
      replaced.put(cell, Since.of(replaced.get(cell), operation));
    }
  }

  private boolean isOpen(Cell cell, Operation operation) {
    var next = demanded.ceilingKey(cell);
    return (next != null && cell.contains(next))
        || cell.ancestors().stream().anyMatch(demanded::containsKey)
        || !isReplaced(cell, operation);
  }

  /** Whether the cell was replaced, each time after that operation. */
  private boolean isReplaced(Cell cell, Operation operation) {
    var since =
        Stream.concat(Stream.of(cell), cell.ancestors().stream())
            .map(replaced::get)
            .filter(Objects::nonNull)
            .toList();
    return !since.isEmpty() && since.stream().allMatch(one -> one.follows(operation));
  }
}
