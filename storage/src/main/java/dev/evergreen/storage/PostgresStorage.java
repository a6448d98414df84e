package dev.evergreen.storage;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.zaxxer.hikari.HikariDataSource;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps states in a PostgreSQL database, for any number of processes on any number of machines.
 *
 * <p><b>What is promised.</b> A save that returned is committed, and on the server's disk if its
 * {@code fsync} is on; per revision of a grain one save succeeds among all processes. After a
 * failover to a replica the same holds only if replication is synchronous.
 *
 * <p><b>How.</b> Callers hand their requests to a few threads, each with a connection at a time. A
 * thread takes what waits, up to a bound, and saves or loads it by one statement: the way to the
 * server and the forced write to its disk are paid once for all who wait at that moment. At most
 * 1,024 saves and as many loads wait inside, further callers wait for room.
 *
 * <p><b>When it fails.</b> A connection that breaks leaves the saves of its statement unknown, and
 * they fail with a {@link StorageException}; loads are tried again. A save that conflicts, or that
 * the server refuses, fails alone. While the database is away, every caller waits for it for as
 * long as the patience and then gets a {@link StorageException}; when it is back, work goes on.
 *
 * <p><b>Interrupts.</b> A caller that is interrupted while it waits gets a {@link StorageException}
 * and keeps its interrupt flag; its save may still happen.
 */
public final class PostgresStorage implements Storage {

  // Measured: larger batches gained nothing.
  private static final int SAVES_AT_ONCE = 256;
  private static final long LARGE_STATEMENT_BYTES = 4L << 20;
  private static final int LOADS_AT_ONCE = 16;

  private final Settings settings;
  private final HikariDataSource pool;
  private final Workers workers;
  private final PostgresNodes nodes;

  @GuardedBy("this")
  private boolean fenced;

  private PostgresStorage(Settings settings, HikariDataSource pool) {
    this.settings = settings;
    this.pool = pool;
    workers = new Workers("postgres", settings.place(), settings.patience());
    var connections = new PostgresConnections(pool, settings.patience());
    nodes = new PostgresNodes(connections);
    var table = new PostgresTable(connections);
    int saving = settings.connections() / 2;
    for (int i = 0; i < saving; i++) {
      workers.startSaving(SAVES_AT_ONCE, LARGE_STATEMENT_BYTES, table::save);
    }
    for (int i = saving; i < settings.connections(); i++) {
      workers.startLoading(LOADS_AT_ONCE, table::load);
    }
  }

  /** Opens the database with the settings' defaults: see {@link #open(Settings)}. */
  public static PostgresStorage open(String url) {
    return open(Settings.of(url));
  }

  /**
   * Opens the database, and makes its tables {@code grain_state}, {@code grain_node} and {@code
   * grain_state_version} if they do not exist. Blocks while it cannot be reached, for as long as
   * the patience.
   *
   * @throws StorageException if it cannot be reached, refuses the user, holds tables of these names
   *     that are another program's, or was written by a newer version of this program
   */
  public static PostgresStorage open(Settings settings) {
    return new PostgresStorage(settings, PostgresDatabase.open(settings));
  }

  @Override
  public Optional<Stored> load(GrainId grain) {
    return workers.load(grain);
  }

  @Override
  public long save(GrainId grain, long expected, byte[] state) {
    return workers.save(grain, expected, state, null);
  }

  /**
   * A row for each node that is alive. A statement that saves looks whether its node's is there,
   * and giving a node up waits for those that are under way ({@link PostgresNodes}).
   */
  @Override
  public synchronized Optional<Fence> fence(String cluster) {
    if (!fenced) {
      fenced = true;
      workers.startFence(nodes::answer);
    }
    return Optional.of(new DatabaseFence(cluster, workers, nodes));
  }

  /** Does what was asked before; blocks until then, at most for about the patience. */
  @Override
  public synchronized void close() {
    workers.close();
    pool.close();
  }

  @Override
  public String toString() {
    return "PostgresStorage[" + settings.place() + "]";
  }

  /**
   * Where the database is and how it is used.
   *
   * @param url {@code jdbc:postgresql://host:port/database}, with the driver's parameters, if any:
   *     {@code currentSchema} says in which schema the tables are, {@code sslmode} and {@code
   *     sslrootcert} how the server proves itself
   * @param user if null, the URL's or the operating system's
   * @param password if null, the URL's or that of the file {@code ~/.pgpass}
   * @param connections how many are open at most, at least 2: half of them save, the others load
   * @param patience how long a caller waits for an answer at most, the database's coming back
   *     included; from 250 ms to 10 minutes
   */
  public record Settings(
      String url,
      @Nullable String user,
      @Nullable String password,
      int connections,
      Duration patience) {

    /** What the variables of a database begin with, in the environment. */
    public static final String VARIABLES = "EVERGREEN_POSTGRES_";

    private static final String PREFIX = "jdbc:postgresql:";

    /** The driver's former word, too. */
    private static final Set<String> PRIMARIES = Set.of(PostgresDatabase.PRIMARY, "master");

    private static final Duration LEAST_PATIENCE = Duration.ofMillis(250);

    /** As URLs of other kinds have it; the driver would tell it when it refuses it. */
    private static final Pattern USER_IN_URL = Pattern.compile(PREFIX + "[^?]*@");

    private static final Duration MOST_PATIENCE = Duration.ofMinutes(10);

    /** Checks them. */
    public Settings {
      if (!url.startsWith(PREFIX)) {
        throw new IllegalArgumentException(
            "'%s' is no URL of a PostgreSQL database, such as %s//localhost:5432/chirper"
                .formatted(place(url), PREFIX));
      }
      if (USER_IN_URL.matcher(url).lookingAt()) {
        throw new IllegalArgumentException(
            "The URL must be as %s//localhost:5432/chirper, without a user before the host: give user and password by themselves"
                .formatted(PREFIX));
      }
      var servers = servers(url);
      if (!PRIMARIES.contains(servers)) {
        throw new IllegalArgumentException(
            "%s must be primary, not %s: a replica may not have what was acknowledged"
                .formatted(PostgresDatabase.SERVER_TYPE, servers));
      }
      if (connections < 2) {
        throw new IllegalArgumentException(
            "At least 2 connections are needed, one to save and one to load, not " + connections);
      }
      if (patience.compareTo(LEAST_PATIENCE) < 0 || patience.compareTo(MOST_PATIENCE) > 0) {
        throw new IllegalArgumentException(
            "The patience must be from %s to %s, not %s"
                .formatted(LEAST_PATIENCE, MOST_PATIENCE, patience));
      }
    }

    /** Which of several servers the driver would take. */
    private static String servers(String url) {
      var given = new Properties();
      given.setProperty(PostgresDatabase.SERVER_TYPE, PostgresDatabase.PRIMARY);
      try {
        return Stream.of(DriverManager.getDriver(url).getPropertyInfo(url, given))
            .filter(property -> property.name.equals(PostgresDatabase.SERVER_TYPE))
            .map(property -> property.value)
            .findFirst()
            .orElse(PostgresDatabase.PRIMARY);
      } catch (SQLException e) {
        // Whoever opens it is told.
        return PostgresDatabase.PRIMARY;
      }
    }

    /** The user and password of the URL, 4 connections, and a patience of 10 seconds. */
    public static Settings of(String url) {
      return new Settings(url, null, null, 4, Duration.ofSeconds(10));
    }

    /**
     * What stands in a file of Java properties, with the keys {@code url}, which must be there,
     * {@code user}, {@code password}, {@code connections} and {@code patience}.
     *
     * @throws IllegalArgumentException if a key is not known or a value makes no sense; the message
     *     names the key and the file
     * @throws java.io.UncheckedIOException if the file cannot be read
     */
    public static Settings configuredBy(Path file) {
      return configuredBy(dev.evergreen.settings.Settings.of(file));
    }

    /**
     * What stands in the environment: each key of {@link #configuredBy(Path)} in capitals behind
     * {@value #VARIABLES}.
     *
     * @throws IllegalArgumentException if a variable is not known or its value makes no sense; the
     *     message names it
     */
    public static Settings configuredByEnvironment() {
      return configuredBy(dev.evergreen.settings.Settings.of(System.getenv(), VARIABLES));
    }

    static Settings configuredBy(dev.evergreen.settings.Settings given) {
      given.knowOnly(dev.evergreen.settings.Settings.keysOf(Settings.class, ""));
      var _ = given.needed("url");
      return given.changed(of(PREFIX), ""); // without a URL of its own, as one is given
    }

    /** With this user. */
    public Settings withUser(String name, String password) {
      return new Settings(url, name, password, connections, patience);
    }

    /** With at most so many connections. */
    public Settings withConnections(int number) {
      return new Settings(url, user, password, number, patience);
    }

    /** With this patience. */
    public Settings withPatience(Duration duration) {
      return new Settings(url, user, password, connections, duration);
    }

    /** The URL without its parameters, which may hold a password. */
    String place() {
      return place(url);
    }

    private static String place(String url) {
      int parameters = url.indexOf('?');
      var place = parameters < 0 ? url : url.substring(0, parameters);
      return place.replaceFirst("//[^/]*@", "//"); // as who is used to other URLs writes them
    }

    /** Tells no password. */
    @Override
    public String toString() {
      return "Settings[%s, user %s, %d connections, patience %s]"
          .formatted(place(), user == null ? "of the URL" : user, connections, patience);
    }
  }
}
