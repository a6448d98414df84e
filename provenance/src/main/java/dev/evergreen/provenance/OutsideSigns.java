package dev.evergreen.provenance;

import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The newest signs of something that did not pass the recorder, by the cells that it may have
 * written: a question asks for each cell that it demands, and there may be a sign for each write.
 * To be used by one thread.
 */
final class OutsideSigns {
  /** About what is spent on a cell beside its names, in bytes. */
  static final int CELL = 256;

  private final NavigableMap<Cell, TreeSet<Long>> rows = new TreeMap<>();
  private long first = Long.MAX_VALUE;
  private long next;
  private long weight;

  /** Forgets all. */
  void clear() {
    rows.clear();
    first = Long.MAX_VALUE;
    next = 0;
    weight = 0;
  }

  /** Takes one that is newer, or older, than all that are known; none may be between. */
  void add(long row, List<Cell> cells) {
    cells.forEach(cell -> rows.computeIfAbsent(cell, _ -> new TreeSet<>()).add(row));
    first = Math.min(first, row);
    next = Math.max(next, row + 1);
    weight += weight(cells);
  }

  /** About how many bytes a sign takes that names these cells. */
  static long weight(List<Cell> cells) {
    long sum = CELL;
    for (var cell : cells) {
      sum += CELL;
      for (var name : cell.path()) {
        sum += name.length();
      }
    }
    return sum;
  }

  /** About how many bytes those take that are known. */
  long weight() {
    return weight;
  }

  /** The row of the oldest one that is known; above all if none is. */
  long first() {
    return first;
  }

  /** Above the row of the newest one that is known. */
  long next() {
    return next;
  }

  /** The newest below a row that may have written something of a cell. */
  Optional<Long> last(Cell cell, long before) {
    // Those within it come right behind it.
    var within =
        rows.tailMap(cell, true).entrySet().stream().takeWhile(e -> cell.contains(e.getKey()));
    var above = cell.ancestors().stream().map(rows::get);
    return Stream.<@Nullable TreeSet<Long>>concat(within.map(e -> e.getValue()), above)
        .flatMap(Stream::ofNullable)
        .map(all -> all.lower(before))
        .flatMap(Stream::ofNullable)
        .max(Long::compare);
  }
}
