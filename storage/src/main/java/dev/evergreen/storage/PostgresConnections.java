package dev.evergreen.storage;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.Objects;
import javax.sql.DataSource;

/** Connections to a PostgreSQL database; each commits each statement. Thread-safe. */
final class PostgresConnections {

  private final DataSource pool;
  private final long patienceNanos;

  /**
   * @param patience how long to try what may be repeated
   */
  PostgresConnections(DataSource pool, Duration patience) {
    this.pool = pool;
    this.patienceNanos = patience.toNanos();
  }

  /** What is done with a connection. */
  interface Use {
    void with(Connection connection) throws SQLException;
  }

  /** How long to try what may be repeated. */
  long patienceNanos() {
    return patienceNanos;
  }

  /** Blocks until there is one, for as long as the pool does. */
  Connection open() throws SQLException {
    try {
      return pool.getConnection();
    } catch (SQLTransientConnectionException e) {
      var reason = e.getCause() == null ? e : e.getCause();
      throw new SQLTransientConnectionException(
          "there is no connection to be had: " + reason.getMessage(), e.getSQLState(), e);
    }
  }

  /** For what may be done twice, as it changes nothing: when a connection breaks, tries another. */
  void repeat(Use use) throws SQLException {
    long begin = System.nanoTime();
    while (true) {
      try (var connection = open()) {
        try {
          use.with(connection);
          return;
        } catch (SQLException e) {
          if (!isBroken(connection, e) || System.nanoTime() - begin >= patienceNanos) {
            throw e;
          }
        }
      }
    }
  }

  /** Whether the server may have done what it was asked although it seems to have failed. */
  static boolean isBroken(Connection connection, SQLException e) throws SQLException {
    var state = Objects.requireNonNullElse(e.getSQLState(), "08");
    // The driver tells so of what it could not read, for instance for want of memory.
    boolean unread = e.getCause() instanceof Error;
    return unread || connection.isClosed() || state.startsWith("08") || state.startsWith("57P");
  }
}
