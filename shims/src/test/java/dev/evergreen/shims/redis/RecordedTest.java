package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is on record of what has passed. */
@Timeout(60)
class RecordedTest {
  @TempDir private Path directory;

  @BeforeEach
  void redis() {
    assumeTrue(RedisServer.isInstalled(), "redis-server is not installed");
  }

  /** What clients do with a shim that records. */
  @FunctionalInterface
  private interface Doing {
    void with(Shimmed shimmed) throws IOException, InterruptedException;
  }

  private List<Operation> recorded(Durability durability, Doing doing, String... options)
      throws IOException, InterruptedException {
    var settings =
        SpoolSettings.DEFAULT
            .withSegmentBytes(1 << 20)
            .withBytes(16 << 20)
            .withDurability(durability);
    try (var recording =
            Recording.open(
                directory, "", settings, Redactor.open(directory, List.of()), Retention.ALL);
        var shimmed =
            Shimmed.start(
                with -> with.spool(recording.spool()).redactor(recording.redactor()), options)) {
      doing.with(shimmed);
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      return trace.from(1, 10_000);
    }
  }

  private static String told(Operation operation) {
    var reply = operation.reply();
    return operation.space()
        + "|"
        + operation.text()
        + "|"
        + (reply == null ? "?" : reply.latin1().replace("\r\n", "~"));
  }

  private static List<String> told(List<Operation> operations) {
    return operations.stream().map(RecordedTest::told).toList();
  }

  @Test
  void requestsAndRepliesAreMatchedWhereverTheyGo() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.REPLY,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("SET", "a", "1");
                client.ask("SELECT", "2");
                client.send(Inline.ascii("get a\r\n"));
                client.reply();
                client.ask("SUBSCRIBE", "x");
                client.ask("UNSUBSCRIBE", "x");
                client.send("CLIENT", "REPLY", "SKIP");
                client.send("INCR", "n");
                client.ask("INCR", "n");
                client.ask("GET", "n");
              }
            });
    assertEquals(
        List.of(
            "0|SET a 1|+OK~",
            "0|SELECT 2|+OK~",
            "2|get a|$-1~",
            "2|SUBSCRIBE x|*3~$9~subscribe~$1~x~:1~",
            "2|UNSUBSCRIBE x|*3~$11~unsubscribe~$1~x~:0~",
            "2|CLIENT REPLY SKIP|",
            "2|INCR n|",
            "2|INCR n|:2~",
            "2|GET n|$1~2~"),
        told(operations));
  }

  @Test
  void theOrderOfALaneIsThatOfItsEffects() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.NONE,
            shimmed -> {
              var threads =
                  java.util.stream.IntStream.range(0, 8)
                      .mapToObj(i -> Thread.ofVirtual().start(() -> increment(shimmed, 50)))
                      .toList();
              for (var thread : threads) {
                thread.join();
              }
            });
    assertEquals(400, operations.size());
    for (int i = 0; i < operations.size(); i++) {
      assertEquals("0|INCR n|:" + (i + 1) + "~", told(operations.get(i)));
    }
  }

  private static void increment(Shimmed shimmed, int times) {
    try (var client = shimmed.client()) {
      for (int i = 0; i < times; i++) {
        client.ask("INCR", "n");
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void credentialsAreNotRecorded() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("CONFIG", "SET", "requirepass", "hush");
                client.ask("CONFIG", "GET", "require*");
                client.ask("AUTH", "default", "hush");
                client.ask("HELLO", "3", "AUTH", "default", "hush");
                client.ask("ACL", "SETUSER", "u", "on", ">hush");
                client.send(Inline.ascii("auth hush\r\n"));
                client.reply();
              }
            });
    assertEquals(6, operations.size());
    var all = String.join("\n", told(operations));
    assertFalse(all.contains("hush"), all);
    assertTrue(all.contains("+<hidden>"), all);
  }

  @Test
  void longRequestsAndRepliesAreRecordedWhole() throws IOException, InterruptedException {
    var value = "v".repeat(1_000_000);
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("SET", "a", value);
                client.ask("GET", "a");
              }
            });
    assertEquals(2, operations.size());
    assertEquals(Bytes.of(value), operations.get(0).request().get(2));
    assertEquals(Bytes.of("$1000000\r\n" + value + "\r\n"), operations.get(1).reply());
  }

  @Test
  void whatRedisDidNotReplyToHasAnUnknownOutcome() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("PING");
                shimmed.redis.signal("STOP");
                client.send("SET", "a", "1");
                shimmed.redis.kill();
                assertEquals("<end>", client.reply());
              }
            });
    // The request may have met the killed one, or the end of the connection.
    assertTrue(operations.size() <= 2);
    if (operations.size() == 2) {
      assertNull(operations.get(1).reply());
    }
  }
}
