package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.provenance.Batch;
import dev.evergreen.shims.redis.Redaction.Told;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A Redis that reads nothing, or lets nobody in, and whom it holds up: only those who need it. */
@Timeout(60)
class DeafRedisTest {
  private static final byte[] LARGE = Identity.request("SET", "k", "v".repeat(40_000));

  private static RedisShim shim(Gate gate) throws IOException {
    return RedisShim.start(Shimmed.settings("127.0.0.1:" + gate.port()));
  }

  private static void stop(Gate gate, boolean answersDialling) throws IOException {
    if (answersDialling) {
      gate.mute();
    } else {
      gate.shut();
    }
  }

  /** Returns when somebody has done something that takes another connection. */
  private static void awaitAnother(Gate gate, Talk client, String... request) throws IOException {
    awaitAnother(gate, client, Identity.request(request));
  }

  private static void awaitAnother(Gate gate, Talk client, byte[] request) throws IOException {
    long before = gate.connections();
    client.send(request);
    while (gate.connections() <= before) {
      Thread.onSpinWait();
    }
  }

  /** What it does not take at once is sent nevertheless, when it reads on. */
  @Test
  void whoSendsToARedisThatReadsNothingIsNotStuckInThat() throws Exception {
    try (var shimmed = Shimmed.start(settings -> settings.withPatience(Duration.ofMillis(300)));
        var client = shimmed.client()) {
      assertEquals("+PONG\r\n", client.ask("PING"));
      var session = shimmed.shim.sessions.iterator().next();
      var lane =
          Objects.requireNonNull(shimmed.shim.lanes.join(Identity.NEW, DeafRedisTest::await));
      shimmed.redis.signal("STOP");
      var sending = new FutureTask<>(() -> sendAll(lane, session));
      shimmed.shim.fibers.spawn(sending);
      int taken = sending.get(30, TimeUnit.SECONDS);
      shimmed.redis.signal("CONT");
      var value = new StringBuilder();
      for (int i = 0; i < taken; i++) {
        value.append(piece(i));
        assertEquals(":" + value.length() + "\r\n", client.reply());
      }
      assertEquals("$" + value.length() + "\r\n" + value + "\r\n", shimmed.redis.ask("GET", "k"));
    }
  }

  private static void awaitAll(Semaphore arrived, int count) throws IOException {
    try {
      arrived.acquire(count);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the test is over", e);
    }
  }

  private static void await(BooleanSupplier over) throws IOException {
    while (!over.getAsBoolean()) {
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedIOException("the test is over");
      }
      LockSupport.park();
    }
  }

  private static String piece(int i) {
    return "%05d".formatted(i).repeat(8_000);
  }

  /** Sends until no more is taken; answers how many requests were. */
  private static int sendAll(Lane lane, Session session) throws IOException {
    for (int i = 0; ; i++) {
      var request = Identity.request("APPEND", "k", piece(i));
      var batch = new Batch();
      batch.begin(ByteBuffer.wrap(request), 0);
      batch.add(request.length);
      if (lane.submit(session, 0, batch, Told.ALL, null, false) == Lane.Result.ENDED) {
        return i;
      }
    }
  }

  /** Redis does not read on from a connection while it holds back what that has asked. */
  @Test
  void whoseLaneIsFullGoesOnWhenAnotherEndsThePause() throws Exception {
    var recorded = new Semaphore(0);
    try (var shimmed = Shimmed.start(settings -> settings.withPatience(Duration.ofSeconds(1)));
        var writing = shimmed.client();
        var client = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+PONG\r\n", client.ask("PING"));
      pauseWrites(shimmed.redis, writing);
      shimmed.shim.tape.tell((_, _, _) -> recorded.release());
      int sent = 0;
      do {
        client.send(LARGE);
        sent++;
      } while (recorded.tryAcquire(2, TimeUnit.SECONDS));
      assertEquals("+OK\r\n", other.ask("CLIENT", "UNPAUSE"));
      for (int i = 0; i < sent; i++) {
        assertEquals("+OK\r\n", client.reply());
      }
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  /** Holds up the lane by a write of somebody's. */
  private static void pauseWrites(RedisServer redis, Talk writing) throws IOException {
    assertEquals("+OK\r\n", redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
    writing.send("SET", "k", "v");
    while (!redis.ask("CLIENT", "LIST").contains("cmd=set")) {
      Thread.onSpinWait();
    }
  }

  /** Those who have a connection to Redis are served, and new ones by the lane that is there. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoNeedsALaneThatCannotBeMadeHoldsUpNobodyElse(boolean answersDialling) throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim = shim(gate);
        var one = Talk.to(Shimmed.port(shim));
        var three = Talk.to(Shimmed.port(shim));
        var other = Talk.to(Shimmed.port(shim))) {
      assertEquals("+PONG\r\n", one.ask("PING"));
      assertEquals("+PONG\r\n", three.ask("PING"));
      assertEquals("+PONG\r\n", other.ask("PING"));
      stop(gate, answersDialling);
      awaitAnother(gate, three, "HELLO", "3");
      other.send("HELLO", "3");
      try (var next = Talk.to(Shimmed.port(shim))) {
        assertEquals("+PONG\r\n", next.ask("PING"));
      }
      // The reader of the lane says that there must be another one for those who come.
      assertEquals("+OK\r\n", one.ask("CONFIG", "SET", "requirepass", ""));
      assertEquals("+PONG\r\n", one.ask("PING"));
      gate.open();
      assertTrue(three.reply().startsWith("%"));
      assertTrue(other.reply().startsWith("%"));
    }
  }

  /** One connection is enough for both. */
  @Test
  void whoNeedsTheSameLaneWaitsForIt() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim = shim(gate);
        var one = Talk.to(Shimmed.port(shim));
        var other = Talk.to(Shimmed.port(shim))) {
      assertEquals("+PONG\r\n", one.ask("PING"));
      assertEquals("+PONG\r\n", other.ask("PING"));
      gate.mute();
      awaitAnother(gate, one, "HELLO", "3");
      long connections = gate.connections();
      other.send("HELLO", "3");
      gate.open();
      assertTrue(one.reply().startsWith("%"));
      assertTrue(other.reply().startsWith("%"));
      assertEquals(connections, gate.connections());
    }
  }

  /** It is none of theirs that somebody else of their name has an old password. */
  @Test
  void whoWaitsForTheLaneOfSomebodyWhoIsRefusedGetsAnother() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim = shim(gate);
        var old = Talk.to(Shimmed.port(shim));
        var young = Talk.to(Shimmed.port(shim))) {
      assertEquals("+OK\r\n", redis.ask("ACL", "SETUSER", "u", "on", ">first", "~*", "+@all"));
      assertEquals("+OK\r\n", old.ask("AUTH", "u", "first"));
      assertEquals("+OK\r\n", redis.ask("ACL", "SETUSER", "u", "<first", ">second"));
      assertEquals("+OK\r\n", young.ask("AUTH", "u", "second"));
      gate.mute();
      awaitAnother(gate, old, "GET", "k");
      young.send("GET", "k");
      gate.open();
      assertEquals("$-1\r\n", old.reply());
      assertEquals("$-1\r\n", young.reply());
      var ofUser = redis.ask("CLIENT", "LIST").lines().filter(line -> line.contains("user=u "));
      assertEquals(3, ofUser.count(), "a lane, and one for each since it has said who it is");
    }
  }

  /** And nobody for ever. */
  @Test
  void whoWaitsForALaneLearnsThatItCannotBeMade() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim = shim(gate);
        var one = Talk.to(Shimmed.port(shim));
        var other = Talk.to(Shimmed.port(shim))) {
      assertEquals("+PONG\r\n", one.ask("PING"));
      assertEquals("+PONG\r\n", other.ask("PING"));
      gate.mute();
      awaitAnother(gate, one, "HELLO", "3");
      other.send("HELLO", "3");
      gate.end();
      assertEquals("", one.rest());
      assertEquals("", other.rest());
    }
  }

  /** Their connections are free for others, however long Redis is silent. */
  @Test
  void whoGoesAwayWhileItWaitsForRedisIsLetGo() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + gate.port())
                    .withPatience(Duration.ofMillis(300)))) {
      try (var one = Talk.to(Shimmed.port(shim));
          var other = Talk.to(Shimmed.port(shim));
          var alone = Talk.to(Shimmed.port(shim))) {
        for (var client : List.of(one, other, alone)) {
          assertEquals("+PONG\r\n", client.ask("PING"));
        }
        assertEquals("+OK\r\n", alone.ask("CLIENT", "SETNAME", "n"));
        gate.mute();
        awaitAnother(gate, one, "HELLO", "3");
        other.send("HELLO", "3");
        awaitAnother(gate, alone, "SUBSCRIBE", "c");
      }
      while (!shim.sessions.isEmpty()) {
        assertFalse(Thread.currentThread().isInterrupted(), "they are still there");
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void whoHasSaidAllWhileItWaitsForALaneIsRepliedTo() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim = shim(gate);
        var client = Talk.to(Shimmed.port(shim))) {
      assertEquals("+PONG\r\n", client.ask("PING"));
      gate.mute();
      awaitAnother(gate, client, "HELLO", "3");
      client.socket.shutdownOutput();
      gate.open();
      assertTrue(client.reply().startsWith("%"));
      assertEquals("<end>", client.reply());
    }
  }

  /** Memory may be wanting where a lane is made, and there at another time. */
  @Test
  void whoWaitsForALaneWhoseMakingEndsByAnErrorLearnsOfIt() throws Exception {
    try (var fibers = Fibers.builder().start()) {
      var wanting = new AtomicReference<Error>(new OutOfMemoryError("a test's"));
      var waiting = new Semaphore(0);
      var lanes =
          new Lanes(
              fibers,
              _ -> {
                var error = wanting.getAndSet(null);
                if (error != null) {
                  awaitAll(waiting, 2);
                  throw error;
                }
                return null;
              },
              _ -> {});
      Lanes.Waiter waiter =
          over -> {
            waiting.release();
            await(over);
          };
      var joining =
          List.of(
              new FutureTask<>(() -> lanes.join(Identity.NEW, waiter)),
              new FutureTask<>(() -> lanes.join(Identity.NEW, waiter)));
      joining.forEach(fibers::spawn);
      for (var one : joining) {
        var failure = assertThrows(ExecutionException.class, one::get);
        var told = Objects.requireNonNull(failure.getCause());
        assertInstanceOf(OutOfMemoryError.class, told.getCause());
      }
      assertNull(lanes.join(Identity.NEW, waiter), "it is made anew, and refused this time");
    }
  }
}
