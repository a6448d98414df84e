package dev.evergreen.storage;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.storage.Request.Load;
import dev.evergreen.storage.Request.Outcome;
import dev.evergreen.storage.Request.Save;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The table {@code grain_state (id, type, key, revision, state)} of a PostgreSQL database. The id
 * is a digest of type and key, since an entry of an index must be small and a key need not be; type
 * and key are kept as {@link GrainTable} keeps them.
 *
 * <p>A batch of saves is one statement, which is its own transaction:
 *
 * <ul>
 *   <li>No transaction that has seen or written anything is open while the server waits for this
 *       process, so one that is stopped or cut off holds nothing that others need.
 *   <li>It writes its rows in the order of their ids. As all do so, no two wait for each other.
 *   <li>It writes nothing unless the node that asked is alive. Whoever gives that node up waits
 *       until it is committed ({@link PostgresNodes}).
 *   <li>If the server refuses it because of one save, nothing of it was written, and its halves are
 *       tried.
 * </ul>
 *
 * <p>Thread-safe.
 */
final class PostgresTable {

  /**
   * The condition after {@code where} lets in what may succeed as far as this statement sees, the
   * one after the conflict decides when the row is locked. Its subquery is a look into the index
   * for each row; as a join it may become a scan of the table.
   */
  private static final String SAVE =
      """
      insert into grain_state (id, type, key, revision, state)
      select a.id, a.type, a.key, a.expected + 1, a.state
      from unnest(?::bytea[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bytea[])
        as a (id, type, key, expected, state)
      where a.expected =
        coalesce((select g.revision from grain_state g where g.id = a.id), 0)
        %s
      order by a.id
      on conflict (id) do update
        set revision = excluded.revision, state = excluded.state
        where grain_state.revision = excluded.revision - 1
      returning id""";

  private static final String SAVE_BY_ANYBODY = SAVE.formatted("");

  /** Inserts nothing without a row of the node's. */
  private static final String SAVE_BY_NODE =
      SAVE.formatted("and exists (" + PostgresNodes.IS_ALIVE + ")");

  private static final String LOAD =
      "select id, revision, state from grain_state where id = any (?::bytea[])";

  private static final String REVISIONS =
      "select id, revision from grain_state where id = any (?::bytea[])";

  private final PostgresConnections connections;

  PostgresTable(PostgresConnections connections) {
    this.connections = connections;
  }

  /** Answers with what was saved last; when a connection breaks, tries another one. */
  void load(List<Load> batch) throws SQLException {
    connections.repeat(connection -> answer(connection, batch));
  }

  private static void answer(Connection connection, List<Load> batch) throws SQLException {
    var ids = batch.stream().map(load -> id(load.grain())).toList();
    var found = new HashMap<ByteBuffer, Stored>();
    try (var select = connection.prepareStatement(LOAD)) {
      select.setArray(1, array(connection, ids.stream().map(ByteBuffer::array)));
      try (var rows = select.executeQuery()) {
        while (rows.next()) {
          found.put(
              ByteBuffer.wrap(rows.getBytes(1)), new Stored(rows.getLong(2), rows.getBytes(3)));
        }
      }
    }
    for (int i = 0; i < ids.size(); i++) {
      // Two that ask for the same grain get arrays of their own.
      var stored = Optional.ofNullable(found.get(ids.get(i)));
      batch
          .get(i)
          .answer()
          .complete(stored.map(one -> new Stored(one.revision(), one.state().clone())));
    }
  }

  /**
   * Answers with what became of each save. One that conflicts or that the server refuses leaves the
   * others alone.
   *
   * @throws SQLException if the connection broke; whether what has no answer was written is unknown
   */
  void save(List<Save> batch) throws SQLException {
    try (var connection = connections.open()) {
      // A statement can write a row only once, and looks at one node.
      var rest = new ArrayDeque<>(batch);
      while (!rest.isEmpty()) {
        var by = rest.getFirst().by();
        var grains = new HashSet<GrainId>();
        var distinct = new ArrayList<Save>();
        rest.removeIf(
            save ->
                Objects.equals(save.by(), by) && grains.add(save.grain()) && distinct.add(save));
        saveDistinct(connection, distinct);
      }
    }
  }

  /** If the server refuses them together, tries each half, down to the one that is to blame. */
  private static void saveDistinct(Connection connection, List<Save> saves) throws SQLException {
    try {
      saveTogether(connection, saves);
    } catch (SQLException e) {
      if (PostgresConnections.isBroken(connection, e)) {
        throw e;
      }
      // As the first half may take its time, callers may have lost patience.
      var waiting = saves.stream().filter(save -> !save.answer().isDone()).toList();
      if (waiting.size() == 1 && saves.size() == 1) {
        waiting.getFirst().answer().completeExceptionally(e);
      } else if (!waiting.isEmpty()) {
        int half = (waiting.size() + 1) / 2;
        saveDistinct(connection, waiting.subList(0, half));
        if (half < waiting.size()) {
          saveDistinct(connection, waiting.subList(half, waiting.size()));
        }
      }
    }
  }

  private static void saveTogether(Connection connection, List<Save> saves) throws SQLException {
    var open = new HashMap<ByteBuffer, Save>();
    var ids = saves.stream().map(save -> id(save.grain())).toList();
    for (int i = 0; i < saves.size(); i++) {
      open.put(ids.get(i), saves.get(i));
    }
    var by = saves.getFirst().by();
    try (var upsert = connection.prepareStatement(by == null ? SAVE_BY_ANYBODY : SAVE_BY_NODE)) {
      upsert.setArray(1, array(connection, ids.stream().map(ByteBuffer::array)));
      upsert.setArray(
          2, array(connection, saves.stream().map(save -> GrainTable.bytes(save.grain().type()))));
      upsert.setArray(
          3, array(connection, saves.stream().map(save -> GrainTable.bytes(save.grain().key()))));
      upsert.setArray(
          4, connection.createArrayOf("bigint", saves.stream().map(Save::expected).toArray()));
      upsert.setArray(5, array(connection, saves.stream().map(Save::state)));
      if (by != null) {
        PostgresNodes.set(upsert, 5, by);
      }
      // It returns when the statement is committed.
      try (var rows = upsert.executeQuery()) {
        while (rows.next()) {
          var save = open.remove(ByteBuffer.wrap(rows.getBytes(1)));
          save.answer().complete(new Outcome.Saved(save.expected() + 1));
        }
      }
    }
    if (open.isEmpty()) {
      return;
    }
    if (by == null || PostgresNodes.isAlive(connection, by)) {
      answerConflicts(connection, open);
    } else {
      open.values().forEach(save -> save.answer().complete(new Outcome.GivenUp()));
    }
  }

  private static void answerConflicts(Connection connection, Map<ByteBuffer, Save> saves)
      throws SQLException {
    var actual = new HashMap<ByteBuffer, Long>();
    try (var select = connection.prepareStatement(REVISIONS)) {
      select.setArray(1, array(connection, saves.keySet().stream().map(ByteBuffer::array)));
      try (var rows = select.executeQuery()) {
        while (rows.next()) {
          actual.put(ByteBuffer.wrap(rows.getBytes(1)), rows.getLong(2));
        }
      }
    }
    saves.forEach(
        (id, save) ->
            save.answer().complete(new Outcome.Conflict(actual.getOrDefault(id, Storage.NONE))));
  }

  private static Array array(Connection connection, Stream<byte[]> values) throws SQLException {
    return connection.createArrayOf("bytea", values.toArray(byte[][]::new));
  }

  /** The digest under which the grain's row is found. */
  static ByteBuffer id(GrainId grain) {
    var type = GrainTable.bytes(grain.type());
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      // With the length it is plain where the type ends.
      digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, type.length));
      digest.update(type);
      return ByteBuffer.wrap(digest.digest(GrainTable.bytes(grain.key())));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
