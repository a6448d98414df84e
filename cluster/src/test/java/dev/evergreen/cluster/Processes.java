package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.evergreen.storage.PostgresServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A cluster of child processes over one storage, and the checks of what must hold in it. */
final class Processes implements AutoCloseable {

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(120);

  /** Between two looks: those who look all the time keep the nodes from their processors. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /**
   * Where a node runs.
   *
   * @param host its address
   * @param prefix what its command begins with
   */
  record Place(String host, List<String> prefix) {
    private static final AtomicInteger MADE = new AtomicInteger();

    /**
     * An address of this machine's loopback interface that nobody else has: so clusters that run
     * beside each other, in this process or another, do not meet at a port.
     */
    static Place onThisMachine() {
      long number = ProcessHandle.current().pid() * 64 + MADE.incrementAndGet() % 64;
      var address =
          "127.%d.%d.%d"
              .formatted(1 + number / (254 * 254) % 254, 1 + number / 254 % 254, 1 + number % 254);
      return new Place(address, List.of());
    }
  }

  /** Below those that the system gives to whoever asks for any. */
  private static final int FIRST_PORT = 21_000;

  private final Path directory;
  private final String states;
  private final List<String> options;
  private final Place usual = Place.onThisMachine();
  private final Map<String, Place> places;
  private final Map<String, Integer> ports = new LinkedHashMap<>();
  private final Map<String, NodeProcess> running = new LinkedHashMap<>();
  private final List<NodeProcess> all = new ArrayList<>();
  private long probes;

  /**
   * With places for nodes that shall not run just here.
   *
   * @param options those of {@link LedgerNode}, and {@code postgres} for states in PostgreSQL
   */
  Processes(List<String> options, Map<String, Place> places, String... names) throws Exception {
    this.directory = Files.createTempDirectory("evergreen-cluster");
    this.states =
        options.contains("postgres")
            ? PostgresServer.get().newSchema()
            : directory.resolve("ledgers.db").toString();
    this.options = options;
    this.places = places;
    int port = FIRST_PORT;
    for (var name : names) {
      ports.put(name, port++);
      ports.put(name + " links", port++);
    }
  }

  /** Starts these, and waits until all are ready. */
  void start(String... names) {
    for (var name : names) {
      launch(name);
    }
    for (var name : names) {
      awaitStarted(name);
    }
  }

  /** The same for those that are not one of the cluster. */
  void startWhoeverIsMissing() {
    start(
        ports.keySet().stream()
            .filter(name -> !name.endsWith("links") && !running.containsKey(name))
            .toArray(String[]::new));
  }

  /** The one that was started first: it coordinates, or one does that was started with it. */
  NodeProcess oldest() {
    return nodes().getFirst();
  }

  /** Starts one, and waits for nothing. */
  void launch(String name) {
    var seeds = new ArrayList<String>();
    ports.forEach(
        (node, port) -> {
          if (!node.endsWith("links")) {
            seeds.add(place(node).host() + ":" + port);
          }
        });
    var arguments =
        new ArrayList<>(
            List.of(port(name), port(name + " links"), String.join(",", seeds), states));
    arguments.addAll(options);
    arguments.add("host=" + place(name).host());
    var process = NodeProcess.start(place(name).prefix(), name, arguments);
    running.put(name, process);
    all.add(process);
  }

  private Place place(String name) {
    return places.getOrDefault(name, usual);
  }

  /** Waits until one that was launched takes part, and all are ready. */
  void awaitStarted(String name) {
    node(name).await(0, line -> line.startsWith("started"));
    awaitReady();
  }

  /**
   * Waits until every node knows where all grains are, and all know as many members as there are.
   */
  void awaitReady() {
    var state = "state ready=true";
    var members = "members=" + running.size();
    var last = new ArrayList<String>();
    await(
        () -> "all nodes being ready, last seen: " + last,
        () -> {
          last.clear();
          nodes().forEach(node -> last.add(node.ask("state", "state")));
          return last.stream().allMatch(line -> line.startsWith(state) && line.endsWith(members));
        });
  }

  /** By which the nodes send each other calls and results. */
  List<String> linkPorts() {
    return ports.entrySet().stream()
        .filter(one -> one.getKey().endsWith("links"))
        .map(one -> one.getValue().toString())
        .toList();
  }

  NodeProcess node(String name) {
    return Objects.requireNonNull(running.get(name), name);
  }

  private String port(String name) {
    return Objects.requireNonNull(ports.get(name), name).toString();
  }

  List<NodeProcess> nodes() {
    return List.copyOf(running.values());
  }

  /** It is not one of the cluster any more. */
  NodeProcess drop(String name) {
    return Objects.requireNonNull(running.remove(name), name);
  }

  /** Waits until one ends, which is not one of the cluster any more. */
  NodeProcess dropTheFirstThatEnds() {
    await(() -> "the end of a node", () -> !nodes().stream().allMatch(NodeProcess::alive));
    return drop(nodes().stream().filter(node -> !node.alive()).findFirst().orElseThrow().name());
  }

  /** It is one of the cluster again. */
  void take(NodeProcess node) {
    running.put(node.name(), node);
  }

  void write() {
    nodes().forEach(node -> node.tell("write"));
  }

  void still() {
    nodes().forEach(node -> node.ask("still", "still"));
  }

  /** Has every node write to every ledger and wait for its own trackers to show it, undoubted. */
  void probe() {
    long number = ++probes;
    var marks = new HashMap<NodeProcess, Integer>();
    for (var node : nodes()) {
      marks.put(node, node.mark());
      node.tell("probe " + number);
    }
    marks.forEach((node, mark) -> node.await(mark, line -> line.equals("probed " + number)));
  }

  /**
   * Fails unless every tracker comes to show what a fresh call answers, and every write that any
   * node was acknowledged is in it. Nobody writes meanwhile.
   */
  void assertAllTrue() {
    var untrue = new AtomicReference<@Nullable String>();
    await(
        () -> "trackers that show what is true, last seen: " + untrue.get(),
        () -> {
          untrue.set(firstUntrue());
          return untrue.get() == null;
        });
    var fresh = nodes().getFirst().report("fresh");
    for (var process : all) {
      process
          .acked()
          .forEach(
              (ledger, numbers) ->
                  numbers.forEach(
                      (writer, number) -> assertKept(fresh.get(ledger), ledger, writer, number)));
    }
  }

  private @Nullable String firstUntrue() {
    for (var node : nodes()) {
      var tracked = node.report("tracked");
      var fresh = node.report("fresh");
      assertEquals(LedgerNode.LEDGERS, fresh.size());
      for (var ledger : fresh.keySet()) {
        if (!fresh.get(ledger).equals(tracked.get(ledger))) {
          return node.name()
              + " "
              + ledger
              + ": "
              + tracked.get(ledger)
              + " / "
              + fresh.get(ledger);
        }
      }
    }
    return null;
  }

  private static void assertKept(
      @Nullable String report, String ledger, String writer, long number) {
    var kept = report == null ? null : NodeProcess.number(report, writer);
    assertTrue(
        kept != null && kept >= number,
        () ->
            "%s was acknowledged %d in %s, which holds %s"
                .formatted(writer, number, ledger, report));
  }

  private static void await(Supplier<String> what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        fail("waited in vain for " + what.get());
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  @Override
  public void close() {
    all.forEach(NodeProcess::close);
    try (var files = Files.list(directory)) {
      for (var file : files.toList()) {
        Files.delete(file);
      }
      Files.delete(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
