package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
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
