package dev.evergreen.storage;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.storage.Request.IsAlive;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.sql.DataSource;

/**
 * The table {@code grain_node (cluster, address, incarnation, alive)} of a PostgreSQL database: who
 * is alive.
 *
 * <p>A statement that saves joins its node's row in, and locks it {@code for key share} until it is
 * committed. A node is given up in two steps, each its own transaction, so that saves that follow
 * each other without a pause cannot keep it from being given up:
 *
 * <ol>
 *   <li>{@code alive} becomes false. That lock allows it, so nobody is waited for, and statements
 *       that begin afterwards save nothing.
 *   <li>The row is deleted. That lock does not allow it, so this waits for the statements that
 *       began before. One of them that had no lock yet finds no row when it tries, and saves
 *       nothing either: PostgreSQL looks at the latest version of a row that it locks.
 * </ol>
 *
 * <p>Thread-safe.
 */
final class PostgresNodes implements DatabaseFence.Nodes {

  /** Yields a row if the node is alive, which it stays until the statement is committed. */
  static final String STAYS_ALIVE =
      "select from grain_node where cluster = ? and address = ? and incarnation = ? and alive"
          + " for key share";

  private static final String ONE = " where cluster = ? and address = ? and incarnation = ?";

  private final DataSource pool;

  /** Uses connections that commit each statement. */
  PostgresNodes(DataSource pool) {
    this.pool = pool;
  }

  @Override
  public void join(Member member) throws SQLException {
    execute("insert into grain_node values (?, ?, ?, true) on conflict do nothing", member);
  }

  @Override
  public void giveUp(Member member) throws SQLException {
    execute("update grain_node set alive = false" + ONE, member);
    execute("delete from grain_node" + ONE, member);
  }

  private void execute(String sql, Member member) throws SQLException {
    try (var connection = pool.getConnection();
        var statement = connection.prepareStatement(sql)) {
      set(statement, member);
      statement.executeUpdate();
    }
  }

  @Override
  public Set<NodeId> alive(String cluster) throws SQLException {
    var alive = new HashSet<NodeId>();
    try (var connection = pool.getConnection();
        var select =
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

  /** Answers with one connection whether nodes are alive. */
  void answer(List<IsAlive> batch) throws SQLException {
    try (var connection = pool.getConnection()) {
      DatabaseFence.answer(batch, member -> isAlive(connection, member));
    }
  }

  static boolean isAlive(Connection connection, Member member) throws SQLException {
    try (var select = connection.prepareStatement("select from grain_node" + ONE + " and alive")) {
      set(select, member);
      try (var row = select.executeQuery()) {
        return row.next();
      }
    }
  }

  /**
   * Sets the first parameters of a statement.
   *
   * @return how many
   */
  static int set(PreparedStatement statement, Member member) throws SQLException {
    statement.setString(1, member.cluster());
    statement.setString(2, member.id().address());
    statement.setLong(3, member.id().incarnation());
    return 3;
  }
}
