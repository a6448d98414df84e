package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.List;

/**
 * Gathers touches, of a bounded number of cells: of an operation that touches more of them only
 * that it may have done so to the whole store is kept. A request of some kilobytes must not take
 * the memory of who records it.
 */
public final class Touches {
  /** So many cells in all; those of a list that touches share count once. */
  public static final int MOST_CELLS = 200_000;

  private final List<Touch> touches = new ArrayList<>();
  private List<Cell> lastFrom = List.of();
  private int cells;
  private boolean many;
  private boolean writes;

  /** Adds one behind the others. */
  public void add(Touch touch) {
    writes |= touch.writes();
    if (many) {
      return;
    }
    cells += 1 + touch.unless().size() + (touch.from() == lastFrom ? 0 : touch.from().size());
    lastFrom = touch.from();
    touches.add(touch);
    if (cells > MOST_CELLS) {
      many = true;
      touches.clear();
    }
  }

  /** All that were added; or, if they are too many, one that stands for them. */
  public List<Touch> all() {
    if (!many) {
      return List.copyOf(touches);
    }
    return List.of(writes ? anything() : Touch.reads(Cell.ALL));
  }

  /** What may have done anything anywhere. */
  static Touch anything() {
    return Touch.changes(Cell.ALL).effect(Touch.Effect.UNKNOWN);
  }
}
