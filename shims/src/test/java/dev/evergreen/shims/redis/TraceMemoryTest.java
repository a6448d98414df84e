package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
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
    try (var recording =
        Recording.open(
            directory, "", settings, Redactor.open(directory, List.of()), Retention.ALL)) {
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
    try (var recording =
        Recording.open(
            directory,
            "",
            SpoolSettings.DEFAULT,
            Redactor.open(directory, List.of()),
            Retention.ALL)) {
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
