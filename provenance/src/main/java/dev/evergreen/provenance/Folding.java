package dev.evergreen.provenance;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Tells which old operations no later answer needs. It is shown the operations from some row back
 * to the first, the newest first.
 *
 * <p>A later answer may depend on any cell as it was at that row. An operation that wrote a cell is
 * needed, unless a needed one has replaced the cell since. What a needed operation looked at is
 * demanded from its row on back, also if it has been replaced since. That keeps at least the causes
 * that a {@link Walk} from any cell would give.
 */
final class Folding {
  /** With more cells that were replaced, no more are noted: more is kept than need be. */
  private static final int MOST_CELLS = 1_000_000;

  private final Set<Cell> replaced = new HashSet<>();

  /** Of what is replaced, what is needed nevertheless. */
  private final TreeSet<Cell> demanded = new TreeSet<>();

  /** Whether an answer may need the operation, which has these touches. */
  boolean isNeeded(Operation operation, List<Touch> touches) {
    if (touches.stream().noneMatch(touch -> touch.writes() && isOpen(touch.cell()))) {
      return false;
    }
    if (!operation.outcomeUnknown()) {
      touches.stream().filter(Folding::certainlyReplaces).forEach(touch -> replace(touch.cell()));
    }
    for (var touch : touches) {
      if (touch.kind() != Touch.Kind.REPLACES) {
        demanded.add(touch.cell());
      }
      demanded.addAll(touch.from());
      demanded.addAll(touch.unless());
    }
    return true;
  }

  private static boolean certainlyReplaces(Touch touch) {
    return touch.kind() == Touch.Kind.REPLACES
        && touch.effect() == Touch.Effect.YES
        && touch.unless().isEmpty();
  }

  private void replace(Cell cell) {
    // Those within it come right behind it.
    for (var next = demanded.ceiling(cell);
        next != null && cell.contains(next);
        next = demanded.ceiling(cell)) {
      demanded.remove(next);
    }
    if (replaced.size() < MOST_CELLS) {
      replaced.add(cell);
    }
  }

  private boolean isOpen(Cell cell) {
    var next = demanded.ceiling(cell);
    return (next != null && cell.contains(next))
        || (!replaced.contains(cell) && cell.ancestors().stream().noneMatch(replaced::contains))
        || cell.ancestors().stream().anyMatch(demanded::contains);
  }
}
