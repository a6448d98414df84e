package dev.evergreen.storage;

import dev.evergreen.core.spi.StorageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * An SQLite file that holds a {@link GrainTable}: its making, its version, its connections. It
 * keeps one connection that only holds the log open: SQLite writes the log back when the last one
 * that has it open is closed, and two that are closed at the same moment may each take the other
 * for the last.
 */
final class SqliteFile implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(SqliteFile.class.getName());

  /** "Evgr": tells our files from those of other programs. */
  private static final int APPLICATION_ID = 0x45766772;

  /** Version 1 had no table of nodes. */
  private static final int VERSION = 2;

  private static final Duration TURN_PATIENCE = Duration.ofSeconds(1);
  private static final long RETRY_NANOS = 1_000_000;

  private final Path path;
  private final Duration patience;
  private final Connection last;
  private final SqliteTurn turn;

  /** The file, its log, and the log's index: without these it lacks what was saved last. */
  private final List<Path> files;

  /** Which files they were that were opened. */
  private final List<Object> identity;

  private volatile boolean lost;

  private SqliteFile(Path path, Duration patience) throws SQLException {
    this.path = path;
    this.patience = patience;
    this.last = prepared(connection());
    try {
      this.files = List.of(path, beside(path, "-wal"), beside(path, "-shm"));
      this.identity = identity();
    } catch (Throwable e) {
      last.close();
      throw e;
    }
    this.turn = new SqliteTurn(path, TURN_PATIENCE);
  }

  /**
   * Makes the file if there is none, and checks it.
   *
   * @param patience how long to wait for another process's lock
   * @throws StorageException if it is none of ours, of a newer version, or not writable
   */
  static SqliteFile open(Path path, Duration patience) {
    var absolute = path.toAbsolutePath();
    if (Files.isDirectory(absolute)) {
      throw new StorageException(cannotOpen(absolute, "it is a directory, name a file in it"));
    }
    var directory = absolute.getParent();
    if (directory == null || !Files.isDirectory(directory)) {
      throw new StorageException(
          cannotOpen(absolute, "there is no directory " + directory + ", make it first"));
    }
    long deadline = System.nanoTime() + patience.toNanos();
    while (true) {
      try {
        return new SqliteFile(absolute, patience);
      } catch (SQLException e) {
        // SQLite does not wait for a lock when it turns the write-ahead log on.
        if (code(e) != SQLiteErrorCode.SQLITE_BUSY.code || System.nanoTime() - deadline >= 0) {
          throw new StorageException(cannotOpen(absolute, reason(e)), e);
        }
        LockSupport.parkNanos(RETRY_NANOS);
      }
    }
  }

  /**
   * A connection of its own, as a table.
   *
   * @param saves whether it is for saves; else it is for loads
   */
  GrainTable connect(boolean saves) throws SQLException {
    // Else SQLite would make an empty file there, and delete the log of the one that was moved.
    checkInPlace();
    var connection = connection();
    try {
      if (saves) {
        SqliteTurn.waitOften(connection, patience);
      }
      checkInPlace();
      return new GrainTable(connection, turn, this::checkInPlace);
    } catch (Throwable e) {
      connection.close();
      throw e;
    }
  }

  /**
   * SQLite goes on with a file that has no name any more, where nobody would find what was saved.
   * It is not enough to put it back: another one may have had its log meanwhile.
   */
  private void checkInPlace() throws SQLException {
    if (!identity.equals(identity())) {
      lost = true;
    }
    if (lost) {
      throw new SQLException(
          "the file or its log was moved, deleted or replaced while it was open; start the program anew");
    }
  }

  private List<Object> identity() throws SQLException {
    var all = new ArrayList<Object>();
    for (var file : files) {
      all.add(identity(file));
    }
    return all;
  }

  /** SQLite has its log where the file really is, also if that was opened by a link. */
  private static Path beside(Path path, String suffix) throws SQLException {
    try {
      var real = path.toRealPath();
      return real.resolveSibling(real.getFileName() + suffix);
    } catch (IOException e) {
      throw new SQLException("the file cannot be looked at: " + e, e);
    }
  }

  /** The same for all where files have nothing to be known by. */
  private static Object identity(Path file) throws SQLException {
    try {
      var key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
      return key == null ? "" : key;
    } catch (NoSuchFileException e) {
      return "no file";
    } catch (IOException e) {
      throw new SQLException("the file cannot be looked at: " + e, e);
    }
  }

  /** With the settings that a connection has to this file. */
  Connection connection() throws SQLException {
    var config = new SQLiteConfig();
    config.setBusyTimeout(Math.toIntExact(patience.toMillis()));
    // FULL: a commit is on the disk before it is acknowledged. NORMAL would lose the last commits
    // at a power failure, and gains little once many saves share a commit.
    config.setSynchronous(SQLiteConfig.SynchronousMode.FULL);
    // Otherwise the driver asks for the last row id after each statement.
    config.setGetGeneratedKeys(false);
    // As a URI, for the driver takes whatever follows a question mark in a plain path for settings.
    var connection = config.createConnection("jdbc:sqlite:" + path.toUri());
    try (var statement = connection.createStatement()) {
      // On macOS fsync alone leaves the data in the drive's cache; no effect elsewhere. The word
      // that the driver has for it is one that SQLite does not know.
      statement.executeUpdate("pragma fullfsync = true");
      return connection;
    } catch (Throwable e) {
      connection.close();
      throw e;
    }
  }

  // With row ids: without them, states of 3,000 bytes were saved and loaded at half the rate.
  private Connection prepared(Connection connection) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.executeUpdate("begin immediate");
      refuseForeign(statement);
      statement.executeUpdate(
          """
          create table if not exists grain_state (
            type blob not null,
            key blob not null,
            revision integer not null,
            state blob not null,
            primary key (type, key)
          ) strict""");
      statement.executeUpdate(
          """
          create table if not exists grain_node (
            cluster text not null,
            address text not null,
            incarnation integer not null,
            primary key (cluster, address, incarnation)
          ) strict, without rowid""");
      statement.executeUpdate("pragma application_id = " + APPLICATION_ID);
      statement.executeUpdate("pragma user_version = " + VERSION);
      statement.executeUpdate("commit");
      if (!"wal".equals(text(statement, "pragma journal_mode = wal"))) {
        throw new StorageException(
            cannotOpen(path, "its file system allows no write-ahead log, use a local one"));
      }
      // A connection opens the log when it first reads with it.
      text(statement, "select count(*) from sqlite_schema");
      return connection;
    } catch (SQLException | StorageException e) {
      connection.close();
      throw e;
    }
  }

  private void refuseForeign(Statement statement) throws SQLException {
    int application = Integer.parseInt(text(statement, "pragma application_id"));
    int version = Integer.parseInt(text(statement, "pragma user_version"));
    boolean empty = text(statement, "select count(*) from sqlite_schema").equals("0");
    if (application != APPLICATION_ID && !(application == 0 && version == 0 && empty)) {
      throw new StorageException(
          cannotOpen(path, "it is another program's database, name another file"));
    }
    if (version > VERSION) {
      throw new StorageException(
          cannotOpen(
              path, "its version is %d, this program knows up to %d".formatted(version, VERSION)));
    }
  }

  private static String cannotOpen(Path path, String reason) {
    return "Cannot open %s: %s".formatted(path, reason);
  }

  private static String text(Statement statement, String query) throws SQLException {
    try (var row = statement.executeQuery(query)) {
      row.next();
      return row.getString(1);
    }
  }

  private static String reason(SQLException e) {
    return switch (SQLiteErrorCode.getErrorCode(code(e))) {
      case SQLITE_NOTADB -> "it is no SQLite database, name another file";
      case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM ->
          "it cannot be written, check the permissions of the file and its directory";
      case SQLITE_BUSY -> "another process keeps it locked";
      default -> e.toString();
    };
  }

  /** The primary code: the driver gives extended ones. */
  private static int code(SQLException e) {
    return e instanceof SQLiteException sqlite ? sqlite.getResultCode().code & 0xFF : 0;
  }

  /** To be called when all other connections are closed; writes the log back into the file. */
  @Override
  public void close() {
    turn.close();
    try {
      last.close();
    } catch (SQLException e) {
      LOG.log(System.Logger.Level.WARNING, path + ": closing failed; nothing is lost by it", e);
    }
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
