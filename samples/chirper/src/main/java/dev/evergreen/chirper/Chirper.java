package dev.evergreen.chirper;

import dev.evergreen.core.GrainException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.settings.Signals;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The command line of Chirper. */
@Command(
    name = "chirper",
    description = "A small social network in the browser, on 127.0.0.1.",
    mixinStandardHelpOptions = true,
    subcommands = {Chirper.Generate.class, ChirperNode.class})
public final class Chirper implements Callable<Integer> {

  /** UTF-8 whatever the locale says: the bar and people's texts need it. */
  private static final PrintStream ERR =
      new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);

  /** What the line begins with that says where the page is. */
  static final String ANNOUNCEMENT = "Chirper is at ";

  /** What the line begins with that says where the dashboard is. */
  static final String OPERATIONS = "What it does is shown at ";

  private static final int MAX_PORT = 0xFFFF;
  private static final int MOST_NODES = 16;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = "8080",
      description = "The port of the page; 0 for any free one. Default: ${DEFAULT-VALUE}.")
  private int port;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      defaultValue = "data",
      description = "Where everything is kept; made if needed. Default: ${DEFAULT-VALUE}.")
  private Path data = Path.of("data");

  @Option(
      names = "--import",
      paramLabel = "DIR",
      description = "First loads follows.tsv and posts.tsv from this directory.")
  private @Nullable Path files;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      description =
          "Runs as N processes, each with a page; --port is the first one's, the others' follow.")
  private @Nullable Integer nodes;

  @Option(
      names = "--jdbc",
      paramLabel = "URL",
      description = "Keeps people and posts in this PostgreSQL database, not in --data.")
  private @Nullable String jdbc;

  @Option(
      names = "--memcached",
      paramLabel = "PORT",
      description =
          "Also serves timeline:NAME, posts:NAME and profile:NAME to clients of memcached at this"
              + " port of 127.0.0.1; with --nodes it is the first one's, the others' follow.")
  private @Nullable Integer memcached;

  @Option(
      names = "--operations",
      paramLabel = "PORT",
      description =
          "Also serves /dashboard, /metrics, /health/live and /health/ready at this port of"
              + " 127.0.0.1; with --nodes it is the first one's, the others' follow.")
  private @Nullable Integer operations;

  @Option(names = "--restart", description = "Starts a process of --nodes again that has died.")
  private boolean restart;

  private Chirper() {}

  /**
   * Runs until SIGINT or SIGTERM, and then exits with 0; with 1 after a failure, with 2 for a wrong
   * command line, and with 128 and the signal's number for an import that was not ended.
   */
  public static void main(String[] arguments) {
    var line =
        new CommandLine(new Chirper())
            .setExecutionExceptionHandler((failure, failed, parsed) -> explain(failure));
    try {
      System.exit(line.execute(arguments));
    } catch (Error e) {
      // Other threads would keep a process that does nothing more.
      e.printStackTrace(ERR);
      System.exit(ExitCode.SOFTWARE);
    }
  }

  /** Failures that a user can do something about are a sentence, all others a stack trace. */
  private static int explain(Exception failure) {
    switch (failure) {
      case NoSuchFileException e -> ERR.println("There is no file " + e.getFile() + ".");
      case IOException e -> ERR.println(e.getMessage());
      case UncheckedIOException e -> ERR.println(e.getMessage());
      case StorageException e -> ERR.println(e.getMessage());
      case NodeStoppedException _ -> {
        // It was told to end while it imported.
      }
      case GrainException e -> ERR.println(e.getMessage());
      case IllegalArgumentException e -> ERR.println(e.getMessage());
      default -> failure.printStackTrace(ERR);
    }
    return ExitCode.SOFTWARE;
  }

  @Override
  public Integer call() throws Exception {
    check();
    var directory = DataDirectory.open(data);
    return nodes == null ? alone(directory) : together(directory, nodes);
  }

  /** Before an import, which may take minutes. */
  private void check() {
    checkPort("--port", port);
    if (memcached != null) {
      checkPort("--memcached", memcached);
    }
    if (operations != null) {
      checkPort("--operations", operations);
    }
    if (nodes != null && (nodes < 1 || nodes > MOST_NODES)) {
      throw new IllegalArgumentException(
          "--nodes %d is not between 1 and %d.".formatted(nodes, MOST_NODES));
    }
    if (restart && nodes == null) {
      throw new IllegalArgumentException("--restart is for the processes of --nodes.");
    }
    if (files != null && !Files.isDirectory(files)) {
      throw new IllegalArgumentException(
          "--import: there is no folder %s; it should hold %s and %s."
              .formatted(files, Importer.FOLLOWS, Importer.POSTS));
    }
  }

  /** With several nodes the others' ports follow, unless all are to be any free ones. */
  private void checkPort(String option, int first) {
    int others = nodes == null || first == 0 ? 0 : nodes - 1;
    if (first < 0 || first + others > MAX_PORT) {
      throw new IllegalArgumentException(
          "%s %d is not between 0 and %d.".formatted(option, first, MAX_PORT - others));
    }
  }

  private int alone(DataDirectory directory) throws IOException, InterruptedException {
    var server = start(directory);
    if (files != null) {
      load(server, files);
    }
    if (memcached != null) {
      announceMemcached(serveMemcached(server, memcached));
    }
    int actual = serve(server);
    var shown = operations == null ? null : serveOperations(server, operations);

    var ended = new CountDownLatch(1);
    Signals.on("INT", ended::countDown);
    Signals.on("TERM", ended::countDown);
    announce(actual);
    if (shown != null) {
      announceOperations(shown);
    }
    ended.await();
    return ExitCode.OK;
  }

  /** One process imports, before there are others. */
  private int together(DataDirectory directory, int count)
      throws IOException, InterruptedException {
    var launcher =
        new Launcher(
            new Launcher.Plan(count, port, data, jdbc, memcached, operations, restart), ERR);
    if (files != null) {
      try (var server = start(directory)) {
        load(server, files);
      }
    }
    // Made now if it is not there: all must find the same.
    var _ = directory.sessionKey();
    return launcher.run();
  }

  private ChirperServer start(DataDirectory directory) throws IOException {
    var server = ChirperServer.alone(directory, jdbc);
    Runtime.getRuntime().addShutdownHook(new Thread(server::close, "chirper-end"));
    return server;
  }

  private int serve(ChirperServer server) throws IOException {
    try {
      return server.serve(port, List.of());
    } catch (UncheckedIOException e) {
      throw new IOException(e.getMessage() + " --port chooses it, 0 is any free one.", e);
    }
  }

  /** Serves what an operator wants to see, too. */
  static int serveOperations(ChirperServer server, int port) throws IOException {
    try {
      return server.serveOperations(port);
    } catch (UncheckedIOException e) {
      throw new IOException(e.getMessage() + " --operations chooses it, 0 is any free one.", e);
    }
  }

  /** Says where the dashboard is, for people. */
  static void announceOperations(int port) {
    System.out.printf(Locale.ROOT, "%shttp://127.0.0.1:%d/dashboard%n", OPERATIONS, port);
  }

  /** Serves items, too. */
  static int serveMemcached(ChirperServer server, int port) throws IOException {
    try {
      return server.serveMemcached(port);
    } catch (IOException e) {
      throw new IOException(e.getMessage() + "; --memcached chooses it, 0 is any free one.", e);
    }
  }

  /** Says where items are, for people. */
  static void announceMemcached(int port) {
    System.out.printf(Locale.ROOT, "Its items are at 127.0.0.1:%d, for memcached clients%n", port);
  }

  /** Says where the page is, for people and for programs. */
  static void announce(int port) {
    System.out.printf(Locale.ROOT, "%shttp://127.0.0.1:%d%n", ANNOUNCEMENT, port);
  }

  private static void load(ChirperServer server, Path files) throws IOException {
    var start = Instant.now();
    Importer.Loaded loaded;
    try (var bar = new ProgressBar(ERR, onTerminal(), "Importing", Importer.size(files))) {
      loaded = new Importer(server.grains(), bar::note, bar::done).load(files);
    }
    ERR.printf(
        Locale.ROOT,
        "Imported %,d people, %,d follows, %,d posts in %d s; %,d lines were wrong and skipped.%n",
        loaded.users(),
        loaded.follows(),
        loaded.posts(),
        Duration.between(start, Instant.now()).toSeconds(),
        loaded.skipped());
  }

  // The check says that there always is a console; JDK 25 gives null when there is none.
  @SuppressWarnings("SystemConsoleNull")
  private static boolean onTerminal() {
    var console = System.console();
    return console != null && console.isTerminal();
  }

  /** Makes files to import. */
  @Command(
      name = "generate",
      description =
          "Makes follows.tsv and posts.tsv of any size; the same options, the same files.",
      mixinStandardHelpOptions = true)
  static final class Generate implements Callable<Integer> {

    @Option(
        names = "--users",
        paramLabel = "N",
        defaultValue = "1000",
        description = "How many people. Default: ${DEFAULT-VALUE}.")
    private int users;

    @Option(
        names = "--follows",
        paramLabel = "N",
        defaultValue = "20000",
        description = "How many follows, all different. Default: ${DEFAULT-VALUE}.")
    private int follows;

    @Option(
        names = "--posts",
        paramLabel = "N",
        defaultValue = "10000",
        description = "How many posts. Default: ${DEFAULT-VALUE}.")
    private int posts;

    @Option(
        names = "--seed",
        paramLabel = "N",
        defaultValue = "1",
        description = "Decides what is left to chance. Default: ${DEFAULT-VALUE}.")
    private long seed;

    @Option(
        names = "--until",
        paramLabel = "TIME",
        defaultValue = "2025-11-01T00:00:00Z",
        description = "When the year of the posts ends. Default: ${DEFAULT-VALUE}.")
    private Instant until = Instant.EPOCH;

    @Parameters(paramLabel = "DIR", description = "Where to write; made if needed.")
    private Path directory = Path.of("");

    @Override
    public Integer call() throws IOException {
      var generator = new Generator(users, follows, posts, seed, until);
      try (var bar = new ProgressBar(ERR, onTerminal(), "Writing", (long) follows + posts)) {
        generator.write(directory, bar::done);
      }
      return ExitCode.OK;
    }
  }
}
