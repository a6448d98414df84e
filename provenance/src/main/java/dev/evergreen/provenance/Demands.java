package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * The cells that a {@link Walk} demands. There may be very many, such as a set's members, and each
 * operation that touches one has to find it: so they are found by their cells and those around
 * these, and in the order of the cells, where those within a cell come right behind it.
 */
final class Demands {
  /** A cell that is demanded, but for what was replaced in it since. */
  static final class Demand {
    final Cell cell;
    final long before;
    final Operation by;

    /** How many operations had met the demands before this one was made. */
    final long taken;

    private final int number;
    private final NavigableSet<Cell> replaced = new TreeSet<>();
    private boolean closed;

    /** Whether nothing has written the cell. */
    boolean unwritten;

    private Demand(Cell cell, long before, Operation by, long taken, int number) {
      this.cell = cell;
      this.before = before;
      this.by = by;
      this.taken = taken;
      this.number = number;
    }

    /** Whether all of the cell was replaced since. */
    boolean closed() {
      return closed;
    }

    /**
     * Whether it is of a time behind the row, or of earlier parts of the operation that meets the
     * demands now.
     */
    boolean isOf(long row, long taking) {
      return row < before || taken == taking;
    }

    /** What of the cell somebody touched. */
    Cell overlap(Cell touched) {
      return touched.contains(cell) ? cell : touched;
    }

    /** Whether what somebody touched, which overlaps with the cell, is not replaced since. */
    private boolean meets(Cell touched) {
      return !closed && (replaced.isEmpty() || !touched.isWithinAny(replaced));
    }

    /** Whether all of a cell within this one is demanded from that row on back. */
    private boolean includes(Cell other, long from) {
      return before >= from && (replaced.isEmpty() || !other.overlapsAny(replaced));
    }
  }

  private final Map<Cell, List<Demand>> open = new HashMap<>();

  /** The same cells in their order. Only what is below a cell is looked for there, as it costs. */
  private final NavigableSet<Cell> inOrder = new TreeSet<>();

  /** No demanded cell has more names: below such a one none need be looked for. */
  private int deepest;

  private final List<Demand> over = new ArrayList<>();
  private int made;

  /** One more demand: the operation depends on the cell as it was before that row. */
  Demand add(Cell cell, long before, Operation by, long taken) {
    var demand = new Demand(cell, before, by, taken, made++);
    open.computeIfAbsent(
            cell,
            _ -> {
              inOrder.add(cell);
              deepest = Math.max(deepest, cell.depth());
              return new ArrayList<>(1);
            })
        .add(demand);
    return demand;
  }

  /** Whether nothing below a row has ever written the cell, and it is demanded from there on. */
  boolean isUnwritten(Cell cell, long from) {
    var demands = open.get(cell);
    if (demands == null) {
      return false;
    }
    var latest = demands.getLast();
    return latest.unwritten && from <= latest.before && latest.replaced.isEmpty();
  }

  /** Whether all of the cell from that row on back is demanded by one of them. */
  boolean include(Cell cell, long from) {
    var demanded = cell;
    while (!includes(demanded, cell, from)) {
      if (demanded.depth() == 0) {
        return false;
      }
      demanded = demanded.parent();
    }
    return true;
  }

  private boolean includes(Cell demanded, Cell cell, long from) {
    for (var demand : open.getOrDefault(demanded, List.of())) {
      if (demand.includes(cell, from)) {
        return true;
      }
    }
    return false;
  }

  /** Those whose cell is met by who touches this one, in the order in which they were made. */
  List<Demand> metBy(Cell touched) {
    var met = new ArrayList<Demand>();
    for (var cell = touched; cell.depth() > 0; ) {
      cell = cell.parent();
      met.addAll(open.getOrDefault(cell, List.of()));
    }
    met.addAll(open.getOrDefault(touched, List.of()));
    if (touched.depth() < deepest) {
      for (var below : inOrder.tailSet(touched, false)) {
        if (!touched.contains(below)) {
          break;
        }
        met.addAll(open.getOrDefault(below, List.of()));
      }
    }
    met.removeIf(demand -> !demand.meets(touched));
    if (met.size() > 1) {
      met.sort(Comparator.comparingInt(demand -> demand.number));
    }
    return met;
  }

  /** The nearest cell around this one that is demanded, which may be itself; itself if none is. */
  Cell around(Cell cell) {
    for (int depth = cell.depth(); depth > 0; depth--) {
      var above = cell.ancestor(depth);
      if (open.containsKey(above)) {
        return above;
      }
    }
    return cell;
  }

  /** What is older in the touched cell is not demanded by that any more. */
  void replace(Demand demand, Cell touched) {
    if (touched.contains(demand.cell)) {
      demand.closed = true;
      over.add(demand);
    } else {
      demand.replaced.add(touched);
    }
  }

  /** Forgets those that are closed. */
  void removeClosed() {
    for (var demand : over) {
      var demands = open.get(demand.cell);
      if (demands != null && demands.remove(demand) && demands.isEmpty()) {
        open.remove(demand.cell);
        inOrder.remove(demand.cell);
      }
    }
    over.clear();
  }
}
