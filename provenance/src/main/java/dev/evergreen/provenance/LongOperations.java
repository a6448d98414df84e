package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The operations that were under way while many others were: a question asks again and again which
 * of them may have come between. They are found once, if they are few.
 */
final class LongOperations {
  static final int MOST_KNOWN = 10_000;

  private final ReadSession session;
  private final OpRows rows;
  private final CellIndex index;

  /** What some of them could have written: each question asks for the same ones. */
  private final Map<Long, List<Cell>> written = new HashMap<>();

  /** All, if they are few; asked once for a question. */
  private Optional<LongOnes> longOnes = Optional.empty();

  LongOperations(ReadSession session, OpRows rows, CellIndex index) {
    this.session = session;
    this.rows = rows;
    this.index = index;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    written.clear();
    longOnes = Optional.empty();
  }

  /** Those of {@link #underWay} that could have written something of a cell. */
  List<Long> writing(Cell cell, long below, long at) throws SQLException {
    var those = known().cut() ? index.idsAround(cell) : Optional.<List<Long>>empty();
    if (those.isPresent() && those.get().isEmpty()) {
      return List.of();
    }
    // Of very many, most have to do with other cells, and are not to be looked at.
    var found = those.isPresent() ? ask(below, at, those.get()) : underWay(below, at);
    found.removeIf(row -> !couldWrite(row, cell));
    return found;
  }

  private boolean couldWrite(long row, Cell cell) {
    return written(row).stream().anyMatch(cell::overlaps);
  }

  /** The cells that a long operation could have written. */
  private List<Cell> written(long row) {
    if (written.size() > MOST_KNOWN) {
      written.clear();
    }
    return written.computeIfAbsent(
        row,
        _ ->
            session.read(() -> rows.operation(row)).stream()
                .flatMap(operation -> rows.touches(operation).stream())
                .filter(Touch::writes)
                .map(Touch::cell)
                .toList());
  }

  /**
   * The long operations, the highest row first.
   *
   * @param highest of each the highest end of it and those after it
   */
  private record LongOnes(long[] rows, long[] ends, long[] highest, boolean cut) {
    /** Those below a row that end above another. */
    List<Long> find(long below, long at) {
      var found = new ArrayList<Long>();
      for (int i = firstBelow(below); i < rows.length && highest[i] > at; i++) {
        if (ends[i] > at) {
          found.add(rows[i]);
        }
      }
      return found;
    }

    private int firstBelow(long row) {
      int low = 0;
      int high = rows.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (rows[middle] >= row) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
  }

  /** The long operations below a row that were under way at another, or that have no end. */
  List<Long> underWay(long below, long at) throws SQLException {
    var known = known();
    return known.cut() ? ask(below, at, List.of()) : known.find(below, reached(at));
  }

  /** Whoever has no end was under way at any time. */
  private static long reached(long at) {
    return Math.min(at, Long.MAX_VALUE - 1);
  }

  private LongOnes known() throws SQLException {
    if (longOnes.isEmpty()) {
      longOnes = Optional.of(readLongOnes());
    }
    return longOnes.get();
  }

  private LongOnes readLongOnes() throws SQLException {
    var sql =
        "select seq, %s from op where %s and outcome <> %d order by seq desc limit %d"
            .formatted(
                TraceDatabase.END, TraceDatabase.longer(), Outcome.NOT_SENT.code(), MOST_KNOWN + 1);
    var found = session.statements().all(sql, row -> new long[] {row.getLong(1), row.getLong(2)});
    var rows = found.stream().mapToLong(one -> one[0]).toArray();
    var ends = found.stream().mapToLong(one -> one[1]).toArray();
    var highest = ends.clone();
    for (int i = highest.length - 2; i >= 0; i--) {
      highest[i] = Math.max(highest[i], highest[i + 1]);
    }
    return new LongOnes(rows, ends, highest, ends.length > MOST_KNOWN);
  }

  /** Asks for them, or only for those that touch one of some cells, by their numbers. */
  private List<Long> ask(long below, long at, List<Long> cells) throws SQLException {
    var touching =
        cells.isEmpty()
            ? ""
            : " and exists (select 1 from op_cell t where t.stretch = op.seq >> %d"
                    .formatted(TraceDatabase.STRETCH_BITS)
                + " and t.seq = op.seq and t.cell in (?%s))"
                    .formatted(", ?".repeat(cells.size() - 1));
    var values = new ArrayList<Object>(List.of(below, reached(at)));
    values.addAll(cells);
    return session
        .statements()
        .all(
            "select seq from op where %s and seq < ? and %s > ? and outcome <> %d%s order by seq desc"
                .formatted(
                    TraceDatabase.longer(), TraceDatabase.END, Outcome.NOT_SENT.code(), touching),
            row -> row.getLong(1),
            values.toArray());
  }
}
