package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Processes that are killed, and what the record says then. */
@Timeout(120)
class FaultsTest {
  private static final int CLIENTS = 6;
  private static final int DEEPEST = 30;
  private static final int MOST_ENOUGH = 30;
  private static final int KILLS = Integer.getInteger("evergreen.kills", 2);
  private static final long LONG_REPLY = Long.getLong("evergreen.shim.reply.mib", 64) * 1024 * 1024;

  private static final RedisSpecification SPECIFICATION = new RedisSpecification();

  @TempDir private Path directory;

  /**
   * One that writes to a key of its own until its connection ends; half of them in transactions.
   * Most have many requests under way, and some of these an upstream of their own.
   */
  private static final class Writer {
    final String key;
    private final boolean plain;
    private final int depth;
    private final boolean keepsToOwn;
    private final Random random;
    private final Thread thread;
    private final AtomicInteger acknowledgements = new AtomicInteger();
    private final CountDownLatch enough;

    Writer(int port, int number, int enough) {
      key = "w" + number;
      plain = number % 2 == 0;
      depth = number % CLIENTS < 2 ? 1 : DEEPEST;
      keepsToOwn = number % CLIENTS >= CLIENTS - 2;
      random = new Random(number);
      this.enough = new CountDownLatch(enough);
      thread = Thread.ofPlatform().start(() -> write(port));
    }

    int acknowledged() {
      return acknowledgements.get();
    }

    private void write(int port) {
      try (var talk = Talk.to(port)) {
        if (keepsToOwn) {
          talk.ask("CLIENT", "NO-EVICT", "ON");
        }
        while (pipeline(talk, 1 + random.nextInt(depth))) {
          // Until it is killed.
        }
      } catch (IOException e) {
        // It was killed.
        return;
      }
    }

    /** Writes so many times at once; false if not all are acknowledged. */
    private boolean pipeline(Talk talk, int count) throws IOException {
      var requests = new ByteArrayOutputStream();
      for (int i = 1; i <= count; i++) {
        var set = Identity.request("SET", key, "" + (acknowledged() + i));
        if (plain) {
          requests.writeBytes(set);
        } else {
          requests.writeBytes(Identity.request("MULTI"));
          requests.writeBytes(set);
          requests.writeBytes(Identity.request("EXEC"));
        }
      }
      talk.send(requests.toByteArray());
      for (int i = 0; i < count; i++) {
        for (int before = plain ? 0 : 2; before > 0; before--) {
          talk.reply();
        }
        if (!talk.reply().endsWith("+OK\r\n")) {
          return false;
        }
        acknowledgements.incrementAndGet();
        enough.countDown();
      }
      return true;
    }

    void join() throws InterruptedException {
      thread.join();
    }
  }

  /** Those of one life of what is killed; each has written some times. */
  private static List<Writer> writers(int port, int life) throws InterruptedException {
    var writers = new ArrayList<Writer>();
    int enough = 1 + new Random(life).nextInt(MOST_ENOUGH);
    for (int i = 0; i < CLIENTS; i++) {
      writers.add(new Writer(port, life * CLIENTS + i, enough));
    }
    for (var writer : writers) {
      assertTrue(writer.enough.await(60, TimeUnit.SECONDS), () -> writer.key + " has ended early");
    }
    return writers;
  }

  private Recording load() throws IOException {
    var recording = new Recorded(directory).record(SpoolSettings.DEFAULT.withSegmentBytes(4 << 20));
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)), "not loaded");
    return recording;
  }

  /** What is answered as certain is so, if it is asked for without a shim. */
  private static void checkCertain(StoredTrace trace, RedisServer redis, List<Writer> writers) {
    for (var writer : writers) {
      var answer = Recorded.ask(trace, "0", "GET " + writer.key);
      var there = Resp.read(Bytes.of(redis.ask("GET", writer.key)));
      if (answer.certainty() == Certainty.CERTAIN) {
        assertEquals(there, answer.reply(), writer.key);
      } else {
        // A frame that was being written when the shim was killed is a gap.
        assertTrue(
            List.of(Certainty.ONE_OF, Certainty.BEFORE_RECORDING, Certainty.GAP)
                .contains(answer.certainty()),
            () -> writer.key + " is answered as " + answer);
      }
    }
  }

  private static List<Operation> all(StoredTrace trace) {
    var all = new ArrayList<>(trace.from(1, 10_000));
    for (var page = all; !page.isEmpty(); all.addAll(page)) {
      page = new ArrayList<>(trace.from(page.getLast().row() + 1, 10_000));
    }
    return all;
  }

  private static void checkAcknowledged(StoredTrace trace, List<Writer> writers) {
    var last = new HashMap<String, Integer>();
    for (var operation : all(trace)) {
      var parts = operation.parts().isEmpty() ? List.of(operation) : operation.parts();
      for (var part : parts) {
        var reply = part.reply();
        if (part.request().getFirst().equals(Bytes.of("SET"))
            && reply != null
            && reply.equals(Bytes.of("+OK\r\n"))) {
          last.merge(
              part.request().get(1).text(),
              Integer.parseInt(part.request().get(2).text()),
              Math::max);
        }
      }
    }
    for (var writer : writers) {
      int known = last.getOrDefault(writer.key, 0);
      assertTrue(
          known >= writer.acknowledged(),
          () -> writer.key + ": " + writer.acknowledged() + " acknowledged, on record " + known);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aKilledShimHasRecordedAllThatWasAcknowledged(Durability durability)
      throws IOException, InterruptedException {
    try (var redis = RedisServer.start()) {
      var writers = new ArrayList<Writer>();
      // The next one goes on loading where the last one was killed.
      int lives = durability == Durability.REPLY ? KILLS : 1;
      for (int life = 0; life < lives; life++) {
        try (var shim = ShimProcess.start(redis, directory, durability)) {
          var some = writers(shim.port, life);
          writers.addAll(some);
          shim.kill();
          for (var writer : some) {
            writer.join();
          }
        }
      }
      try (var _ = load();
          var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
        checkAcknowledged(trace, writers);
        checkCertain(trace, redis, writers);
      }
      checkThatNothingComesLater(redis, writers);
    }
  }

  /** What was under way when the shim was killed is over when the next one has begun. */
  private void checkThatNothingComesLater(RedisServer redis, List<Writer> writers)
      throws IOException {
    try (var recording = load();
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + redis.port).withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim))) {
      for (var writer : writers) {
        assertEquals("+OK\r\n", client.ask("SET", writer.key, "new"));
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(60)), "not loaded");
      try (var trace = new Recorded(directory).trace()) {
        for (var writer : writers) {
          var answer = Recorded.ask(trace, "0", "GET " + writer.key);
          assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
        }
      }
    }
  }

  /**
   * Neither alone nor together with the shim: then all that was known of the store is past. Where
   * it is known that it began with nothing, the answer says so.
   */
  @ParameterizedTest
  @EnumSource(names = {"NONE", "REPLY"})
  void aKilledRedisHasForgottenAllAndNothingOfBeforeIsACause(Durability durability)
      throws IOException, InterruptedException {
    try (var redis = RedisServer.start()) {
      List<Writer> writers;
      try (var shim = ShimProcess.start(redis, directory, durability)) {
        writers = writers(shim.port, 0);
        redis.kill();
        redis.startAgain();
        for (var writer : writers) {
          writer.join();
        }
        assertEquals("$-1\r\n", Talk.served(shim.port, "GET", "w0"));
        var more = writers(shim.port, 1);
        redis.kill();
        shim.kill();
        for (var writer : more) {
          writer.join();
        }
        writers.addAll(more);
        redis.startAgain();
      }
      try (var shim = ShimProcess.start(redis, directory, durability)) {
        assertEquals("$-1\r\n", Talk.served(shim.port, "GET", "w1"));
      }
      try (var _ = load();
          var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
        checkAcknowledged(trace, writers);
        checkCertain(trace, redis, writers);
        for (var operation : all(trace)) {
          if (operation.request().getFirst().equals(Bytes.of("GET"))) {
            var answer = new Why(SPECIFICATION, trace).ask(operation, Why.Wish.ONE);
            boolean saysThatItBeganAnew =
                answer.certainty() == Certainty.CERTAIN
                    && answer.witnesses().getFirst().elements().isEmpty()
                    && answer.note().startsWith("the store began anew");
            assertTrue(
                saysThatItBeganAnew
                    || List.of(Certainty.BEFORE_RECORDING, Certainty.GAP)
                        .contains(answer.certainty()),
                answer::toString);
          }
        }
      }
    }
  }

  @Test
  void anEpochBeginsWhereTheStoreFollowsAnother() throws IOException, InterruptedException {
    try (var master = RedisServer.start();
        var redis = RedisServer.start()) {
      master.ask("SET", "a", "the master's");
      master.ask("SET", "only", "the master's");
      try (var shim = ShimProcess.start(redis, directory, Durability.NONE);
          var client = Talk.to(shim.port);
          var other = Talk.to(shim.port)) {
        assertEquals("+OK\r\n", other.ask("SET", "a", "1"));
        assertEquals("+OK\r\n", client.ask("REPLICAOF", "127.0.0.1", "" + master.port));
        while (!redis.ask("GET", "a").contains("the master's")) {
          Thread.onSpinWait();
        }
        assertTrue(other.ask("GET", "a").contains("the master's"));
        assertEquals("+OK\r\n", client.ask("REPLICAOF", "NO", "ONE"));
        assertEquals("+OK\r\n", other.ask("SET", "a", "2"));
        assertEquals("$1\r\n2\r\n", other.ask("GET", "a"));
      }
    }
    try (var _ = load();
        var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      Map<String, Certainty> all = new HashMap<>();
      for (var operation : trace.from(1, 100_000)) {
        if (operation.request().getFirst().equals(Bytes.of("GET"))) {
          var reply = Resp.read(Objects.requireNonNull(operation.reply())).toString();
          all.put(reply, new Why(SPECIFICATION, trace).ask(operation, Why.Wish.ONE).certainty());
        }
      }
      assertEquals(Certainty.CERTAIN, all.get("2"));
      assertNotEquals(Certainty.CERTAIN, Recorded.ask(trace, "0", "GET only").certainty());
      assertNotEquals(Certainty.CERTAIN, all.get("the master's"));
    }
  }

  @Test
  void aLongReplyPassesThroughASmallHeap() throws IOException {
    try (var redis = RedisServer.start();
        var shim =
            ShimProcess.start(
                redis, directory, Durability.BATCH, "-Xmx48m", "-XX:MaxDirectMemorySize=48m");
        var client = Talk.to(shim.port)) {
      redis.ask("SETRANGE", "big", "" + (LONG_REPLY - 3), "end");
      client.send("GET", "big");
      var begin = "$" + LONG_REPLY + "\r\n";
      long left = begin.length() + LONG_REPLY + 2;
      var piece = new byte[1 << 16];
      var tail = "";
      while (left > 0) {
        int n = client.read(piece);
        assertTrue(n > 0, "it ended too early");
        left -= n;
        var text = new String(piece, 0, n, java.nio.charset.StandardCharsets.ISO_8859_1);
        tail =
            (tail + text.substring(Math.max(0, n - 5)))
                .substring(Math.max(0, tail.length() + Math.min(5, n) - 5));
      }
      assertEquals("end\r\n", tail);
      assertEquals("+PONG\r\n", client.ask("PING"));
    }
  }

  /** Thousands who do nothing hold up nobody who does something. */
  @Test
  void manyIdleClientsAndSomeBusyOnesAreServed() throws IOException, InterruptedException {
    int idle = Integer.getInteger("evergreen.shim.idle", 2000);
    var random = new Random(1);
    try (var redis = RedisServer.start();
        var shim = ShimProcess.start(redis, directory, Durability.BATCH)) {
      var clients = new ArrayList<Talk>();
      for (int i = 0; i < idle; i++) {
        clients.add(Talk.to(shim.port));
      }
      for (int i = 0; i < 500; i++) {
        var client = clients.get(random.nextInt(idle));
        assertEquals("+OK\r\n", client.ask("SET", "k", "" + i));
        assertEquals("+PONG\r\n", clients.get(random.nextInt(idle)).ask("PING"));
      }
      assertTrue(redis.ask("INFO", "clients").contains("connected_clients:3\r\n"));
      for (var client : clients) {
        client.close();
      }
    }
  }
}
