package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.SpoolSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A Redis whose machine vanishes: its connections do not end, and another one has its address. */
@Timeout(60)
class VanishedTest {
  @TempDir private Path directory;

  private static RedisShim shim(
      Gate gate, Recording recording, UnaryOperator<RedisShimSettings> more) throws IOException {
    return RedisShim.start(
        more.apply(Shimmed.settings("127.0.0.1:" + gate.port()).withSpool(recording.spool())));
  }

  private Recording record() throws IOException {
    return new Recorded(directory).record(SpoolSettings.DEFAULT);
  }

  /** In which epoch something was asked that was replied to. */
  private long epoch(Recording recording, String request) throws IOException {
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    try (var trace = new Recorded(directory).trace()) {
      return trace.from(1, 100).stream()
          .filter(one -> one.text().equals(request) && one.reply() != null)
          .mapToLong(Operation::epoch)
          .max()
          .orElseThrow();
    }
  }

  /** Seen: what the second was told was on record as of the first. */
  @Test
  void whatTheNextOneDoesIsNotOnRecordAsOfTheOneThatHasVanished() throws IOException {
    try (var one = RedisServer.start();
        var two = RedisServer.start();
        var gate = new Gate(one);
        var recording = record();
        var shim = shim(gate, recording, settings -> settings);
        var client = Talk.to(Shimmed.port(shim))) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "of one"));
      gate.vanish(two);
      // By an upstream of its own, which leads to the second one.
      assertEquals("*-1\r\n", Talk.served(Shimmed.port(shim), "BLPOP", "none", "0.01"));
      assertNotEquals(epoch(recording, "SET k of one"), epoch(recording, "BLPOP none 0.01"));
      assertEquals("", client.rest(), "its connection leads nowhere");
      assertEquals("$-1\r\n", Talk.served(Shimmed.port(shim), "GET", "k"));
      assertEquals("+OK\r\n", Talk.served(Shimmed.port(shim), "SET", "k", "of two"));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
      var answer = new Recorded(directory).ask("0", "GET k");
      assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
      assertEquals(Bytes.of("of two"), answer.reply());
      assertEquals("$6\r\nof two\r\n", two.ask("GET", "k"));
    }
  }

  /** It would wait for what MONITOR shows of the one that has vanished. */
  @Test
  void whatScriptsDoIsLearntAnew() throws IOException {
    try (var shimmed = Shimmed.start(settings -> settings.withMonitor(true))) {
      var before = monitors(shimmed.redis);
      shimmed.shim.leaveFormerStore();
      var now = monitors(shimmed.redis);
      while (now.isEmpty() || now.equals(before)) {
        assertFalse(Thread.currentThread().isInterrupted(), "the connection is still there");
        now = monitors(shimmed.redis);
      }
      assertEquals(":2\r\n", Talk.served(shimmed.port(), "EVAL", "return 2", "0"));
    }
  }

  private static List<String> monitors(RedisServer redis) {
    return redis
        .ask("CLIENT", "LIST")
        .lines()
        .filter(line -> line.contains("cmd=monitor"))
        .map(line -> line.replaceAll("^id=(\\d+) .*", "$1"))
        .toList();
  }

  /** Nothing has come between. */
  @Test
  void noEpochBeginsWhereOnlyConnectionsHaveVanished() throws IOException {
    try (var one = RedisServer.start();
        var gate = new Gate(one);
        var recording = record();
        var shim = shim(gate, recording, settings -> settings);
        var client = Talk.to(Shimmed.port(shim))) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      gate.vanish(one);
      assertEquals("*-1\r\n", client.ask("BLPOP", "none", "0.01"));
      assertEquals(epoch(recording, "SET k v"), epoch(recording, "BLPOP none 0.01"));
    }
  }

  /** Seen: a shim that is started before it waits for ever. */
  @Test
  void whoDoesNotSayWhatItIsIsNotWaitedForForEver() throws IOException {
    try (var one = RedisServer.start();
        var gate = new Gate(one);
        var recording = record();
        var shim = shim(gate, recording, settings -> settings)) {
      gate.mute();
      var silent = assertThrows(IOException.class, () -> shim.watch.begin(Duration.ofMillis(100)));
      assertTrue(silent.toString().contains("does not answer"), silent::toString);
    }
  }

  /** It says so where it is asked for what it is, too, and who ends that is not kept from it. */
  @Test
  void noEpochBeginsWhereAScriptIsSlow() throws IOException {
    try (var one = RedisServer.start("--busy-reply-threshold", "3000");
        var gate = new Gate(one);
        var recording = record();
        var shim = shim(gate, recording, settings -> settings);
        var busy = Talk.to(Shimmed.port(shim));
        var client = Talk.to(Shimmed.port(shim))) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      busy.send("EVAL", "while true do end", "0");
      one.awaitBusy();
      assertEquals("+OK\r\n", client.ask("SCRIPT", "KILL"));
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
      assertEquals(epoch(recording, "SET k v"), epoch(recording, "GET k"));
    }
  }
}
