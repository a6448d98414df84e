package dev.evergreen.provenance;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads operations, in pages, and holds those that a question asks for again and again: small ones
 * that are near, where they end, and a few large ones.
 */
final class OperationReader {
  /** With so many bytes on the heap, about, a page ends. */
  static final long MOST_BYTES = 16 << 20;

  /** What an operation takes beside its words, and each of these beside what it says. */
  private static final int OBJECT_BYTES = 200;

  private static final int WORD_BYTES = 56;

  /** What is held of operations has fewer bytes. */
  static final long SMALL = 4_096;

  /** So many are held of those that have more. */
  private static final int MOST_LARGE = 4;

  /** So many operations are held: more than a walk looks ahead. */
  private static final int HELD = 2 * (int) TraceDatabase.LONG;

  static final String COLUMNS = OpRows.COLUMNS + ", " + TraceDatabase.END;
  private static final int PAGE = 256;

  /** The same of what a window looks ahead: there may be many, each with a page of its own. */
  private static final long MOST_BYTES_AHEAD = 256 << 10;

  /** All of an operation. */
  final Shape<Operation> entire = new OfOperations();

  /** Small ones whole; of others only the one whose turn it is, by {@link #whole}. */
  final Shape<Operation> turns = new OfTurns();

  /** Where they are among others; small ones whole. */
  final Shape<Neighbours.Placed> places = new OfPlaces();

  private final ReadSession session;
  private final OpRows rows;

  /** Where operations end that were read lately, each at the place of its row. */
  private final long[] endRows = new long[HELD];

  private final long[] ends = new long[HELD];

  /** Small ones that were read lately, each at the place of its row. */
  private final @Nullable Operation[] near = new @Nullable Operation[HELD];

  /** An operation, and how many bytes it has, which takes long to count. */
  private record Large(Operation operation, long bytes) {}

  /** Large ones that were read lately, for a question. */
  private final Map<Long, Large> large =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Large> eldest) {
          return size() > MOST_LARGE;
        }
      };

  OperationReader(ReadSession session, OpRows rows) {
    this.session = session;
    this.rows = rows;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    Arrays.fill(near, null);
    large.clear();
  }

  /**
   * The same without what was said. That is held of each when its turn comes, and not for a whole
   * page: what is near to a row then has a place of its own.
   */
  Iterator<Neighbours.Placed> held(Iterator<Neighbours.Placed> read) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return read.hasNext();
      }

      @Override
      public Neighbours.Placed next() {
        var next = read.next();
        end(next.row(), next.end());
        if (!next.operation().request().isEmpty()) {
          hold(next.operation());
        }
        return new Neighbours.Placed(next.operation().place(), next.end());
      }
    };
  }

  private void hold(Operation operation) {
    if (operation.bytes() < SMALL) {
      near[held(operation.row())] = operation;
    }
  }

  /** The place of a row: those that are near to each other have different ones. */
  private static int held(long row) {
    return (int) row & (HELD - 1);
  }

  /** The row above those that were sent while an operation was under way. */
  long end(Operation operation) {
    return operation.isAsked()
        ? operation.row()
        : session.read(
            () -> {
              session.checkTime();
              int place = held(operation.row());
              if (endRows[place] == operation.row()) {
                return ends[place];
              }
              return session
                  .statements()
                  .number(
                      "select %s from op where seq = ?".formatted(TraceDatabase.END),
                      operation.row())
                  .orElse(operation.row());
            });
  }

  /** The end of an operation of a row that was read; once it is known it stays so. */
  private long end(long row, long end) {
    if (end < Long.MAX_VALUE) {
      endRows[held(row)] = row;
      ends[held(row)] = end;
    }
    return end;
  }

  /** What is read of operations. */
  interface Shape<T> {
    String columns();

    T read(ResultSet row) throws SQLException;

    T of(Operation operation);

    Operation operation(T element);

    /** With so many bytes on the heap, about, a page ends. */
    default long mostBytes() {
      return MOST_BYTES;
    }
  }

  private final class OfOperations implements Shape<Operation> {
    @Override
    public String columns() {
      return COLUMNS;
    }

    @Override
    public Operation read(ResultSet row) throws SQLException {
      // Many cells may have the same writers: each of these is read once.
      var known = session.isStill() ? large.get(row.getLong(1)) : null;
      if (known != null) {
        return known.operation();
      }
      var operation = rows.read(row);
      end(operation.row(), row.getLong(15));
      holdLarge(operation);
      return operation;
    }

    @Override
    public Operation of(Operation operation) {
      return operation;
    }

    @Override
    public Operation operation(Operation element) {
      return element;
    }
  }

  private final class OfTurns implements Shape<Operation> {
    @Override
    public String columns() {
      return OpRows.SMALL_COLUMNS + ", " + TraceDatabase.END;
    }

    @Override
    public Operation read(ResultSet row) throws SQLException {
      var operation = rows.readSmall(row);
      end(operation.row(), row.getLong(15));
      return of(operation);
    }

    @Override
    public Operation of(Operation operation) {
      return operation.bytes() < SMALL ? operation : operation.place();
    }

    @Override
    public Operation operation(Operation element) {
      return element;
    }
  }

  private final class OfPlaces implements Shape<Neighbours.Placed> {
    @Override
    public String columns() {
      return OpRows.SMALL_COLUMNS + ", " + TraceDatabase.END;
    }

    @Override
    public Neighbours.Placed read(ResultSet row) throws SQLException {
      return new Neighbours.Placed(rows.readSmall(row), row.getLong(15));
    }

    @Override
    public Neighbours.Placed of(Operation operation) {
      return new Neighbours.Placed(operation, end(operation));
    }

    @Override
    public Operation operation(Neighbours.Placed element) {
      return element.operation();
    }

    @Override
    public long mostBytes() {
      return MOST_BYTES_AHEAD;
    }
  }

  /** The operation of a row, with what was said; empty if it has gone meanwhile. */
  Optional<Operation> whole(long row) throws SQLException {
    session.checkTime();
    var near = this.near[held(row)];
    if (near != null && near.row() == row) {
      return Optional.of(near);
    }
    // Many cells may have the same writers: each of these is read once.
    var known = session.isStill() ? large.get(row) : null;
    if (known != null) {
      return Optional.of(known.operation());
    }
    var found = rows.operation(row);
    found.ifPresent(this::hold);
    found.ifPresent(this::holdLarge);
    return found;
  }

  private void holdLarge(Operation operation) {
    long bytes = session.isStill() ? operation.bytes() : 0;
    if (bytes >= SMALL) {
      large.put(operation.row(), new Large(operation, bytes));
    }
  }

  /** All operations below a row, the highest first. */
  Iterator<Operation> all(long before) {
    return new Pages<>(
        before,
        Operation::row,
        below ->
            operations(
                entire,
                "select %s from op where seq < ? order by seq desc limit %d"
                    .formatted(COLUMNS, PAGE),
                below));
  }

  /** Those that were sent by a connection. */
  Iterator<Operation> ofConnection(long id, long before) {
    return new Pages<>(
        before,
        Operation::row,
        below ->
            operations(
                entire,
                "select %s from op where connection = ? and seq < ? order by seq desc limit %d"
                    .formatted(COLUMNS, PAGE),
                id,
                below));
  }

  /** Fewer than were selected, but one at least, if their bodies are long. */
  <T> List<T> operations(Shape<T> shape, String sql, Object... values) throws SQLException {
    session.checkTime();
    var all = new ArrayList<T>();
    long bytes = 0;
    try (var found = session.statements().of(sql, values).executeQuery()) {
      while (bytes < shape.mostBytes() && found.next()) {
        all.add(shape.read(found));
        bytes += weight(shape.operation(all.getLast()));
      }
    }
    return all;
  }

  private long weight(Operation operation) {
    var known = large.get(operation.row());
    long bytes =
        known != null && known.operation().equals(operation) ? known.bytes() : operation.bytes();
    return bytes + OBJECT_BYTES + (long) WORD_BYTES * operation.request().size();
  }
}
