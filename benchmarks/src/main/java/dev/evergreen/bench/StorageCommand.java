package dev.evergreen.bench;

import com.sun.management.OperatingSystemMXBean;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.storage.PostgresStorage;
import dev.evergreen.storage.SqliteStorage;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Saves with and without a fence, in short turns. */
@Command(
    name = "storage",
    description = {
      "Measures what it costs that each save looks whether its node is alive.",
      "It does so at several numbers of callers. Saves that look and saves that do not go through one storage, in short turns, and each turn is compared with the one before it, so that what else the machine does counts for both.",
      "The processor time is that of this process and, with --postgres, of the server's. Of a database that was given the server's is not in it. Where a disk is slow, give a PLACE in memory, or for --postgres a folder for temporary files there."
    },
    mixinStandardHelpOptions = true)
final class StorageCommand implements Callable<Integer> {

  private static final int STATE_BYTES = 300;
  private static final List<Integer> CALLERS = List.of(1, 16, 256);

  /** What a save may cost, beside one that does not look. */
  private static final double DEARER = 1.05;

  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Parameters(
      paramLabel = "PLACE",
      arity = "0..1",
      description =
          "The URL of a PostgreSQL database, or the path of an SQLite file; both are kept. If not given, an SQLite file in a temporary folder, which is not")
  private @Nullable String place;

  @Option(
      names = "--postgres",
      description =
          "Measures a PostgreSQL server of its own, as it is shipped, in a temporary folder")
  private boolean postgres;

  /** Whose processor time counts, too. */
  private @Nullable OwnPostgres server;

  @Option(
      names = "--rounds",
      description = "How many turns each has, ${DEFAULT-VALUE} if not given")
  private int rounds = 100;

  @Option(names = "--millis", description = "How long a turn is, ${DEFAULT-VALUE} if not given")
  private int millis = 200;

  @Override
  public Integer call() throws Exception {
    if (postgres && place != null) {
      throw new ParameterException(
          spec.commandLine(), "--postgres is a place of its own, but there is also " + place);
    }
    if (postgres) {
      try (var own = OwnPostgres.start()) {
        server = own;
        return measure(own.url());
      }
    }
    if (place != null) {
      return measure(place);
    }
    var folder = Files.createTempDirectory("bench-storage");
    try {
      return measure(folder.resolve("states.db").toString());
    } finally {
      Folders.delete(folder);
    }
  }

  private int measure(String where) throws Exception {
    var lines = new ArrayList<Line>();
    try (var storage =
        where.startsWith("jdbc:")
            ? PostgresStorage.open(where)
            : SqliteStorage.open(Path.of(where))) {
      var node = new NodeId("bench:1", System.nanoTime());
      var fence = storage.fence("bench").orElseThrow();
      fence.join(node);
      for (int callers : CALLERS) {
        compare(callers, fence.storageOf(node), storage, lines);
      }
      fence.giveUp(node);
    }
    spec.commandLine().getOut().print(new Report(lines, rounds).text());
    spec.commandLine().getOut().flush();
    return 0;
  }

  private void compare(int callers, Storage fenced, Storage plain, List<Line> lines)
      throws Exception {
    var savers = new ArrayList<Saver>();
    for (int i = 0; i < callers; i++) {
      savers.add(new Saver(new GrainId("Bench", callers + " " + i), plain));
    }
    var with = new ArrayList<Turn>();
    var without = new ArrayList<Turn>();
    for (int round = -rounds / 10; round < rounds; round++) {
      // Each begins as often as the other.
      var first = turn(savers, round % 2 == 0 ? fenced : plain);
      var second = turn(savers, round % 2 == 0 ? plain : fenced);
      if (round >= 0) {
        with.add(round % 2 == 0 ? first : second);
        without.add(round % 2 == 0 ? second : first);
      }
    }
    var name = "saves behind a fence, %d callers".formatted(callers);
    lines.add(compared(name, "1/s", with, without, Turn::perSecond).ratioAtLeast(1 / DEARER));
    lines.add(
        compared(name + ", processor time", "µs", with, without, Turn::micros).ratioAtMost(DEARER));
    if (server != null) {
      lines.add(compared(name + ", of it the callers'", "µs", with, without, Turn::own));
      lines.add(compared(name + ", of it the server's", "µs", with, without, Turn::served));
    }
  }

  private static Line compared(
      String name, String unit, List<Turn> with, List<Turn> without, Function<Turn, Double> value) {
    return Line.compared(
        name,
        unit,
        with.stream().map(value).toList(),
        "without a fence",
        without.stream().map(value).toList());
  }

  /**
   * What was measured in a turn.
   *
   * @param own this process's processor time for each save, in microseconds
   * @param served the server's, if it counts
   */
  private record Turn(double perSecond, double own, double served) {
    double micros() {
      return own + served;
    }
  }

  private Turn turn(List<Saver> savers, Storage storage) throws Exception {
    var stop = new AtomicBoolean();
    var saved = new LongAdder();
    var served = serverNanos();
    long begin = System.nanoTime();
    long busy = SYSTEM.getProcessCpuTime();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (var saver : savers) {
        threads.execute(
            () -> {
              while (!stop.get()) {
                saver.save(storage);
                saved.increment();
              }
            });
      }
      Thread.sleep(millis);
      stop.set(true);
    }
    busy = SYSTEM.getProcessCpuTime() - busy;
    double perSecond = saved.sum() * 1e9 / (System.nanoTime() - begin);
    double serving = usedSince(served) / 1e3 / saved.sum();
    return new Turn(perSecond, busy / 1e3 / saved.sum(), serving);
  }

  private Map<Long, Long> serverNanos() throws IOException {
    return server == null ? Map.of() : server.processorNanos();
  }

  private long usedSince(Map<Long, Long> before) throws IOException {
    return serverNanos().entrySet().stream()
        .mapToLong(process -> process.getValue() - before.getOrDefault(process.getKey(), 0L))
        .sum();
  }

  /** Saves one grain again and again. */
  private static final class Saver {
    private final GrainId grain;
    private final byte[] state = new byte[STATE_BYTES];
    private long revision;

    Saver(GrainId grain, Storage storage) {
      this.grain = grain;
      this.revision = storage.load(grain).map(Storage.Stored::revision).orElse(Storage.NONE);
      new Random(1).nextBytes(state);
    }

    void save(Storage storage) {
      revision = storage.save(grain, revision, state);
    }
  }
}
