package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How much of the heap a question takes whose operations touch many cells each. */
@Timeout(120)
class TraceMemoryTest {
  private static final int KEYS = 30;
  private static final int PAIRS = 2_200;

  @TempDir private Path directory;

  @Test
  void whatIsBesideWritesOfManyKeysIsHeldOnceAndNotForEachKey() throws Exception {
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(1 << 20).withBytes(64 << 20);
    try (var recording = new Recorded(directory).record(settings)) {
      long last = record(recording);
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)));
      try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
        long before = used();
        long held = trace.atOnce(() -> askOfAll(trace, last) - before);
        assertTrue(held < 32 << 20, () -> (held >> 10) + " KiB are held");
      }
    }
  }

  private static long askOfAll(StoredTrace trace, long row) {
    var operation = trace.operation(row).orElseThrow();
    for (int i = 0; i < KEYS; i++) {
      assertTrue(trace.beside(Cell.of("d", "0", "k" + i), operation).hasNext());
    }
    return used();
  }

  /** Of each key the last value is a long one. */
  @Test
  void ofManyKeysNoValueIsHeldBeforeItsTurn() throws Exception {
    int keys = 60;
    var value = "v".repeat(1 << 20);
    try (var recording = record(Retention.ALL)) {
      var spool = recording.spool();
      long epoch = spool.epoch("redis", "here", "content: empty");
      long lane = spool.lane(epoch, "one");
      long client = spool.connect(epoch, new Client("", "", "", ""));
      for (int i = 0; i < keys; i++) {
        var request = Identity.request("SET", "k" + i, value);
        long row = spool.request(client, lane, 0, ByteBuffer.wrap(request));
        spool.reply(row, ByteBuffer.wrap(Inline.ascii("+OK\r\n")));
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)));
      try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
        var words =
            IntStream.range(-1, keys).mapToObj(i -> Bytes.of(i < 0 ? "MGET" : "k" + i)).toList();
        var now = Instant.now();
        var question = new Operation(Long.MAX_VALUE, epoch, 0, 0, "0", now, null, words, null);
        long before = used();
        long held =
            trace.atOnce(
                () -> {
                  var chain = new Why(new RedisSpecification(), trace).chain(question);
                  assertTrue(chain.hasNext());
                  long after = used();
                  assertEquals("SET", chain.next().request().getFirst().text());
                  return after - before;
                });
        assertTrue(held < 16 << 20, () -> (held >> 10) + " KiB are held");
      }
    }
  }

  /** What it holds of cells must not be more than a part of the memory that there is. */
  @Test
  void aProcessWithLittleMemoryFoldsManyCells() throws Exception {
    int hashes = 45_000;
    try (var recording = record(Retention.ALL)) {
      var spool = recording.spool();
      long epoch = spool.epoch("redis", "here", "content: empty");
      long lane = spool.lane(epoch, "one");
      long client = spool.connect(epoch, new Client("", "", "", ""));
      for (int i = 0; i < hashes; i++) {
        var request = Identity.request("HSET", "hash" + i, "field", "value");
        long row = spool.request(client, lane, 0, ByteBuffer.wrap(request));
        spool.reply(row, ByteBuffer.wrap(Inline.ascii(":1\r\n")));
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)));
    }
    var folds =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx32m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:+ExitOnOutOfMemoryError",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Folds.class.getName(),
                directory.toString())
            .redirectErrorStream(true)
            .start();
    try (var said = folds.inputReader()) {
      var all = said.lines().toList();
      assertTrue(all.contains("folded"), all::toString);
    } finally {
      folds.destroyForcibly();
    }
  }

  private Recording record(Retention retention) throws IOException {
    return record(directory, retention);
  }

  private static Recording record(Path directory, Retention retention) throws IOException {
    return new Recorded(directory).record(SpoolSettings.DEFAULT, retention);
  }

  /** The process: says when all that there was is folded. */
  static final class Folds {
    private Folds() {}

    public static void main(String[] arguments) throws Exception {
      Thread.ofPlatform().daemon().start(Folds::endInTime);
      var directory = Path.of(arguments[0]);
      var retention = new Retention(Duration.ZERO, Long.MAX_VALUE);
      try (var recording = record(directory, retention);
          var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
        long last = trace.last(1).getFirst().row();
        while (trace.folded() <= last) {
          assertTrue(recording.loading().failure().isEmpty());
          Thread.sleep(100);
        }
        System.out.println("folded");
      }
    }

    /** Who started it reads what it says until it ends. */
    private static void endInTime() {
      try {
        Thread.sleep(Duration.ofSeconds(60));
        System.out.println("not folded in time");
      } catch (InterruptedException e) {
        System.out.println("nobody knows how long it takes");
      }
      Runtime.getRuntime().halt(1);
    }
  }

  /** Writes that overlap in pairs. */
  private static long record(Recording recording) {
    var spool = recording.spool();
    long epoch = spool.epoch("redis", "here", "content: empty");
    long connection = spool.connect(epoch, new Client("", "", "", ""));
    long one = spool.lane(epoch, "one");
    long other = spool.lane(epoch, "other");
    long last = 0;
    for (int i = 0; i < PAIRS; i++) {
      var value = String.valueOf(i);
      var words =
          IntStream.range(0, KEYS).boxed().flatMap(k -> List.of("k" + k, value).stream()).toList();
      var request =
          Identity.request(
              IntStream.range(-1, words.size())
                  .mapToObj(k -> k < 0 ? "MSET" : words.get(k))
                  .toArray(String[]::new));
      long first = spool.request(connection, one, 0, ByteBuffer.wrap(request));
      last = spool.request(connection, other, 0, ByteBuffer.wrap(request));
      for (long row : new long[] {first, last}) {
        spool.reply(row, ByteBuffer.wrap(Inline.ascii("+OK\r\n")));
      }
      if (i % 200 == 0) {
        // No more than the spool has room for.
        recording.awaitLoaded(Duration.ofSeconds(60));
      }
    }
    return last;
  }

  private static long used() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    var runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
