package dev.evergreen.chirper;

import dev.evergreen.settings.FreePorts;
import dev.evergreen.settings.Signals;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;

/**
 * Runs Chirper as several processes on this machine: starts them, says what becomes of them, and
 * ends them. Its own process hosts nothing. None of the others outlives it: the end of their
 * standard input tells them that it is gone, whatever has ended it.
 */
final class Launcher {

  private static final int EXIT_INTERRUPTED = 130;

  /** Of the machine's memory, in percent, for the heaps of all nodes together. */
  private static final double MEMORY_PERCENT = 50;

  /** One line for each entry. */
  private static final String LOG_FORMAT = "%1$tFT%1$tT.%1$tL %4$s %3$s: %5$s%6$s%n";

  private final Plan plan;
  private final PrintStream err;
  private final List<Integer> pages;
  private final List<Integer> clusterPorts;
  private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();

  /** By number. Signals come while others start. */
  private final ConcurrentSkipListMap<Integer, NodeProcess> running = new ConcurrentSkipListMap<>();

  private final Set<NodeProcess> answering = new HashSet<>();
  private boolean allAnswered;

  /**
   * What to start.
   *
   * @param nodes how many processes
   * @param port of the first one's page, the others' follow; 0 for any free ones
   * @param data the directory that they share
   * @param jdbc the database that they share; null for a file in the directory
   * @param memcached the port of the first one's items, the others' follow; null for none
   * @param operations the port of the first one's dashboard, the others' follow; null for none
   * @param restart whether one that ends without having been told to is started again
   */
  record Plan(
      int nodes,
      int port,
      Path data,
      @Nullable String jdbc,
      @Nullable Integer memcached,
      @Nullable Integer operations,
      boolean restart) {}

  /** What the launcher hears of. */
  sealed interface Event {

    /** A process says that its page is at an address. */
    record Answers(NodeProcess node, String address) implements Event {}

    /** A process has ended. */
    record Ended(NodeProcess node, int status) implements Event {}

    /** All shall end. */
    record Stop() implements Event {}
  }

  /**
   * A launcher, for one run.
   *
   * @param err takes what goes wrong
   * @throws IOException if a port is taken
   */
  Launcher(Plan plan, PrintStream err) throws IOException {
    this.plan = plan;
    this.err = err;
    var sockets = new ArrayList<ServerSocket>();
    try {
      // These are held until the others are known, so that they differ. None may be one that a
      // connection could have when a node is started again.
      pages =
          plan.port() == 0
              ? FreePorts.next(plan.nodes())
              : reserve(plan.port(), plan.nodes(), sockets);
      clusterPorts = FreePorts.next(plan.nodes());
    } finally {
      for (var socket : sockets) {
        socket.close();
      }
    }
  }

  private static List<Integer> reserve(int first, int count, List<ServerSocket> sockets)
      throws IOException {
    var ports = new ArrayList<Integer>();
    for (int i = 0; i < count; i++) {
      int wanted = first + i;
      try {
        sockets.add(new ServerSocket(wanted, 1, InetAddress.getLoopbackAddress()));
      } catch (IOException e) {
        throw new IOException(
            "The nodes' pages need the ports %d to %d, but %d is taken. --port chooses the first, 0 is any free ones."
                .formatted(first, first + count - 1, wanted),
            e);
      }
      ports.add(wanted);
    }
    return ports;
  }

  /** Runs until SIGINT or SIGTERM, or until no process is left; then all have ended. */
  int run() throws IOException, InterruptedException {
    var interrupted = new AtomicBoolean();
    Signals.on("TERM", () -> events.add(new Event.Stop()));
    Signals.on(
        "INT",
        () -> {
          if (interrupted.getAndSet(true)) {
            running.values().forEach(NodeProcess::kill);
            Runtime.getRuntime().halt(EXIT_INTERRUPTED);
          }
          events.add(new Event.Stop());
        });
    err.printf("starting %d processes…%n", plan.nodes());
    try {
      for (int number = 1; number <= plan.nodes(); number++) {
        Files.deleteIfExists(log(number));
        start(number);
      }
      return follow();
    } finally {
      // The first is the one that has told the others where grains are: last.
      running.descendingMap().values().forEach(NodeProcess::end);
    }
  }

  private int follow() throws IOException, InterruptedException {
    while (true) {
      switch (events.take()) {
        case Event.Answers(var node, var address) -> answers(node, address);
        case Event.Ended(var node, int status) -> {
          if (!ended(node, status)) {
            return ExitCode.SOFTWARE;
          }
        }
        case Event.Stop() -> {
          return ExitCode.OK;
        }
      }
    }
  }

  private void answers(NodeProcess node, String address) {
    answering.add(node);
    System.out.printf(
        Locale.ROOT, "Node %d is process %d at %s%n", node.number(), node.pid(), address);
    if (!allAnswered && answering.size() == plan.nodes()) {
      allAnswered = true;
      Chirper.announce(pages.getFirst());
    }
  }

  /** False if that is the end of all. */
  private boolean ended(NodeProcess node, int status) throws IOException {
    running.remove(node.number());
    boolean answered = answering.remove(node);
    if (!answered) {
      err.printf("Node %d did not start: %s (%s)%n", node.number(), node.lastWords(), node.log());
    }
    boolean restarted = answered && plan.restart();
    if (answered) {
      err.printf(
          Locale.ROOT,
          "Node %d, process %d, ended with status %d (%s); %s.%n",
          node.number(),
          node.pid(),
          status,
          node.log(),
          restarted
              ? "it is started again"
              : running.isEmpty() ? "none is left" : "the others go on");
    }
    if (restarted) {
      start(node.number());
    }
    return !running.isEmpty() && (answered || allAnswered);
  }

  private void start(int number) throws IOException {
    var options =
        new ArrayList<>(
            List.of(
                "--port=" + pages.get(number - 1),
                "--data=" + plan.data(),
                "--cluster-port=" + clusterPorts.get(number - 1),
                "--seeds=" + list(clusterPorts, "127.0.0.1:"),
                "--pages=" + list(pages, "")));
    if (plan.jdbc() != null) {
      options.add("--jdbc=" + plan.jdbc());
    }
    if (plan.memcached() != null) {
      options.add("--memcached=" + port(plan.memcached(), number));
    }
    if (plan.operations() != null) {
      options.add("--operations=" + port(plan.operations(), number));
    }
    var flags =
        List.of(
            String.format(Locale.ROOT, "-XX:MaxRAMPercentage=%.2f", MEMORY_PERCENT / plan.nodes()),
            "-Djava.util.logging.SimpleFormatter.format=" + LOG_FORMAT);
    running.put(number, NodeProcess.start(number, log(number), flags, options, events::add));
  }

  private static int port(int first, int number) {
    return first == 0 ? 0 : first + number - 1;
  }

  private static String list(List<Integer> ports, String prefix) {
    return ports.stream().map(port -> prefix + port).collect(Collectors.joining(","));
  }

  /** Where a node says what it has to complain of. */
  private Path log(int number) {
    return plan.data().resolve("node-" + number + ".log");
  }
}
