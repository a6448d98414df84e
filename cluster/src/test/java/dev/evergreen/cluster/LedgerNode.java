package dev.evergreen.cluster;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.storage.PostgresStorage;
import dev.evergreen.storage.SqliteStorage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * The program of a child process: a node that writes to ledgers, tracks them, and says on its
 * standard output what it did, one line each. It is told what to do on its standard input; when
 * that ends, the node leaves the cluster and the process ends.
 *
 * <ul>
 *   <li>{@code acked LEDGER WRITER NUMBER}: a write was acknowledged
 *   <li>{@code trouble KIND TEXT}: a call or a tracker got an exception
 *   <li>{@code probed NUMBER}: answers {@code probe NUMBER}: for each ledger a write has succeeded,
 *       and its tracker has shown it, without doubt
 *   <li>{@code held}: answers {@code hold}: no save is going on, and none will before {@code go}
 *   <li>{@code saving LEDGER}: after {@code hold}, the save of this one waits for {@code go};
 *       {@code once NUMBER} writes each ledger once
 *   <li>{@code fresh} and {@code tracked LEDGER FRESHNESS WRITER=NUMBER...}: answer {@code report}
 * </ul>
 */
final class LedgerNode {

  static final int LEDGERS = 12;

  private static final long PAUSE_NANOS = 100_000_000;
  private static final Duration LAST_WORDS = Duration.ofSeconds(10);

  private final String name;
  private final ClusterNode node;
  private final HeldStorage storage;
  private final Map<String, Tracked> tracked = new ConcurrentHashMap<>();
  private final List<Thread> writers = new ArrayList<>();
  private final List<Thread> trackers = new ArrayList<>();
  private volatile boolean writing;

  /** What a tracker has shown last. */
  private record Tracked(Map<String, Long> entries, ResultTracker<Map<String, Long>> tracker) {}

  private LedgerNode(String name, ClusterNode node, HeldStorage storage) {
    this.name = name;
    this.node = node;
    this.storage = storage;
  }

  /** A storage whose saves can be made to wait. */
  private static final class HeldStorage implements Storage {
    private final Storage storage;
    private final boolean mayFence;
    private final ReentrantReadWriteLock gate;
    private final LongAdder saves;

    /**
     * @param mayFence false to keep the storage's fence to itself
     */
    HeldStorage(Storage storage, boolean mayFence) {
      this(storage, mayFence, new ReentrantReadWriteLock(), new LongAdder());
    }

    private HeldStorage(
        Storage storage, boolean mayFence, ReentrantReadWriteLock gate, LongAdder saves) {
      this.storage = storage;
      this.mayFence = mayFence;
      this.gate = gate;
      this.saves = saves;
    }

    @Override
    public Optional<Fence> fence(String cluster) {
      return storage.fence(cluster).filter(fence -> mayFence).map(HeldFence::new);
    }

    @Override
    public boolean fenced() {
      return storage.fenced();
    }

    /** A fence with the same gate. */
    private final class HeldFence implements Fence {
      private final Fence fence;

      HeldFence(Fence fence) {
        this.fence = fence;
      }

      @Override
      public Storage storageOf(NodeId node) {
        return new HeldStorage(fence.storageOf(node), mayFence, gate, saves);
      }

      @Override
      public void join(NodeId node) {
        fence.join(node);
      }

      @Override
      public Set<NodeId> alive() {
        return fence.alive();
      }

      @Override
      public boolean isAlive(NodeId node) {
        return fence.isAlive(node);
      }

      @Override
      public boolean giveUp(NodeId node, NodeId by) {
        return fence.giveUp(node, by);
      }
    }

    /** Lets running saves end and no other begin, until this thread says {@link #go}. */
    void hold() {
      gate.writeLock().lock();
    }

    void go() {
      gate.writeLock().unlock();
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return storage.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      saves.increment();
      if (gate.isWriteLocked()) {
        say("saving " + grain.key());
      }
      try {
        gate.readLock().lockInterruptibly();
      } catch (InterruptedException e) {
        throw new StorageException("interrupted", e);
      }
      try {
        return storage.save(grain, expected, state);
      } finally {
        gate.readLock().unlock();
      }
    }

    @Override
    public boolean shared() {
      return storage.shared();
    }

    @Override
    public void close() {
      storage.close();
    }
  }

  /**
   * Runs a node until its standard input ends.
   *
   * @param arguments name, port, link port, seeds separated by commas, the file of SQLite or the
   *     URL of PostgreSQL, and options: {@code host=ADDRESS}, which is needed, {@code evidence},
   *     {@code pings} for a storage without a fence
   */
  public static void main(String[] arguments) throws IOException {
    var options = List.of(arguments).subList(5, arguments.length);
    var states = arguments[4];
    var storage =
        new HeldStorage(
            states.startsWith("jdbc:")
                ? PostgresStorage.open(states)
                : SqliteStorage.open(Path.of(states)),
            !options.contains("pings"));
    var builder =
        ClusterNode.builder()
            .name("ledgers")
            .grain(Ledger.class, Ledger.InState::new)
            .linkPort(Integer.parseInt(arguments[2]))
            .seeds(arguments[3].split(","))
            .storage(storage);
    for (var option : options) {
      if (option.equals("evidence")) {
        builder.crashEvidence();
      } else if (option.startsWith("host=")) {
        builder
            .listen(option.substring(5), Integer.parseInt(arguments[1]))
            .plaintextBeyondThisMachine();
      }
    }
    say("starting " + arguments[0]);
    var program = new LedgerNode(arguments[0], builder.start(), storage);
    program.trackAll();
    say("started " + program.node.self());
    program.obey();
  }

  private void obey() throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (var line = input.readLine(); line != null; line = input.readLine()) {
      var words = line.split(" ", -1);
      switch (words[0]) {
        case "write" -> write();
        case "still" -> still();
        case "hold" -> {
          storage.hold();
          say("held");
        }
        case "go" -> storage.go();
        case "once" -> writeOnce(Long.parseLong(words[1]));
        case "probe" -> {
          long number = Long.parseLong(words[1]);
          Thread.startVirtualThread(() -> probe(number));
        }
        case "report" -> Thread.startVirtualThread(this::report);
        case "state" ->
            say(
                "state ready=%s owned=%d saves=%d members=%d"
                    .formatted(
                        node.ready(),
                        node.ownedPartitions(),
                        storage.saves.sum(),
                        node.members().size()));
        default -> say("unknown " + line);
      }
    }
    writing = false;
    node.close();
    say("left");
    System.exit(0);
  }

  private static String ledger(int number) {
    return "ledger-" + number;
  }

  private static void say(String line) {
    synchronized (LedgerNode.class) {
      System.out.println(line + " .");
      System.out.flush();
    }
  }

  // Writing

  private void write() {
    writing = true;
    for (int i = 0; i < LEDGERS; i++) {
      var ledger = ledger(i);
      writers.add(Thread.startVirtualThread(() -> write(ledger)));
    }
  }

  private void write(String key) {
    var ledger = node.grains().get(Ledger.class, key);
    for (long number = System.nanoTime(); writing; number = System.nanoTime()) {
      if (put(ledger, name, number)) {
        say("acked " + key + " " + name + " " + number);
      }
      LockSupport.parkNanos(PAUSE_NANOS); // a load, not as much as possible
    }
  }

  private void writeOnce(long number) {
    for (int i = 0; i < LEDGERS; i++) {
      var key = ledger(i);
      var ledger = node.grains().get(Ledger.class, key);
      Thread.startVirtualThread(
          () -> {
            if (put(ledger, "once", number)) {
              say("acked " + key + " once " + number);
            }
          });
    }
  }

  private boolean put(Ledger ledger, String writer, long number) {
    try {
      ledger.put(writer, number);
      return true;
    } catch (NodeStoppedException e) {
      writing = false;
    } catch (NotStartedException e) {
      trouble("not-started", e);
    } catch (OutcomeUnknownException e) {
      trouble("unknown", e);
    } catch (GrainException e) {
      trouble("failed", e);
    }
    return false;
  }

  private static void trouble(String kind, Exception e) {
    say("trouble " + kind + " " + e.toString().replace('\n', ' '));
  }

  private void still() {
    writing = false;
    writers.forEach(
        writer -> {
          try {
            writer.join();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
    writers.clear();
    say("still");
  }

  // Tracking

  private void trackAll() {
    for (int i = 0; i < LEDGERS; i++) {
      var key = ledger(i);
      var ledger = node.grains().get(Ledger.class, key);
      var tracker = node.reactive(ledger::entries).tracker();
      tracked.put(key, new Tracked(Map.of(), tracker));
      trackers.add(Thread.startVirtualThread(() -> track(key, tracker)));
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::awaitTrackers));
  }

  /** The process shall not end before each has said how it ended. */
  private void awaitTrackers() {
    try {
      for (var tracker : trackers) {
        tracker.join(LAST_WORDS);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void track(String key, ResultTracker<Map<String, Long>> tracker) {
    while (true) {
      try {
        tracked.put(key, new Tracked(tracker.next(), tracker));
      } catch (NodeStoppedException | ComputationClosedException e) {
        say("tracker-ended " + e.getClass().getSimpleName());
        return;
      } catch (Exception e) {
        trouble("tracker", e);
      }
      synchronized (this) {
        notifyAll();
      }
    }
  }

  private void probe(long number) {
    var probes = new ArrayList<Thread>();
    for (int i = 0; i < LEDGERS; i++) {
      var key = ledger(i);
      probes.add(Thread.startVirtualThread(() -> probe(key, number)));
    }
    try {
      for (var probe : probes) {
        probe.join();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    say("probed " + number);
  }

  private void probe(String key, long number) {
    var writer = "probe-" + name;
    var ledger = node.grains().get(Ledger.class, key);
    while (!put(ledger, writer, number)) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    while (!shows(key, writer, number)) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private boolean shows(String key, String writer, long number) {
    var now = tracked.get(key);
    return now != null
        && now.entries().getOrDefault(writer, 0L) >= number
        && now.tracker().freshness() == Freshness.CURRENT;
  }

  private void report() {
    for (int i = 0; i < LEDGERS; i++) {
      var key = ledger(i);
      var now = tracked.get(key);
      say(
          "tracked "
              + key
              + " "
              + (now == null ? "?" : now.tracker().freshness() + text(now.entries())));
      var fresh = read(key);
      say("fresh " + key + " " + (fresh == null ? "?" : Freshness.CURRENT + text(fresh)));
    }
    say("reported");
  }

  private @Nullable Map<String, Long> read(String key) {
    try {
      return node.grains().get(Ledger.class, key).entries();
    } catch (GrainException e) {
      trouble("read", e);
      return null;
    }
  }

  private static String text(Map<String, Long> entries) {
    var text = new StringBuilder();
    new TreeMap<>(entries)
        .forEach((writer, number) -> text.append(' ').append(writer).append('=').append(number));
    return text.toString();
  }
}
