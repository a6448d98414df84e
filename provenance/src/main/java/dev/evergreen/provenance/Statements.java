package dev.evergreen.provenance;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The statements of a connection, each prepared once; they end with it. */
final class Statements {
  private final Connection connection;
  private final Map<String, PreparedStatement> prepared = new HashMap<>();

  Statements(Connection connection) {
    this.connection = connection;
  }

  /** A statement, to be filled in and executed before it is asked for again. */
  PreparedStatement of(String sql) throws SQLException {
    var known = prepared.get(sql);
    if (known == null) {
      known = connection.prepareStatement(sql);
      prepared.put(sql, known);
    }
    return known;
  }

  /** Executes one that changes something; null is for bytes. Answers how many rows it changed. */
  int update(String sql, @Nullable Object... values) throws SQLException {
    var statement = of(sql);
    for (int i = 0; i < values.length; i++) {
      switch (values[i]) {
        case Long number -> statement.setLong(i + 1, number);
        case String text -> statement.setString(i + 1, PostgresCopy.text(text));
        case byte[] bytes -> statement.setBytes(i + 1, bytes);
        case null -> statement.setNull(i + 1, Types.VARBINARY);
        default -> throw new IllegalArgumentException(sql + " with " + values[i]);
      }
    }
    return statement.executeUpdate();
  }
}
