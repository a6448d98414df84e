package dev.evergreen.storage;

import dev.evergreen.core.spi.NodeId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;

/**
 * The table {@code grain_node (cluster, address, incarnation)} of an SQLite file: who is alive.
 *
 * <p>Transactions that write follow each other. So one that finds a node here has ended before that
 * node can be given up, and taking a row away waits for the transaction under way. Used by one
 * thread.
 */
final class SqliteNodes {

  private static final String ONE = " where cluster = ? and address = ? and incarnation = ?";
  private static final String LOOK_UP = "select 1 from grain_node" + ONE;

  /** A condition whose parameters are those of {@link #set}. */
  static final String IS_ALIVE = "exists (" + LOOK_UP + ")";

  private final Connection connection;

  private final PreparedStatement lookUp;

  SqliteNodes(Connection connection) throws SQLException {
    this.connection = connection;
    this.lookUp = connection.prepareStatement(LOOK_UP);
  }

  boolean isAlive(Member member) throws SQLException {
    set(lookUp, 1, member);
    try (var row = lookUp.executeQuery()) {
      return row.next();
    }
  }

  Set<NodeId> alive(String cluster) throws SQLException {
    var alive = new HashSet<NodeId>();
    try (var select =
        connection.prepareStatement(
            "select address, incarnation from grain_node where cluster = ?")) {
      select.setString(1, cluster);
      try (var rows = select.executeQuery()) {
        while (rows.next()) {
          alive.add(new NodeId(rows.getString(1), rows.getLong(2)));
        }
      }
    }
    return alive;
  }

  boolean join(Member member) throws SQLException {
    try (var insert =
        statement("insert into grain_node values (?, ?, ?) on conflict do nothing", member)) {
      return insert.executeUpdate() == 1;
    }
  }

  boolean giveUp(Member member, Member by) throws SQLException {
    if (!isAlive(by)) {
      return false;
    }
    try (var delete = statement("delete from grain_node" + ONE, member)) {
      delete.executeUpdate();
    }
    return true;
  }

  private PreparedStatement statement(String sql, Member member) throws SQLException {
    var statement = connection.prepareStatement(sql);
    set(statement, 1, member);
    return statement;
  }

  /**
   * @param first which parameter of the statement is the first that says whom it means
   */
  static void set(PreparedStatement statement, int first, Member member) throws SQLException {
    statement.setString(first, member.cluster());
    statement.setString(first + 1, member.id().address());
    statement.setLong(first + 2, member.id().incarnation());
  }
}
