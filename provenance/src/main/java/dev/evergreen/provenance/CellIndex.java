package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds the operations that touch a cell, by the trace's index on cells. */
final class CellIndex {
  /** Below and above so many cells, their pages are merged; else operations are looked through. */
  private static final int MOST_CELLS = 64;

  /** Tables of what operations touch: the cells themselves, and that something below them is. */
  private static final String OWN = "op_cell";

  private static final String BELOW = "op_below";

  private static final String TOUCHING =
      "select %s from %s t join op on op.seq = t.seq where t.stretch = ? and t.cell = ?"
          + " and t.seq < ? order by t.seq desc limit ?";

  private static final int MOST_KNOWN = 10_000;
  private static final int FIRST_PAGE = 16;
  private static final int LARGEST_PAGE = 1_024;

  private final ReadSession session;
  private final Statements statements;
  private final OpRows rows;
  private final OperationReader operations;

  /** Who touches cells that have very many below them: the same for each of these. */
  private final Map<Cell, Few> aboveMany = new HashMap<>();

  CellIndex(ReadSession session, OpRows rows, OperationReader operations) {
    this.session = session;
    this.statements = session.statements();
    this.rows = rows;
    this.operations = operations;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    aboveMany.clear();
  }

  /**
   * Those below a row that touch the cell, one above it or one below it, and could have written;
   * the newest first.
   */
  <T> Iterator<T> writersOf(OperationReader.Shape<T> shape, Cell cell, long before)
      throws SQLException {
    var iterators = new ArrayList<Iterator<T>>();
    for (var above : cell.ancestors()) {
      touchingAbove(shape, above, before).ifPresent(iterators::add);
    }
    iterators.addAll(within(shape, cell, before));
    return iterators.size() == 1
        ? iterators.getFirst()
        : new Merged<>(one -> shape.operation(one).row(), iterators);
  }

  /** Those that touch the cell or one below it. */
  private <T> List<Iterator<T>> within(OperationReader.Shape<T> shape, Cell cell, long before)
      throws SQLException {
    var iterators = new ArrayList<Iterator<T>>();
    var ids = cells(cell);
    if (ids.size() <= MOST_CELLS) {
      for (long id : ids) {
        iterators.add(touching(shape, OWN, id, before));
      }
      return iterators;
    }
    touching(shape, cell, before).ifPresent(iterators::add);
    var noted = notedBelow(shape, cell, before);
    if (noted.isPresent()) {
      iterators.add(noted.get());
      return iterators;
    }
    var children = below(cell, Bytes.EMPTY, null, MOST_CELLS + 1);
    if (children.size() > MOST_CELLS) {
      return List.of(StoredTrace.stream(lookedThrough(cell, before)).map(shape::of).iterator());
    }
    for (var child : children) {
      iterators.addAll(within(shape, child, before));
    }
    return iterators;
  }

  /**
   * What the loader has noted of the very many cells below one: of a cell inside a key, it is noted
   * of the key. Empty for a cell above the keys.
   */
  private <T> Optional<Iterator<T>> notedBelow(
      OperationReader.Shape<T> shape, Cell cell, long before) throws SQLException {
    for (int depth = cell.depth(); depth >= 0; depth--) {
      var id = id(cell.ancestor(depth));
      if (id.isPresent() && isNoted(id.get())) {
        if (depth == cell.depth()) {
          return Optional.of(touching(shape, BELOW, id.get(), before));
        }
        var noted = touching(operations.entire, BELOW, id.get(), before);
        var those = new Filtered<>(noted, operation -> couldWrite(operation, cell));
        return Optional.of(StoredTrace.stream(those).map(shape::of).iterator());
      }
    }
    return Optional.empty();
  }

  private boolean isNoted(long cell) throws SQLException {
    boolean noted = false;
    for (long stretch = lastStretch(); stretch >= 0 && !noted; stretch--) {
      noted =
          statements.any(
              "select 1 from op_below where stretch = ? and cell = ? limit 1", stretch, cell);
    }
    return noted;
  }

  private long lastStretch() throws SQLException {
    return TraceDatabase.stretch(session.loaded());
  }

  /** The ids of the cell and those below it; more than enough if there are too many. */
  private List<Long> cells(Cell cell) throws SQLException {
    return statements.all(
        session.database().cellsBetween("id") + " limit " + (MOST_CELLS + 1),
        row -> row.getLong(1),
        cell.encoded(),
        cell.end());
  }

  /** The ids of the cell, of those above it and of those below it; empty if they are many. */
  Optional<List<Long>> idsAround(Cell cell) throws SQLException {
    var ids = cells(cell);
    for (var above : cell.ancestors()) {
      id(above).ifPresent(ids::add);
    }
    return Optional.of(ids).filter(all -> all.size() <= MOST_CELLS);
  }

  /** Those that touch the cell itself; empty if none ever did. */
  private <T> Optional<Iterator<T>> touching(OperationReader.Shape<T> shape, Cell cell, long before)
      throws SQLException {
    return id(cell).map(id -> touching(shape, OWN, id, before));
  }

  /**
   * All that touch a cell itself, as a rule few.
   *
   * @param before their rows are below this one
   * @param all empty if they are many
   */
  private record Few(long before, Optional<List<Operation>> all) {}

  /** The same of a cell above others, about each of which it is asked. */
  private <T> Optional<Iterator<T>> touchingAbove(
      OperationReader.Shape<T> shape, Cell cell, long before) throws SQLException {
    if (!session.isStill()) {
      return touching(shape, cell, before);
    }
    var known = aboveMany.get(cell);
    if (known == null || known.before() < before) {
      known = new Few(before, few(cell, before));
      if (aboveMany.size() > MOST_KNOWN) {
        aboveMany.clear();
      }
      aboveMany.put(cell, known);
    }
    if (known.all().isEmpty()) {
      return touching(shape, cell, before);
    }
    var those = known.all().get().stream().filter(operation -> operation.row() < before);
    return Optional.of(those.map(shape::of).iterator()).filter(Iterator::hasNext);
  }

  private Optional<List<Operation>> few(Cell cell, long before) throws SQLException {
    var found = touching(operations.entire, cell, before);
    var all = new ArrayList<Operation>();
    while (found.isPresent() && found.get().hasNext()) {
      var next = found.get().next();
      if (all.size() == FIRST_PAGE || next.bytes() > OperationReader.SMALL) {
        return Optional.empty();
      }
      all.add(next);
    }
    return Optional.of(all);
  }

  /** The number of a cell; empty if nothing ever touched it. */
  Optional<Long> id(Cell cell) throws SQLException {
    return statements.number(session.database().cellAt(), cell.encoded());
  }

  /** The operations of a table of touches, a stretch after the other. */
  private <T> Iterator<T> touching(
      OperationReader.Shape<T> shape, String table, long cell, long before) {
    return new Pages<>(
        before,
        element -> shape.operation(element).row(),
        new Touching<>(shape, TOUCHING.formatted(shape.columns(), table), cell));
  }

  /** Their pages, which become longer. */
  private final class Touching<T> implements Pages.Page<T> {
    private final OperationReader.Shape<T> shape;
    private final String sql;
    private final long cell;

    /** Most questions end soon: the first page is small. */
    private int limit = FIRST_PAGE;

    Touching(OperationReader.Shape<T> shape, String sql, long cell) {
      this.shape = shape;
      this.sql = sql;
      this.cell = cell;
    }

    @Override
    public List<T> below(long row) throws SQLException {
      long stretch = TraceDatabase.stretch(row - 1);
      if (limit == FIRST_PAGE) {
        // Later ones are below a row that is there.
        stretch = Math.min(stretch, lastStretch());
      }
      var found = List.<T>of();
      for (; stretch >= 0 && found.isEmpty(); stretch--) {
        found = operations.operations(shape, sql, stretch, cell, row, (long) limit);
      }
      limit = Math.min(4 * limit, LARGEST_PAGE);
      return found;
    }
  }

  /** For a cell with very many below it: all operations are asked what they touch. */
  private Iterator<Operation> lookedThrough(Cell cell, long before) {
    return new Filtered<>(operations.all(before), operation -> couldWrite(operation, cell));
  }

  private boolean couldWrite(Operation operation, Cell cell) {
    return rows.touches(operation).stream()
        .anyMatch(touch -> touch.writes() && touch.cell().overlaps(cell));
  }

  /** See {@link StoredTrace#below}. */
  List<Cell> below(Cell parent, Bytes prefix, @Nullable Cell after, int most) {
    return session.read(
        () -> {
          var found = new ArrayList<Cell>();
          int depth = parent.depth();
          var first = parent.child(prefix).encoded();
          // Without the two bytes that end the name.
          var from = after == null ? Arrays.copyOf(first, first.length - 2) : after.end();
          var sql = session.database().cellsBetween("path") + " limit 1";
          while (found.size() < most) {
            var path = statements.first(sql, row -> row.getBytes(1), from, parent.end());
            if (path.isEmpty()) {
              break;
            }
            var cell = Cell.decode(path.get());
            if (cell.depth() > depth) {
              cell = cell.ancestor(depth + 1);
              if (!cell.name().startsWith(prefix)) {
                break;
              }
              found.add(cell);
              from = cell.end();
            } else {
              // The parent itself, which comes first.
              from = Arrays.copyOf(path.get(), path.get().length + 1);
            }
          }
          return found;
        });
  }
}
