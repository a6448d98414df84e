package dev.evergreen.storage;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.SQLExceptionOverride;
import dev.evergreen.core.spi.StorageException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * A PostgreSQL database that holds a {@link PostgresTable} and {@link PostgresNodes}: its making,
 * its version, its pool.
 */
final class PostgresDatabase {

  /** Version 1 had no table of nodes, version 2 did not keep who was given up. */
  private static final int VERSION = 3;

  /** "Evgr": who makes the tables holds this lock. */
  private static final int MAKING = 0x45766772;

  /** The driver's parameter that says which of several servers is taken. */
  static final String SERVER_TYPE = "targetServerType";

  static final String PRIMARY = "primary";

  private static final long RETRY_NANOS = 100_000_000;

  /** In which saves get through that have waited behind a change of their table. */
  private static final long REST_NANOS = 1_000_000_000;

  /** What a server that ends, starts or restarts answers, and one that has no connection left. */
  private static final Set<String> PASSING =
      Set.of("08001", "08004", "08006", "57P01", "57P02", "57P03", "53300");

  /** A lock was not had in time. */
  private static final String LOCKED = "55P03";

  private static final long FIRST_WAIT_MILLIS = 200;

  private final PostgresStorage.Settings settings;

  private PostgresDatabase(PostgresStorage.Settings settings) {
    this.settings = settings;
  }

  /**
   * Makes the tables if there are none, and checks them.
   *
   * @return connections to it
   * @throws StorageException if that did not work within the patience
   */
  static HikariDataSource open(PostgresStorage.Settings settings) {
    var database = new PostgresDatabase(settings);
    database.prepare();
    return new HikariDataSource(database.pool());
  }

  private void prepare() {
    long deadline = System.nanoTime() + settings.patience().toNanos();
    long longest = settings.patience().dividedBy(4).toMillis();
    long wait = FIRST_WAIT_MILLIS;
    while (true) {
      try (var connection = DriverManager.getConnection(settings.url(), properties())) {
        // What another has made must be seen once it was waited for.
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        connection.setAutoCommit(false);
        prepare(connection, wait);
        connection.commit();
        return;
      } catch (SQLException e) {
        boolean locked = LOCKED.equals(e.getSQLState());
        boolean passing = locked || (e.getSQLState() != null && PASSING.contains(e.getSQLState()));
        if (!passing || System.nanoTime() - deadline >= 0) {
          throw new StorageException(cannotOpen(locked ? whyLocked(e) : e.toString()), e);
        }
        LockSupport.parkNanos(locked ? REST_NANOS : RETRY_NANOS);
        wait = Math.min(nextWait(wait, locked), longest);
      }
    }
  }

  /** Longer only after it was too short: all who save wait meanwhile, too. */
  static long nextWait(long wait, boolean locked) {
    return locked ? 2 * wait : wait;
  }

  private static String whyLocked(SQLException e) {
    return "its table grain_node is to be changed for this version, but another session holds it, a"
        + " dump or a transaction that has not ended: start again when that has ended ("
        + e.getMessage()
        + ")";
  }

  /**
   * Makes the tables, or changes them.
   *
   * @param wait for how many milliseconds a table to be changed is waited for: meanwhile all wait
   *     who save, as they do for each other's commits
   */
  private void prepare(Connection connection, long wait) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute("set local statement_timeout = " + settings.patience().toMillis());
      // Two that make the same table at the same time would fail, "if not exists" or not.
      statement.execute("select pg_advisory_xact_lock(" + MAKING + ")");
      int version = version(statement);
      if (version < 1) {
        makeStates(statement);
      }
      if (version < 2) {
        makeNodes(statement);
      }
      if (version < VERSION) {
        statement.execute("set local lock_timeout = " + Math.max(1, wait));
        statement.execute("alter table grain_node add column gone timestamptz");
        statement.execute("update grain_state_version set version = " + VERSION);
      }
    }
  }

  /** Of the tables that are there; 0 if there are none. */
  private int version(Statement statement) throws SQLException {
    boolean states = exists(statement, "grain_state");
    if (exists(statement, "grain_state_version")) {
      return knownVersion(statement);
    }
    if (states) {
      throw new StorageException(
          cannotOpen("its table grain_state is another program's, name another database"));
    }
    return 0;
  }

  private static boolean exists(Statement statement, String table) throws SQLException {
    try (var row = statement.executeQuery("select to_regclass('" + table + "') is not null")) {
      row.next();
      return row.getBoolean(1);
    }
  }

  private int knownVersion(Statement statement) throws SQLException {
    try (var row = statement.executeQuery("select max(version) from grain_state_version")) {
      row.next();
      int version = row.getInt(1);
      if (version > VERSION) {
        throw new StorageException(
            cannotOpen(
                "its version is %d, this program knows up to %d".formatted(version, VERSION)));
      }
      return version;
    }
  }

  private static void makeStates(Statement statement) throws SQLException {
    statement.execute(
        """
        create table grain_state (
          id bytea primary key,
          type bytea not null,
          key bytea not null,
          revision bigint not null,
          state bytea not null
        )\
        """);
    statement.execute("create table grain_state_version (version integer not null)");
    statement.execute("insert into grain_state_version values (1)");
  }

  private static void makeNodes(Statement statement) throws SQLException {
    statement.execute(
        """
        create table grain_node (
          cluster text not null,
          address text not null,
          incarnation bigint not null,
          alive boolean not null,
          primary key (cluster, address, incarnation)
        )\
        """);
  }

  /** Gives connections to servers up that take no writes. */
  private static final class LeavingReplicas implements SQLExceptionOverride {
    private static final String READ_ONLY = "25006";

    @java.lang.Override
    public Override adjudicate(SQLException e) {
      return READ_ONLY.equals(e.getSQLState()) ? Override.MUST_EVICT : Override.CONTINUE_EVICT;
    }
  }

  private HikariConfig pool() {
    var config = new HikariConfig();
    config.setPoolName("evergreen-postgres");
    config.setJdbcUrl(settings.url());
    config.setDataSourceProperties(properties());
    config.setMaximumPoolSize(settings.connections());
    // A little sooner than the callers lose patience, who then learn why there is no connection.
    config.setConnectionTimeout(Math.max(250, settings.patience().toMillis() * 9 / 10));
    config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
    // The database was there a moment ago; if it is away now, the first requests wait for it.
    config.setInitializationFailTimeout(-1);
    // One that has become a replica refuses all saves, and a load from it may not be the latest.
    config.setExceptionOverride(new LeavingReplicas());
    // A lock that somebody else holds must not keep a connection for ever. And what is acknowledged
    // is on the disk, whatever the server's configuration says of other programs. A statement is
    // planned once, for all values, which does not change when it locks and when it looks; and by
    // the index, as a plan for a table that was small would be kept when it has grown. What has no
    // index seems so dear then that it would be compiled. Old servers do not know all of these.
    config.setConnectionInitSql(
        """
        select set_config('statement_timeout', '%d', false),
          set_config('synchronous_commit',
            case current_setting('synchronous_commit') when 'off' then 'on'
              else current_setting('synchronous_commit') end, false),
          (select count(set_config(name, value, false)) from pg_settings
            join (values ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'),
              ('jit', 'off')) as known (key, value) on key = name)\
        """
            .formatted(settings.patience().toMillis()));
    return config;
  }

  /** For the driver, as far as the URL says nothing else. */
  private Properties properties() {
    var properties = new Properties();
    if (settings.user() != null) {
      properties.setProperty("user", settings.user());
    }
    if (settings.password() != null) {
      properties.setProperty("password", settings.password());
    }
    var seconds = settings.patience().plusSeconds(1).toSeconds();
    properties.setProperty("ApplicationName", "evergreen");
    // Also of one server: the address may still lead to the former one, a replica now.
    properties.setProperty(SERVER_TYPE, PRIMARY);
    properties.setProperty("connectTimeout", Long.toString(seconds));
    // For a server that is gone without a word. One that is there ends a statement before.
    properties.setProperty("socketTimeout", Long.toString(seconds + 5));
    properties.setProperty("tcpKeepAlive", "true");
    return properties;
  }

  private String cannotOpen(String reason) {
    return "Cannot open %s: %s".formatted(settings.place(), reason);
  }
}
