package dev.evergreen.storage;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.storage.Request.IsAlive;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * The table {@code grain_node (cluster, address, incarnation, alive, gone)} of a PostgreSQL
 * database: who is alive, and since when who was given up is gone.
 *
 * <p>A statement that saves looks at its node's row, and locks nothing for that: to lock the row
 * made a save a fifth dearer. A node is given up in three steps, so that saves that follow each
 * other without a pause cannot keep it from being given up:
 *
 * <ol>
 *   <li>{@code alive} becomes false, if the one who wants it is alive. Both rows are locked for
 *       that, in their order, so that two that give each other up follow each other.
 *   <li>The statements that are under way are waited for: all that have locked the table of states
 *       in order to write. A statement locks the tables that it is for before it takes the snapshot
 *       that it works by, in transactions that only read what is committed. So one that locks it
 *       later sees that the node is not alive, and saves nothing. Locks are kept until what was
 *       saved can be seen.
 *   <li>The row says that the node is gone. It stays, as the statement by which a node joins may
 *       come late: it was on its way when its connection broke, and the node has joined by another
 *       one. A row that is there keeps it from making the node alive again.
 * </ol>
 *
 * <p>Rows of who has been gone for a day are deleted. No statement is on its way so long.
 *
 * <p>Thread-safe.
 */
final class PostgresNodes implements DatabaseFence.Nodes {

  /** Yields a row if the node is alive. */
  static final String IS_ALIVE =
      "select from grain_node where cluster = ? and address = ? and incarnation = ? and alive";

  /**
   * The transactions that may be saving, with their processes. Those that wait for a lock have no
   * snapshot yet; nor have those that wait for the rest of what a client sends, who may have died.
   * Of another user's that cannot be told, and prepared ones have no process.
   */
  private static final String UNDER_WAY =
      """
      select l.virtualtransaction, l.pid from pg_locks l left join pg_stat_activity a using (pid)
      where l.locktype = 'relation' and l.granted and l.mode = 'RowExclusiveLock'
        and l.relation = 'grain_state'::regclass
        and l.database = (select oid from pg_database where datname = current_database())
        and (l.pid is null or a.backend_xmin is not null or a.backend_xid is not null
          or not (pg_has_role(a.usesysid, 'usage') or pg_has_role('pg_read_all_stats', 'usage')))""";

  private static final long SHORTEST_PAUSE_NANOS = 100_000;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  private static final String IS = "(cluster = ? and address = ? and incarnation = ?)";
  private static final String ONE = " where " + IS;

  /**
   * For the node and whoever wants it; then that one; then the node, twice. Tells whether that one
   * is alive, and whether the node is not alive any more, and not yet gone.
   */
  private static final String JUDGE =
      """
      with locked as (
        select * from grain_node where %s or %s
        order by cluster, address, incarnation for no key update),
      judges as (select from locked where %s and alive),
      judged as (update grain_node set alive = false where %s and exists (select from judges))
      select exists (select from judges),
        exists (select from judges)
          or exists (select from locked where %s and not alive and gone is null)"""
          .formatted(IS, IS, IS, IS, IS);

  private final PostgresConnections connections;

  PostgresNodes(PostgresConnections connections) {
    this.connections = connections;
  }

  @Override
  public void join(Member member) throws SQLException {
    execute(
        "insert into grain_node (cluster, address, incarnation, alive) values (?, ?, ?, true)"
            + " on conflict do nothing",
        member);
    try (var connection = connections.open();
        var statement = connection.createStatement()) {
      statement.execute("delete from grain_node where gone < now() - interval '1 day'");
    }
  }

  @Override
  public boolean giveUp(Member member, Member by) throws SQLException {
    var verdict = judge(member, by);
    // Also if another one has begun to give it up. But not if nobody has by now: whoever does so
    // later waits for saves that begin before that.
    if (verdict.notAlive) {
      awaitSavesUnderWay();
      execute("update grain_node set gone = now()" + ONE + " and not alive", member);
    }
    return verdict.may;
  }

  /** What a judgement found: whether who asked for it may, and whether the node is not alive. */
  private record Verdict(boolean may, boolean notAlive) {}

  private Verdict judge(Member member, Member by) throws SQLException {
    try (var connection = connections.open();
        var judge = connection.prepareStatement(JUDGE)) {
      int set = set(judge, 0, member);
      set = set(judge, set, by);
      set = set(judge, set, by);
      set = set(judge, set, member);
      set(judge, set, member);
      try (var row = judge.executeQuery()) {
        row.next();
        return new Verdict(row.getBoolean(1), row.getBoolean(2));
      }
    }
  }

  private void awaitSavesUnderWay() throws SQLException {
    long begin = System.nanoTime();
    long pause = SHORTEST_PAUSE_NANOS;
    try (var connection = connections.open()) {
      for (var left = savesUnderWay(connection); !left.isEmpty(); ) {
        if (System.nanoTime() - begin >= connections.patienceNanos()) {
          throw new SQLTimeoutException(
              "transactions that write to grain_state do not end, of the processes "
                  + left.stream().map(UnderWay::process).toList());
        }
        LockSupport.parkNanos(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        left.retainAll(savesUnderWay(connection));
      }
    }
  }

  private record UnderWay(String transaction, int process) {}

  private static Set<UnderWay> savesUnderWay(Connection connection) throws SQLException {
    var found = new HashSet<UnderWay>();
    try (var select = connection.prepareStatement(UNDER_WAY);
        var rows = select.executeQuery()) {
      while (rows.next()) {
        found.add(new UnderWay(rows.getString(1), rows.getInt(2)));
      }
    }
    return found;
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
                "select address, incarnation from grain_node where cluster = ? and gone is null")) {
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
    try (var select = connection.prepareStatement(IS_ALIVE)) {
      set(select, member);
      try (var row = select.executeQuery()) {
        return row.next();
      }
    }
  }

  /** Sets the first parameters of a statement. */
  private static void set(PreparedStatement statement, Member member) throws SQLException {
    set(statement, 0, member);
  }

  /**
   * Sets parameters of a statement.
   *
   * @param before how many there are before them
   * @return how many are set then
   */
  static int set(PreparedStatement statement, int before, Member member) throws SQLException {
    statement.setString(before + 1, member.cluster());
    statement.setString(before + 2, member.id().address());
    statement.setLong(before + 3, member.id().incarnation());
    return before + 3;
  }
}
