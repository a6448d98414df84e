package dev.evergreen.storage;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.storage.Request.Outcome;
import dev.evergreen.storage.Request.Save;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code grain_state (type, key, revision, state)} through one connection, and {@code
 * grain_node} beside it, where each transaction looks who is alive. The statements are plain SQL;
 * which database it is and how the table came about is the connection's matter. Used by one thread.
 *
 * <p>The texts of a {@link GrainId} are kept as bytes: no database's idea of text then decides
 * which keys are equal or allowed (NUL, half a surrogate pair, letter case, normal forms).
 */
final class GrainTable implements AutoCloseable {

  private static final String INSERT = "insert into grain_state (state, type, key, revision) ";
  private static final String UNLESS_THERE = " on conflict do nothing";
  private static final String UPDATE =
      "update grain_state set state = ?, revision = revision + 1"
          + " where type = ? and key = ? and revision = ?";

  private final Connection connection;
  private final PreparedStatement select;
  private final PreparedStatement insert;
  private final PreparedStatement update;
  private final PreparedStatement fencedInsert;
  private final PreparedStatement fencedUpdate;
  private final PreparedStatement begin;
  private final PreparedStatement commit;
  private final SqliteNodes nodes;
  private final SqliteTurn turn;
  private final Check inPlace;

  /**
   * Takes the connection over.
   *
   * @param turn among those that save
   * @param inPlace whether what is written and read is the database that others know
   */
  GrainTable(Connection connection, SqliteTurn turn, Check inPlace) throws SQLException {
    this.connection = connection;
    this.nodes = new SqliteNodes(connection);
    this.turn = turn;
    this.inPlace = inPlace;
    select =
        connection.prepareStatement(
            "select revision, state from grain_state where type = ? and key = ?");
    insert = connection.prepareStatement(INSERT + "values (?, ?, ?, 1)" + UNLESS_THERE);
    update = connection.prepareStatement(UPDATE);
    fencedInsert =
        connection.prepareStatement(
            INSERT + "select ?, ?, ?, 1 where " + SqliteNodes.IS_ALIVE + UNLESS_THERE);
    fencedUpdate = connection.prepareStatement(UPDATE + " and " + SqliteNodes.IS_ALIVE);
    begin = connection.prepareStatement("begin immediate");
    commit = connection.prepareStatement("commit");
  }

  /** What was saved last, if anything. */
  Optional<Stored> load(GrainId grain) throws SQLException {
    var stored = find(grain);
    inPlace.check();
    return stored;
  }

  private Optional<Stored> find(GrainId grain) throws SQLException {
    select.setBytes(1, bytes(grain.type()));
    select.setBytes(2, bytes(grain.key()));
    try (var row = select.executeQuery()) {
      return row.next()
          ? Optional.of(new Stored(row.getLong(1), row.getBytes(2)))
          : Optional.empty();
    }
  }

  /**
   * Commits the saves in one transaction. One that conflicts leaves the others alone, and they see
   * each other in order.
   *
   * @param saves at least one
   * @return what became of each, in their order; all durable
   * @throws SQLException if the transaction failed; whether it was committed is unknown
   */
  List<Outcome> saveAll(List<Save> saves) throws SQLException {
    var alive = new HashSet<Member>();
    return inTransaction(
        () -> {
          var outcomes = new ArrayList<Outcome>(saves.size());
          for (var save : saves) {
            outcomes.add(save(save, alive));
          }
          return outcomes;
        });
  }

  /**
   * @param alive who was seen alive in this transaction: nobody else changes that while it goes on
   */
  private Outcome save(Save save, Set<Member> alive) throws SQLException {
    var by = save.by();
    if (by == null || alive.contains(by)) {
      return write(save, null) ? saved(save) : conflict(save);
    }
    // The look is a part of the first statement: one of its own would cost more than that.
    boolean written = write(save, by);
    if (!written && !nodes.isAlive(by)) {
      return new Outcome.GivenUp();
    }
    alive.add(by);
    return written ? saved(save) : conflict(save);
  }

  /**
   * @param by who must be alive, or else nothing is written; null if nobody must
   */
  private boolean write(Save save, @Nullable Member by) throws SQLException {
    boolean first = save.expected() == Storage.NONE;
    var plain = first ? insert : update;
    var fenced = first ? fencedInsert : fencedUpdate;
    var statement = by == null ? plain : fenced;
    int next = 1;
    statement.setBytes(next++, save.state());
    statement.setBytes(next++, bytes(save.grain().type()));
    statement.setBytes(next++, bytes(save.grain().key()));
    if (!first) {
      statement.setLong(next++, save.expected());
    }
    if (by != null) {
      SqliteNodes.set(statement, next, by);
    }
    return statement.executeUpdate() == 1;
  }

  private static Outcome saved(Save save) {
    return new Outcome.Saved(save.expected() + 1);
  }

  private Outcome conflict(Save save) throws SQLException {
    return new Outcome.Conflict(find(save.grain()).map(Stored::revision).orElse(Storage.NONE));
  }

  /** The nodes, as this connection sees them. */
  SqliteNodes nodes() {
    return nodes;
  }

  boolean isAlive(Member member) throws SQLException {
    boolean alive = nodes.isAlive(member);
    inPlace.check();
    return alive;
  }

  /** Does it with the lock on the database, so that it sees what all others have committed. */
  <A> A inTransaction(Work<A> work) throws SQLException {
    turn.take(begin::executeUpdate);
    var answer = work.run();
    commit.executeUpdate();
    inPlace.check();
    return answer;
  }

  /** Throws if something is not as it must be. */
  interface Check {
    void check() throws SQLException;
  }

  /** What a transaction does. */
  interface Work<A> {
    A run() throws SQLException;
  }

  /** UTF-8; a text that has none is 0xFF, which begins no UTF-8, and its UTF-16 code units. */
  static byte[] bytes(String text) {
    try {
      var utf8 = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      var bytes = new byte[utf8.remaining()];
      utf8.get(bytes);
      return bytes;
    } catch (CharacterCodingException e) {
      var units = ByteBuffer.allocate(1 + Character.BYTES * text.length()).put((byte) 0xFF);
      units.asCharBuffer().put(text);
      return units.array();
    }
  }

  /** Closes the connection; what was not committed is rolled back. */
  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
