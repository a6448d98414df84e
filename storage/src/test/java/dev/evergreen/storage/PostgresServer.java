package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.settings.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real PostgreSQL server of these tests' own: in a temporary directory, on a free port of the
 * loopback address, as a user without privileges. It starts when the first test asks for it and
 * lives until this process ends. Where PostgreSQL is not installed, that test is skipped.
 */
public final class PostgresServer {

  public static final String USER = "evergreen";
  public static final String PASSWORD = "not a 'secret'";

  private static final Path SETPRIV = Path.of("/usr/bin/setpriv");
  private static final AtomicInteger SCHEMAS = new AtomicInteger();
  private static @Nullable PostgresServer only;

  private final Path binaries;
  private final Path directory;
  private final int port;
  private Process process;

  private PostgresServer(Path binaries) throws Exception {
    this.binaries = binaries;
    directory = Files.createTempDirectory("evergreen-postgres");
    port = FreePorts.next();
    var password = Files.writeString(directory.resolve("password"), PASSWORD);
    if (isRoot()) {
      for (var path : List.of(directory, password)) {
        Files.setOwner(
            path,
            path.getFileSystem()
                .getUserPrincipalLookupService()
                .lookupPrincipalByName(unprivileged()));
      }
    }
    process =
        command(
            "initdb",
            "--pgdata=" + directory.resolve("data"),
            "--username=" + USER,
            "--pwfile=" + password,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync");
    Runtime.getRuntime().addShutdownHook(new Thread(this::remove));
    assertEquals(0, process.waitFor(), () -> "initdb failed: " + log());
    process = launch();
    awaitReady();
  }

  /** The server; it runs. */
  public static synchronized PostgresServer get() throws Exception {
    if (only == null) {
      var found = find();
      assumeTrue(
          found.isPresent(), "PostgreSQL is not installed (Debian: apt-get install postgresql)");
      only = new PostgresServer(found.get());
    }
    return only;
  }

  /** Where its programs are: Debian keeps them out of the path. */
  private static Optional<Path> find() throws IOException {
    var places = new ArrayList<Path>();
    var debian = Path.of("/usr/lib/postgresql");
    if (Files.isDirectory(debian)) {
      try (var versions = Files.list(debian)) {
        versions.map(version -> version.resolve("bin")).forEach(places::add);
      }
    }
    Arrays.stream(System.getenv().getOrDefault("PATH", "").split(":"))
        .map(Path::of)
        .forEach(places::add);
    return places.stream()
        .filter(
            place ->
                Files.isExecutable(place.resolve("initdb"))
                    && Files.isExecutable(place.resolve("postgres")))
        .findFirst();
  }

  /** The URL of a new schema, with user and password in it. */
  public String newSchema() throws SQLException {
    var schema = "test" + SCHEMAS.incrementAndGet();
    execute("create schema " + schema);
    return "%s?currentSchema=%s&user=%s&password=%s"
        .formatted(url(), schema, USER, PASSWORD.replace(" ", "%20").replace("'", "%27"));
  }

  /** The URL without anything. */
  String url() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
  }

  /** A connection that commits each statement. */
  Connection connect() throws SQLException {
    return DriverManager.getConnection(url(), USER, PASSWORD);
  }

  void execute(String sql) throws SQLException {
    try (var connection = connect();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Stops it at once, in the midst of whatever it does; it will have to recover. */
  public void stopImmediately() throws Exception {
    signal("QUIT", List.of(process.pid()));
    assertTrue(process.waitFor(30, TimeUnit.SECONDS), "it did not stop");
  }

  /**
   * Stops those of its processes that serve the storage now: they keep their connections and locks,
   * and say nothing. The server itself goes on, and answers new connections.
   *
   * @return what lets them go on
   */
  AutoCloseable hang() throws Exception {
    var serving = new ArrayList<Long>();
    try (var connection = connect();
        var statement = connection.createStatement();
        var row =
            statement.executeQuery(
                "select pid from pg_stat_activity where application_name = 'evergreen'")) {
      while (row.next()) {
        serving.add(row.getLong(1));
      }
    }
    assertFalse(serving.isEmpty(), "nobody is served");
    signal("STOP", serving);
    return () -> signal("CONT", serving);
  }

  /** Kills all its processes, also those that hang, and starts it again at the same port. */
  void failOver() throws Exception {
    signal("STOP", List.of(process.pid())); // so that it makes no more that would outlive it
    var others = process.toHandle().descendants().toList();
    process.destroyForcibly();
    others.forEach(ProcessHandle::destroyForcibly);
    assertTrue(process.waitFor(30, TimeUnit.SECONDS), "it did not die");
    start();
  }

  /** Starts it after a stop, and waits until it answers. */
  public void start() throws Exception {
    process = launch();
    awaitReady();
  }

  private Process launch() throws IOException {
    return command(
        "postgres",
        "-D",
        directory.resolve("data").toString(),
        "-p",
        Integer.toString(port),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
        "-c",
        // Processes are killed here, and no machine: what was written is with the system then.
        "fsync=off");
  }

  private void awaitReady() throws Exception {
    while (true) {
      try (var _ = connect()) {
        return;
      } catch (SQLException e) {
        assertTrue(process.isAlive(), () -> "it did not start: " + log());
        Thread.sleep(20);
      }
    }
  }

  /** Starts one of its programs, which refuse to be root. */
  private Process command(String program, String... arguments) throws IOException {
    var words = new ArrayList<String>();
    if (isRoot()) {
      assumeTrue(
          Files.isExecutable(SETPRIV), "PostgreSQL refuses to be root, and there is no " + SETPRIV);
      words.addAll(
          List.of(SETPRIV.toString(), "--reuid=" + unprivileged(), "--clear-groups", "--"));
    }
    words.add(binaries.resolve(program).toString());
    words.addAll(List.of(arguments));
    return new ProcessBuilder(words)
        .directory(directory.toFile())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve("log").toFile()))
        .start();
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private static String unprivileged() throws IOException {
    try (var users = Files.lines(Path.of("/etc/passwd"))) {
      return users.anyMatch(user -> user.startsWith("postgres:")) ? "postgres" : "nobody";
    }
  }

  private String log() {
    try {
      return Files.readString(directory.resolve("log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Sends a signal to those that are still there. */
  private static void signal(String name, List<Long> processes) throws Exception {
    var words = new ArrayList<>(List.of("kill", "-" + name));
    processes.forEach(pid -> words.add(Long.toString(pid)));
    new ProcessBuilder(words).start().waitFor();
  }

  private void remove() {
    try {
      if (process.isAlive()) {
        stopImmediately();
      }
      try (Stream<Path> files = Files.walk(directory)) {
        for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    } catch (Exception e) {
      System.err.println("Removing " + directory + ": " + e);
    }
  }
}
