package dev.evergreen.bench;

import dev.evergreen.bench.load.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A PostgreSQL server of a measurement's own, as it is shipped: in a temporary folder, on a free
 * port of the loopback address. It refuses to run as root, and then runs as {@code postgres}.
 */
final class OwnPostgres implements AutoCloseable {

  private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
  private static final String USER = "postgres";

  private final Path folder;
  private final Path log;
  private final int port;

  private OwnPostgres() throws IOException {
    folder = Files.createTempDirectory("bench-postgres");
    log = Files.createTempFile("bench-postgres", ".log");
    port = Programs.freePort();
  }

  /**
   * Starts one; blocks until it answers.
   *
   * @throws IOException if PostgreSQL is not installed, or does not start; the message says why
   */
  static OwnPostgres start() throws IOException {
    var server = new OwnPostgres();
    if (isRoot()) {
      var users = server.folder.getFileSystem().getUserPrincipalLookupService();
      Files.setOwner(server.folder, users.lookupPrincipalByName(USER));
    }
    server.run(
        "initdb", "-D", server.data(), "-U", USER, "--auth=trust", "--no-locale", "-E", "UTF8");
    Runtime.getRuntime().addShutdownHook(new Thread(server::close));
    server.run(
        "pg_ctl",
        "start",
        "-w",
        "-D",
        server.data(),
        "-o",
        "-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=".formatted(server.port));
    return server;
  }

  private String data() {
    return folder.resolve("data").toString();
  }

  String url() {
    return "jdbc:postgresql://127.0.0.1:%d/postgres?user=%s".formatted(port, USER);
  }

  /**
   * How long each of its processes that live has used a processor so far, in nanoseconds, by their
   * ids. Precise where a process rests; what one that has ended had used is not in it.
   *
   * @throws IOException where the system does not say it, as only Linux does
   */
  Map<Long, Long> processorNanos() throws IOException {
    long main = Long.parseLong(Files.readAllLines(Path.of(data(), "postmaster.pid")).getFirst());
    var nanos = new HashMap<Long, Long>();
    nanos.put(main, processorNanos(main));
    for (var child : ProcessHandle.of(main).orElseThrow().children().toList()) {
      try {
        nanos.put(child.pid(), processorNanos(child.pid()));
      } catch (NoSuchFileException e) {
        // It has ended meanwhile: helpers come and go.
      }
    }
    return nanos;
  }

  /** Each of them has one thread. */
  private static long processorNanos(long process) throws IOException {
    var words = Files.readString(Path.of("/proc", Long.toString(process), "schedstat"));
    return Long.parseLong(words.substring(0, words.indexOf(' ')));
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  /** Debian keeps its programs out of the path. */
  private static String program(String name) throws IOException {
    if (!Files.isDirectory(DEBIAN)) {
      return name;
    }
    try (var versions = Files.list(DEBIAN)) {
      return versions
          .map(version -> version.resolve("bin").resolve(name))
          .filter(Files::isExecutable)
          .max(Comparator.naturalOrder())
          .map(Path::toString)
          .orElse(name);
    }
  }

  private void run(String program, String... arguments) throws IOException {
    var words = new ArrayList<String>();
    if (isRoot()) {
      words.addAll(List.of("setpriv", "--reuid=" + USER, "--clear-groups", "--"));
    }
    words.add(program(program));
    words.addAll(List.of(arguments));
    var process =
        new ProcessBuilder(words)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    try {
      if (process.waitFor() != 0) {
        throw new IOException(
            program + " failed, is PostgreSQL installed? It says: " + Files.readString(log));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /** Stops it and takes all away; idempotent. */
  @Override
  public synchronized void close() {
    if (!Files.exists(folder)) {
      return;
    }
    try {
      run("pg_ctl", "stop", "-m", "immediate", "-D", data());
      Folders.delete(folder);
      Files.deleteIfExists(log);
    } catch (IOException e) {
      System.err.println("Something of " + folder + " is left: " + e);
    }
  }
}
