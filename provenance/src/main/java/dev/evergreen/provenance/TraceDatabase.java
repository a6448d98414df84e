package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteOpenMode;

/**
 * Where a trace is kept: an SQLite file, or a schema of PostgreSQL. Its tables are described in
 * {@code docs/trace.md}.
 */
abstract sealed class TraceDatabase {
  private static final int VERSION = 4;

  /** The first that has a table of what a former one has folded. */
  private static final int OF_COARSE = 4;

  /** The last whose rows do not tell what has replaced something that is folded. */
  private static final int UNTOLD = 2;

  /** The oldest that can be read. */
  private static final int OLDEST = 2;

  /** The kind of a touch that has replaced something that is folded. */
  static final int COVERS = 3;

  static final int STRETCH_BITS = 22;

  /**
   * An operation during which more rows than these were given is a long one: an index finds those
   * among which another may have been sent. The others are found among the rows right before it.
   */
  static final long LONG = 4096;

  /** Above the last row of an operation: of one without a reply above all. */
  static final String END = "coalesce(replied_seq, %d)".formatted(Long.MAX_VALUE);

  /** The condition that no reply is heard of an operation, and it is not known to be over. */
  static final String SILENT = "outcome in (2, 3) and replied_seq is null";

  /** The words in braces differ between the databases. */
  private static final String SCHEMA =
      """
      create table if not exists trace (
        id {long} primary key, version {long} not null, spool text not null,
        segment {long} not null, place {long} not null, seq {long} not null,
        at {long} not null, horizon {long} not null, folded {long} not null){strict};
      create table if not exists epoch (
        id {long} primary key, store text not null, server text not null, facts text not null,
        since {long} not null){strict};
      create table if not exists lane (
        id {long} primary key, epoch {long} not null, description text not null,
        since {long} not null, until {long}){strict};
      create table if not exists connection (
        id {long} primary key, epoch {long} not null, address text not null, name text not null,
        user_name text not null, protocol text not null, since {long} not null,
        until {long}){strict};
      create table if not exists connection_change (
        seq {long} primary key, connection {long} not null, at {long} not null,
        name text not null, user_name text not null, protocol text not null){strict};
      create table if not exists op (
        seq {long} primary key, epoch {long} not null, lane {long} not null,
        connection {long} not null, space text not null, verb text not null, sent {long} not null,
        outcome {long} not null, replied_seq {long}, replied {long},
        request {bytes}, request_length {long} not null, request_hash {bytes},
        reply {bytes}, reply_length {long}, reply_hash {bytes}){strict};
      create index if not exists op_connection on op (connection, seq);
      create index if not exists op_long on op (seq, replied_seq, outcome) where %s;
      create index if not exists op_open on op (seq) where outcome = 0;
      drop index if exists op_silent;
      create index if not exists op_unheard on op (lane, seq) where %s;
      create index if not exists op_request_hash on op (request_hash)
        where request_hash is not null;
      create index if not exists op_reply_hash on op (reply_hash) where reply_hash is not null;
      create table if not exists push (
        seq {long} primary key, lane {long} not null, connection {long} not null,
        at {long} not null, message {bytes}, message_length {long} not null,
        message_hash {bytes}){strict};
      create index if not exists push_hash on push (message_hash)
        where message_hash is not null;
      create table if not exists body (
        hash {bytes} primary key, content {bytes} not null){strict};
      create table if not exists piece (
        first_seq {long} not null, seq {long} not null, content {bytes} not null,
        primary key (first_seq, seq)){keyed};
      create table if not exists begun (
        first_seq {long} primary key, kind {long} not null, about {long} not null,
        connection {long} not null, lane {long} not null, sent {long} not null){strict};
      create table if not exists cell (
        id {long} primary key, path {bytes} not null{unique}){strict};
      create table if not exists op_cell (
        stretch {long} not null, cell {long} not null, seq {long} not null, kind {long} not null,
        effect {long} not null, primary key (stretch, cell, seq)){keyed};
      create table if not exists op_below (
        stretch {long} not null, cell {long} not null, seq {long} not null,
        primary key (stretch, cell, seq)){keyed};
      create table if not exists coarse (
        below {long} primary key){strict};
      create table if not exists gap (
        seq {long} primary key, at {long} not null, lost {long} not null, why text not null)
        {strict};
      create table if not exists hiding (
        seq {long} primary key, rules text not null){strict};
      create table if not exists outside (
        seq {long} primary key, epoch {long} not null, at {long} not null,
        evidence {bytes} not null){strict};
      insert into trace values (1, %d, '', -1, %d, 0, 0, 0, 0) on conflict do nothing
      """
          .formatted(longer(), SILENT, VERSION, SpoolSegment.start());

  /** The condition that an operation is a long one. */
  static String longer() {
    return END + " - seq > " + LONG;
  }

  /**
   * The stretch in which a row is. What is found by cells is kept a stretch at a time: so what is
   * written goes to few pages, however long the trace is, and a question looks into each stretch.
   */
  static long stretch(long row) {
    return row >> STRETCH_BITS;
  }

  /** The row behind those of a stretch. */
  static long endOf(long stretch) {
    return (stretch + 1) << STRETCH_BITS;
  }

  /**
   * The database of a trace.
   *
   * @param url of PostgreSQL; or empty for the SQLite file {@code trace.db} of the directory
   */
  static TraceDatabase of(Path directory, String url) {
    if (url.isEmpty()) {
      return new Sqlite(directory.resolve("trace.db"));
    }
    if (!url.startsWith("jdbc:postgresql:")) {
      throw new TraceException(
          "A trace is kept at a URL that begins with jdbc:postgresql:, not at " + masked(url));
    }
    return new Postgres(url);
  }

  /** The URL as it may be shown: without a password. */
  static String masked(String url) {
    return url.replaceAll("(?i)password=[^&]*", "password=*").replaceAll("//[^/?]*@", "//*@");
  }

  /** A connection to read with: nothing can be changed by it. */
  abstract Connection reader() throws SQLException;

  /** A connection to load with, in a transaction; the tables are there. */
  final Connection writer() throws SQLException, IOException {
    var connection = connect();
    try (var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      for (var sql : schema().split(";", -1)) {
        statement.executeUpdate(sql);
      }
      takeOver(connection, statement);
      checkVersion(connection);
      renew(connection);
      connection.commit();
      return connection;
    } catch (SQLException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  /**
   * Makes a trace of a former version one of this. Whatever such a version has kept may cover what
   * it has folded. That is noted of all these rows together, and looked at when they are read: so
   * it takes no time, however many there are.
   */
  private static void takeOver(Connection connection, Statement statement) throws SQLException {
    long version = version(connection);
    if (version < OLDEST || version >= VERSION) {
      return;
    }
    if (version <= UNTOLD) {
      statement.executeUpdate(
          "insert into coarse select folded from trace where true on conflict do nothing");
    }
    statement.executeUpdate("update trace set version = " + VERSION);
  }

  /**
   * The row below which each operation that has replaced something may have replaced what is
   * folded, though its touches do not say so.
   */
  static long coarse(Connection connection) throws SQLException {
    long version = version(connection);
    return version >= OF_COARSE
        ? number(connection, "select coalesce(max(below), 0) from coarse")
        : version <= UNTOLD ? number(connection, "select folded from trace") : 0;
  }

  /** Refuses a trace that this program does not understand, and says what does. */
  final void checkVersion(Connection connection) throws SQLException {
    long version = version(connection);
    if (version > VERSION) {
      throw new TraceException(
          "The trace in %s is of version %d, and this program knows up to version %d;"
                  .formatted(this, version, VERSION)
              + " ask it with the program that has recorded it, or a newer one");
    }
    if (version < OLDEST) {
      throw new TraceException(
          "The trace in %s is of version %d, which this program does not read any more;"
                  .formatted(this, version)
              + " ask it with the program that has recorded it, and record into another place");
    }
  }

  private static long version(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var found = statement.executeQuery("select version from trace")) {
      return found.next() ? found.getLong(1) : 0;
    }
  }

  abstract Connection connect() throws SQLException, IOException;

  abstract String schema();

  /** Changes what an older program made in another way. */
  void renew(Connection connection) throws SQLException {}

  /**
   * A query for the id of the cell with a path, which is its only parameter. How an index finds
   * paths differs.
   */
  abstract String cellAt();

  /** A query for cells with paths from one on up to another, exclusive, in their order. */
  abstract String cellsBetween(String column);

  /** The transaction's end; all that was committed before is on the disk when this returns. */
  abstract void commitDurably(Connection connection) throws SQLException;

  /** The ids of cells that are there; how to ask for many at once differs. */
  abstract Map<Bytes, Long> cells(Statements statements, Collection<Bytes> paths)
      throws SQLException;

  /** What writes new rows into a table: the fastest way differs. */
  abstract RowWriter rows(Statements statements, String table, int columns) throws SQLException;

  /** New rows of a table, which are collected and written by thousands. */
  interface RowWriter {
    /** Adds a row. Its values are numbers, texts, arrays of bytes, or null. */
    void add(@Nullable Object... values) throws SQLException;

    /** Writes those that are still to be written. */
    void flush() throws SQLException;
  }

  /** How many bytes it takes. */
  abstract long size(Connection connection) throws SQLException;

  private static String tables(
      String number, String bytes, String unique, String strict, String keyed) {
    return SCHEMA
        .replace("{long}", number)
        .replace("{bytes}", bytes)
        .replace("{unique}", unique)
        .replace("{strict}", strict)
        .replace("{keyed}", keyed);
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static long number(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var found = statement.executeQuery(sql)) {
      found.next();
      return found.getLong(1);
    }
  }

  /** An SQLite file. */
  private static final class Sqlite extends TraceDatabase {
    /** So many rows are collected before they are handed to the database. */
    private static final int COLLECTED = 1_000;

    private static final int PATIENCE_MILLIS = 5_000;
    private static final int CACHE_KIB = 256 << 10;
    private static final int CHECKPOINT_PAGES = 20_000;

    private final Path file;

    private Sqlite(Path file) {
      this.file = file.toAbsolutePath();
    }

    @Override
    Connection connect() throws SQLException, IOException {
      SpoolFiles.makeFile(file);
      var config = new SQLiteConfig();
      config.setBusyTimeout(PATIENCE_MILLIS);
      config.setJournalMode(SQLiteConfig.JournalMode.WAL);
      // What a failure of the power takes away is still in the spool: see commitDurably.
      config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL);
      config.setCacheSize(-CACHE_KIB);
      config.setPragma(SQLiteConfig.Pragma.JOURNAL_SIZE_LIMIT, Long.toString(256L << 20));
      // Otherwise the driver asks for the last row id after each statement.
      config.setGetGeneratedKeys(false);
      var connection = config.createConnection("jdbc:sqlite:" + file.toUri());
      try {
        execute(connection, "pragma wal_autocheckpoint = " + CHECKPOINT_PAGES);
        // The pieces of a long body are there before the rules that hide something of it.
        execute(connection, "pragma secure_delete = on");
        return connection;
      } catch (SQLException e) {
        connection.close();
        throw e;
      }
    }

    @Override
    Connection reader() throws SQLException {
      if (!Files.exists(file)) {
        throw new TraceException("There is no trace in " + file.getParent());
      }
      var config = new SQLiteConfig();
      config.setBusyTimeout(PATIENCE_MILLIS);
      config.resetOpenMode(SQLiteOpenMode.CREATE);
      var connection = config.createConnection("jdbc:sqlite:" + file.toUri());
      execute(connection, "pragma query_only = true");
      return connection;
    }

    @Override
    String schema() {
      return tables("integer", "blob", " unique", " strict", " strict, without rowid");
    }

    @Override
    String cellAt() {
      return "select id from cell where path = ?";
    }

    @Override
    String cellsBetween(String column) {
      return "select %s from cell where path >= ? and path < ? order by path".formatted(column);
    }

    @Override
    void commitDurably(Connection connection) throws SQLException {
      connection.commit();
      connection.setAutoCommit(true);
      execute(connection, "pragma synchronous = full");
      execute(connection, "update trace set version = version");
      execute(connection, "pragma synchronous = normal");
      connection.setAutoCommit(false);
    }

    @Override
    Map<Bytes, Long> cells(Statements statements, Collection<Bytes> paths) throws SQLException {
      var ids = new HashMap<Bytes, Long>();
      for (var path : paths) {
        statements.number(cellAt(), path.toArray()).ifPresent(id -> ids.put(path, id));
      }
      return ids;
    }

    @Override
    RowWriter rows(Statements statements, String table, int columns) {
      var marks = String.join(", ", Collections.nCopies(columns, "?"));
      var insert = "insert into %s values (%s)".formatted(table, marks);
      return new RowWriter() {
        private int collected;

        @Override
        public void add(@Nullable Object... values) throws SQLException {
          statements.batch(insert, values);
          if (++collected == COLLECTED) {
            flush();
          }
        }

        @Override
        public void flush() throws SQLException {
          statements.of(insert).executeBatch();
          collected = 0;
        }
      };
    }

    @Override
    long size(Connection connection) throws SQLException {
      long pages =
          number(connection, "pragma page_count") - number(connection, "pragma freelist_count");
      return pages * number(connection, "pragma page_size");
    }

    @Override
    public String toString() {
      return file.toString();
    }
  }

  /** A schema of PostgreSQL. */
  private static final class Postgres extends TraceDatabase {
    private static final Duration CONNECT_PATIENCE = Duration.ofSeconds(10);

    /** Of an index's row there may be 2,704 bytes. */
    private static final int LONGEST_INDEXED = 1_024;

    /** A server that says nothing for so long has gone: no statement takes that long. */
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** They hold whatever a client says. */
    private static final Set<String> ENCODINGS = Set.of("UTF8", "SQL_ASCII");

    private final String url;

    private Postgres(String url) {
      this.url = url;
    }

    @Override
    Connection connect() throws SQLException {
      var connection = open();
      try {
        checkEncoding(connection);
        // As with SQLite: what is lost is still in the spool.
        execute(connection, "set synchronous_commit = off");
        return connection;
      } catch (SQLException | RuntimeException e) {
        connection.close();
        throw e;
      }
    }

    /** In another encoding there are texts that it takes not: one client could stop the loader. */
    private void checkEncoding(Connection connection) throws SQLException {
      try (var statement = connection.createStatement();
          var found = statement.executeQuery("show server_encoding")) {
        found.next();
        var encoding = found.getString(1);
        if (!ENCODINGS.contains(encoding)) {
          throw new TraceException(
              "The database of the trace in %s has the encoding %s, which does not hold all texts;"
                      .formatted(this, encoding)
                  + " name one that was made with encoding 'UTF8'");
        }
      }
    }

    @Override
    Connection reader() throws SQLException {
      var connection = open();
      connection.setReadOnly(true);
      // A transaction reads from one state of the trace, as it does with SQLite.
      connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      return connection;
    }

    private Connection open() throws SQLException {
      try {
        return connected();
      } catch (SQLException e) {
        throw shown(e);
      }
    }

    /** The same as it may be shown: drivers say of a URL that they cannot read what it is. */
    private SQLException shown(SQLException e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        var message = String.valueOf(cause.getMessage());
        if (!shown(message).equals(message)) {
          var shown =
              new SQLException(
                  shown(String.valueOf(e.getMessage())), e.getSQLState(), e.getErrorCode());
          shown.setStackTrace(e.getStackTrace());
          return shown;
        }
      }
      return e;
    }

    private String shown(String message) {
      return message
          .replace(url, masked(url))
          .replaceAll("(?i)password=[^&\\s]*", "password=*")
          .replaceAll("//[^/?\\s]*@", "//*@");
    }

    /** What the URL says of these comes first. */
    private Connection connected() throws SQLException {
      var properties = new Properties();
      properties.setProperty("ApplicationName", "evergreen trace");
      properties.setProperty("tcpKeepAlive", "true");
      properties.setProperty("connectTimeout", Long.toString(CONNECT_PATIENCE.toSeconds()));
      properties.setProperty("socketTimeout", Long.toString(PATIENCE.toSeconds()));
      return DriverManager.getConnection(url, properties);
    }

    @Override
    String schema() {
      return tables("bigint", "bytea", "", "", "")
          + "; create unique index if not exists cell_place on cell (%s, %s)"
              .formatted(head("path"), whole("path"));
    }

    /** What of a path is in the index. */
    private static String head(String path) {
      return "(substring(%s for %d))".formatted(path, LONGEST_INDEXED);
    }

    /** And beside that of a longer one a hash, else nothing. */
    private static String whole(String path) {
      return "(case when length(%1$s) > %2$d then sha256(%1$s) else '' end)"
          .formatted(path, LONGEST_INDEXED);
    }

    /** Its index of whole paths takes none that is long and cannot be compressed. */
    @Override
    void renew(Connection connection) throws SQLException {
      if (number(
              connection,
              "select count(*) from pg_constraint"
                  + " where conname = 'cell_path_key' and conrelid = 'cell'::regclass")
          > 0) {
        execute(connection, "alter table cell drop constraint cell_path_key");
      }
    }

    @Override
    String cellAt() {
      return "select id from cell, (select ?::bytea as path) wanted where %s = %s and %s = %s"
          .formatted(
              head("cell.path"), head("wanted.path"), whole("cell.path"), whole("wanted.path"));
    }

    @Override
    String cellsBetween(String column) {
      return """
      select %1$s from cell, (select ?::bytea as low, ?::bytea as high) wanted
      where %2$s >= %3$s and %2$s <= %4$s and path >= low and path < high order by %2$s, path
      """
          .formatted(column, head("path"), head("low"), head("high"));
    }

    @Override
    void commitDurably(Connection connection) throws SQLException {
      connection.commit();
      execute(connection, "set local synchronous_commit = on");
      execute(connection, "update trace set version = version");
      connection.commit();
    }

    @Override
    Map<Bytes, Long> cells(Statements statements, Collection<Bytes> paths) throws SQLException {
      var ids = new HashMap<Bytes, Long>();
      var wanted = new ArrayList<byte[]>();
      for (var path : paths) {
        if (path.length() <= LONGEST_INDEXED) {
          wanted.add(path.toArray());
        } else {
          statements.number(cellAt(), path.toArray()).ifPresent(id -> ids.put(path, id));
        }
      }
      statements.each(
          "select path, id from cell where %s = any (?) and %s = ''"
              .formatted(head("path"), whole("path")),
          row -> ids.put(Bytes.of(row.getBytes(1)), row.getLong(2)),
          statements.connection().createArrayOf("bytea", wanted.toArray(byte[][]::new)));
      return ids;
    }

    @Override
    RowWriter rows(Statements statements, String table, int columns) throws SQLException {
      return new PostgresCopy(statements.connection(), table);
    }

    @Override
    long size(Connection connection) throws SQLException {
      return number(
          connection,
          "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r'"
              + " and relnamespace = current_schema::regnamespace");
    }

    @Override
    public String toString() {
      return masked(url);
    }
  }
}
