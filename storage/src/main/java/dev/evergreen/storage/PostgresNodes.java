package dev.evergreen.storage;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.storage.Request.IsAlive;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The table {@code grain_node (cluster, address, incarnation, alive)} of a PostgreSQL database: who
 * is alive.
 *
 * <p>A statement that saves joins its node's row in, and locks it {@code for key share} until it is
 * committed. A node is given up in two steps, each its own transaction, so that saves that follow
 * each other without a pause cannot keep it from being given up:
 *
 * <ol>
 *   <li>{@code alive} becomes false, if the one who wants it is alive. Both rows are locked for
 *       that, in their order, so that two that give each other up follow each other. A save's lock
 *       allows it, so nobody that saves is waited for, and statements that begin afterwards save
 *       nothing.
 *   <li>The row is deleted. A save's lock does not allow it, so this waits for the statements that
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

  private static final String IS = "(cluster = ? and address = ? and incarnation = ?)";
  private static final String ONE = " where " + IS;

  /** For the node and whoever wants it; then that one; then the node. */
  private static final String JUDGE =
      """
      with locked as (
        select * from grain_node where %s or %s
        order by cluster, address, incarnation for no key update),
      judges as (select from locked where %s and alive),
      judged as (update grain_node set alive = false where %s and exists (select from judges))
      select exists (select from judges)"""
          .formatted(IS, IS, IS, IS);

  private final PostgresConnections connections;

  PostgresNodes(PostgresConnections connections) {
    this.connections = connections;
  }

  @Override
  public void join(Member member) throws SQLException {
    execute("insert into grain_node values (?, ?, ?, true) on conflict do nothing", member);
  }

  @Override
  public boolean giveUp(Member member, Member by) throws SQLException {
    boolean may = judge(member, by);
    // Also if another one has begun to give it up.
    execute("delete from grain_node" + ONE + " and not alive", member);
    return may;
  }

  private boolean judge(Member member, Member by) throws SQLException {
    try (var connection = connections.open();
        var judge = connection.prepareStatement(JUDGE)) {
      int set = set(judge, 0, member);
      set = set(judge, set, by);
      set = set(judge, set, by);
      set(judge, set, member);
      try (var row = judge.executeQuery()) {
        row.next();
        return row.getBoolean(1);
      }
    }
  }

  private void execute(String sql, Member member) throws SQLException {
    try (var connection = connections.open();
        var statement = connection.prepareStatement(sql)) {
      set(statement, member);
      statement.executeUpdate();
    }
  }

  @Override
  public Set<NodeId> alive(String cluster) throws SQLException {
    var alive = new HashSet<NodeId>();
    try (var connection = connections.open();
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

  /** Answers with one connection whether nodes are alive; when it breaks, with another one. */
  void answer(List<IsAlive> batch) throws SQLException {
    connections.repeat(
        connection -> DatabaseFence.answer(batch, member -> isAlive(connection, member)));
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
    return set(statement, 0, member);
  }

  private static int set(PreparedStatement statement, int before, Member member)
      throws SQLException {
    statement.setString(before + 1, member.cluster());
    statement.setString(before + 2, member.id().address());
    statement.setLong(before + 3, member.id().incarnation());
    return before + 3;
  }
}
