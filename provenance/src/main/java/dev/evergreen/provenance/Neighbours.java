package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds what was under way together with an operation, and touches a cell.
 *
 * <p>A walk asks that at each of its steps, the newest first, and of few cells. So of each of these
 * the operations near the last step are held, without their bodies, and most questions read
 * nothing. What is held is of one moment of the trace.
 */
final class Neighbours {
  /**
   * An operation whose bodies were not read, and the row above those sent while it was under way.
   */
  record Placed(Operation operation, long end) {
    long row() {
      return operation.row();
    }
  }

  /** Where they are read. */
  @FunctionalInterface
  interface Source {
    /** Those with rows below one that touch the cell, the highest first. */
    Iterator<Placed> touching(Cell cell, long before) throws SQLException;
  }

  /** Most operations are under way while no more rows than these are given. */
  private static final long SHORT = 64;

  private static final int MOST_CELLS = 64;

  /** So many are dropped at once. */
  private static final int MANY = 1_024;

  private final Source source;
  private final Map<Cell, Window> windows =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Cell, Window> eldest) {
          return size() > MOST_CELLS;
        }
      };

  Neighbours(Source source) {
    this.source = source;
  }

  /** The trace may be another one now. */
  void forget() {
    windows.clear();
  }

  /**
   * Those with rows no farther than {@link TraceDatabase#LONG} below that were under way when the
   * row was sent, or sent before its end.
   */
  Iterator<Placed> of(Cell cell, long row, long end) throws SQLException {
    if (end - row > TraceDatabase.LONG) {
      // There may be very many: they are looked at one after the other.
      return StoredTrace.stream(source.touching(cell, end))
          .takeWhile(other -> other.row() >= row - TraceDatabase.LONG)
          .filter(other -> other.end() > row)
          .iterator();
    }
    var window = windows.get(cell);
    if (window == null || end > window.top || !window.reaches(end)) {
      window = new Window(source.touching(cell, end), end);
      windows.put(cell, window);
    }
    return window.of(row, end).iterator();
  }

  /** The highest row below one of those that touch the cell, if that is held; else 0. */
  long below(Cell cell, long row) {
    var window = windows.get(cell);
    return window == null ? 0 : window.below(row);
  }

  /** Of the operations that touch a cell those of a stretch of rows, which moves down. */
  private static final class Window {
    private final Iterator<Placed> rest;

    /** The highest row first. */
    private final List<Placed> read = new ArrayList<>();

    /** Those of them that were under way for longer than most. */
    private final List<Placed> lasting = new ArrayList<>();

    /** All below it and above the last that was read are held. */
    private long top;

    Window(Iterator<Placed> rest, long top) {
      this.rest = rest;
      this.top = top;
    }

    /** Whether it comes to a row soon: one that is far below is nearer to a new one. */
    boolean reaches(long row) {
      for (int i = 0; i < MANY && isAbove(row) && rest.hasNext(); i++) {
        readNext();
      }
      return !isAbove(row) || !rest.hasNext();
    }

    private boolean isAbove(long row) {
      return read.isEmpty() || read.getLast().row() >= row;
    }

    private void readNext() {
      var next = rest.next();
      read.add(next);
      if (next.end() - next.row() > SHORT) {
        lasting.add(next);
      }
    }

    /** The highest row below one, or 0 if it is not held. */
    long below(long row) {
      int index = row > top ? read.size() : firstBelow(row);
      return index < read.size() ? read.get(index).row() : 0;
    }

    List<Placed> of(long row, long end) {
      long lowest = row - TraceDatabase.LONG;
      while (isAbove(lowest) && rest.hasNext()) {
        readNext();
      }
      if (read.isEmpty()) {
        return List.of();
      }
      dropAbove(row + TraceDatabase.LONG);
      var found = new ArrayList<Placed>();
      for (int i = firstBelow(end); i < read.size() && read.get(i).row() >= row - SHORT; i++) {
        if (read.get(i).end() > row) {
          found.add(read.get(i));
        }
      }
      for (var other : lasting) {
        if (other.row() < row - SHORT && other.row() >= lowest && other.end() > row) {
          found.add(other);
        }
      }
      return found;
    }

    private void dropAbove(long row) {
      int far = row < 0 ? 0 : firstBelow(row);
      if (far >= MANY) {
        top = read.get(far - 1).row();
        read.subList(0, far).clear();
        lasting.removeIf(other -> other.row() >= top);
      }
    }

    /** The place of the first whose row is below one. */
    private int firstBelow(long row) {
      int low = 0;
      int high = read.size();
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (read.get(middle).row() >= row) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
  }
}
