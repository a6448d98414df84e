package dev.evergreen.provenance;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is asked and changed by a connection: statements, each of which is prepared once and ends
 * with it. Their parameters are numbers, texts, bytes, arrays of these, or null. What a query has
 * found is read whole before it is asked for again.
 */
final class Statements {
  private final Connection connection;
  private final Map<String, PreparedStatement> prepared = new HashMap<>();

  Statements(Connection connection) {
    this.connection = connection;
  }

  Connection connection() {
    return connection;
  }

  /** What is made of a row that was found. */
  interface Row<T> {
    T read(ResultSet row) throws SQLException;
  }

  /** What is done at a row that was found. */
  interface Visit {
    void at(ResultSet row) throws SQLException;
  }

  /** A statement with these parameters, to be executed. */
  PreparedStatement of(String sql, @Nullable Object... values) throws SQLException {
    var known = prepared.get(sql);
    if (known == null) {
      known = connection.prepareStatement(sql);
      prepared.put(sql, known);
    }
    for (int i = 0; i < values.length; i++) {
      switch (values[i]) {
        case Long number -> known.setLong(i + 1, number);
        case String text -> known.setString(i + 1, PostgresCopy.text(text));
        case byte[] bytes -> known.setBytes(i + 1, bytes);
        case Array array -> known.setArray(i + 1, array);
        case null -> known.setNull(i + 1, Types.NULL);
        default -> throw new IllegalArgumentException(sql + " with " + values[i]);
      }
    }
    return known;
  }

  /** All that a query finds. */
  <T> List<T> all(String sql, Row<T> row, Object... values) throws SQLException {
    var all = new ArrayList<T>();
    each(sql, found -> all.add(row.read(found)), values);
    return all;
  }

  /** Visits all that a query finds. */
  void each(String sql, Visit visit, Object... values) throws SQLException {
    try (var found = of(sql, values).executeQuery()) {
      while (found.next()) {
        visit.at(found);
      }
    }
  }

  /** The first that a query finds. */
  <T> Optional<T> first(String sql, Row<T> row, Object... values) throws SQLException {
    try (var found = of(sql, values).executeQuery()) {
      return found.next() ? Optional.of(row.read(found)) : Optional.empty();
    }
  }

  /** Whether a query finds anything. */
  boolean any(String sql, Object... values) throws SQLException {
    try (var found = of(sql, values).executeQuery()) {
      return found.next();
    }
  }

  /** The number that a query finds; empty if it finds none, or null. */
  Optional<Long> number(String sql, Object... values) throws SQLException {
    try (var found = of(sql, values).executeQuery()) {
      if (!found.next()) {
        return Optional.empty();
      }
      long number = found.getLong(1);
      return found.wasNull() ? Optional.empty() : Optional.of(number);
    }
  }

  /** Executes one that changes something. Answers how many rows it changed. */
  int update(String sql, @Nullable Object... values) throws SQLException {
    return of(sql, values).executeUpdate();
  }

  /** The same with others of the kind, by {@link PreparedStatement#executeBatch}. */
  void batch(String sql, @Nullable Object... values) throws SQLException {
    of(sql, values).addBatch();
  }
}
