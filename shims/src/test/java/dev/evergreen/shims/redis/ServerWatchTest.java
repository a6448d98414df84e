package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.SpoolSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the shim makes of what a store says of itself. */
@Timeout(60)
class ServerWatchTest {
  @TempDir private Path directory;

  private static String said(String request) {
    return switch (request) {
      case "INFO SERVER" -> "redis_version:7.0.0\r\nrun_id:one\r\nredis_mode:standalone\r\n";
      case "INFO REPLICATION" -> "role:master\r\nmaster_replid:two\r\n";
      case "INFO PERSISTENCE" -> "loading:0\r\nasync_loading:0\r\n";
      case "INFO MEMORY" -> "number_of_cached_scripts:0\r\nnumber_of_functions:0\r\n";
      default -> "";
    };
  }

  private Recording record() throws IOException {
    return new Recorded(directory).record(SpoolSettings.DEFAULT.withSegmentBytes(1 << 20));
  }

  /** How certain it is after a start at such a store that a key is not there. */
  private Certainty certainty(Function<String, String> replies) throws IOException {
    try (var recording = record();
        var store = new FakeStore(replies);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim))) {
      client.ask("PING");
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
      return new Recorded(directory).ask("0", "GET a").certainty();
    }
  }

  @Test
  void aStoreThatHasNothingIsEmpty() throws IOException {
    assertEquals(Certainty.CERTAIN, certainty(ServerWatchTest::said));
  }

  @Test
  void aStoreThatStillReadsWhatItHasKeptIsNot() throws IOException {
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(
            request ->
                request.equals("INFO PERSISTENCE")
                    ? "loading:1\r\nasync_loading:0\r\n"
                    : said(request)));
  }

  /** What it has was asked before that, or behind it: only the second tells anything. */
  @Test
  void norIsOneThatHasReadItWhenItIsAsked() throws IOException {
    var asked = new AtomicBoolean();
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(
            request ->
                switch (request) {
                  case "INFO KEYSPACE" -> {
                    asked.set(true);
                    yield "";
                  }
                  case "INFO PERSISTENCE" -> asked.get() ? said(request) : "loading:1\r\n";
                  default -> said(request);
                }));
  }

  @Test
  void norIsOneThatDoesNotTell() throws IOException {
    assertEquals(
        Certainty.BEFORE_RECORDING,
        certainty(request -> request.equals("INFO PERSISTENCE") ? "" : said(request)));
  }

  /** Nothing can be kept any more; but a store that is another one must not be taken for this. */
  @Test
  void goesOnWatchingWhateverFails() throws Exception {
    var asked = new CountDownLatch(4);
    var recording = record();
    try (var store =
            new FakeStore(
                request -> {
                  if (request.equals("INFO SERVER")) {
                    asked.countDown();
                  }
                  return said(request);
                });
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + store.port()).withSpool(recording.spool()))) {
      assertFalse(shim.isClosed());
      recording.close();
      store.cut();
      assertTrue(asked.await(30, TimeUnit.SECONDS), "nobody looks at the store any more");
    }
  }
}
