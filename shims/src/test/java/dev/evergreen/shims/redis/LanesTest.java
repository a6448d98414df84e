package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.settings.FreePorts;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which upstreams there are, and who waits for whom. */
@Timeout(60)
class LanesTest {
  @TempDir private Path directory;

  @Test
  void manyClientsShareOneUpstream() throws IOException {
    try (var shimmed = Shimmed.start()) {
      var clients = new ArrayList<Talk>();
      for (int i = 0; i < 50; i++) {
        var client = shimmed.client();
        clients.add(client);
        assertEquals("+OK\r\n", client.ask("SELECT", "" + i % 2));
        assertEquals("+OK\r\n", client.ask("CLIENT", "SETNAME", "n" + i));
        assertEquals("+OK\r\n", client.ask("SET", "k" + i, "v"));
      }
      assertEquals(1, shimmed.upstreams());
      assertEquals("$-1\r\n", clients.get(0).ask("GET", "k1"));
      assertEquals("$1\r\nv\r\n", clients.get(2).ask("GET", "k0"));
      assertEquals("$2\r\nn7\r\n", clients.get(7).ask("CLIENT", "GETNAME"));
      assertEquals(2, shimmed.upstreams());
      for (var client : clients) {
        client.close();
      }
    }
  }

  /** Seen: each left its connection behind, until Redis let nobody in. */
  @Test
  void whatIsJoinedNoMoreEndsWithItsLastClient() throws IOException {
    try (var shimmed = Shimmed.start();
        var stays = shimmed.client()) {
      assertEquals("+PONG\r\n", stays.ask("PING"));
      for (int i = 0; i < 20; i++) {
        try (var other = shimmed.client()) {
          assertEquals("+OK\r\n", other.ask("ACL", "SETUSER", "u" + i, "on"));
          assertEquals("$-1\r\n", other.ask("GET", "k"));
        }
      }
      while (shimmed.upstreams() > 2) {
        Thread.onSpinWait();
      }
      assertEquals("+PONG\r\n", stays.ask("PING"));
    }
  }

  /** Seen: it was not, and took what others pushed, for ever. */
  @Test
  void whoGoesAwayWhileItWaitsBehindAnEndlessBlockIsNoticed() throws IOException {
    try (var shimmed = Shimmed.start()) {
      try (var client = shimmed.client()) {
        client.ask("PING");
        var pipeline = new ByteArrayOutputStream();
        for (var words : List.of("BLPOP q 0", "SELECT 1", "GET a")) {
          pipeline.writeBytes(Identity.request(words.split(" ")));
        }
        client.send(pipeline.toByteArray());
        while (!isBlocked(shimmed)) {
          Thread.onSpinWait();
        }
      }
      while (isBlocked(shimmed)) {
        Thread.onSpinWait();
      }
    }
  }

  private static boolean isBlocked(Shimmed shimmed) throws IOException {
    return shimmed.redis.ask("CLIENT", "LIST").lines().anyMatch(l -> l.matches(".*flags=[^ ]*b.*"));
  }

  @Test
  void eachVersionOfTheProtocolHasALane() throws IOException {
    try (var shimmed = Shimmed.start();
        var two = shimmed.client();
        var three = shimmed.client()) {
      assertTrue(three.ask("HELLO", "3", "SETNAME", "three").startsWith("%7"));
      assertEquals("*0\r\n", two.ask("HGETALL", "none"));
      assertEquals("%0\r\n", three.ask("HGETALL", "none"));
      assertEquals(2, shimmed.upstreams());
      assertEquals("$5\r\nthree\r\n", three.ask("CLIENT", "GETNAME"));
    }
  }

  @Test
  void aTransactionThatArrivesWholeNeedsNoUpstreamOfItsOwn() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      client.send(
          Inline.join(
              Inline.join(Identity.request("MULTI"), Identity.request("INCR", "n")),
              Identity.request("EXEC")));
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+QUEUED\r\n", client.reply());
      assertEquals("*1\r\n:1\r\n", client.reply());
      assertEquals(1, shimmed.upstreams());
      assertEquals("+OK\r\n", client.ask("MULTI"));
      assertEquals(2, shimmed.upstreams());
      assertEquals("*0\r\n", client.ask("EXEC"));
    }
  }

  @Test
  void aClientIsKilledByTheIdThatItsUpstreamHas() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client();
        var other = shimmed.client()) {
      var id = client.ask("CLIENT", "ID").substring(1).strip();
      assertEquals(":1\r\n", other.ask("CLIENT", "KILL", "ID", id));
      assertEquals("<end>", client.reply());
      assertEquals("+PONG\r\n", other.ask("PING"));
    }
  }

  /** Else it would ask by a connection that Redis may end. */
  @Test
  void whoIsNotToBeEvictedKeepsToItsUpstream() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("CLIENT", "NO-EVICT", "ON"));
      assertEquals("$-1\r\n", client.ask("GET", "k"));
      var its =
          shimmed.redis.ask("CLIENT", "LIST").lines().filter(line -> line.contains(" flags=e "));
      assertEquals(List.of("get"), its.map(line -> line.split(" cmd=| user=", -1)[1]).toList());
    }
  }

  /** Seen: Redis's own tests waited for ever behind a script, as they shared its connection. */
  @Test
  void nobodyWaitsBehindAnothersScript() throws IOException {
    try (var shimmed =
            Shimmed.start(
                settings -> settings.withPatience(Duration.ofHours(1)),
                "--busy-reply-threshold",
                "1");
        var busy = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("$-1\r\n", other.ask("GET", "k"));
      assertEquals("$-1\r\n", busy.ask("GET", "k"));
      busy.send("EVAL", "while true do end", "0");
      shimmed.redis.awaitBusy();
      assertTrue(other.ask("GET", "k").startsWith("-BUSY"));
      assertEquals("+OK\r\n", other.ask("SCRIPT", "KILL"));
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals("$-1\r\n", other.ask("GET", "k"));
    }
  }

  /** What does not end that waits for the lane, which may be what gives it its name. */
  @Test
  void aClientIsCalledAsItWasJustNamedThoughItsLaneDoesNotAnswer() throws IOException {
    try (var shimmed = Shimmed.start(settings -> settings.withPatience(Duration.ofMillis(300)));
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      assertEquals("+OK\r\n", shimmed.redis.ask("CLIENT", "PAUSE", "1500", "WRITE"));
      client.send(
          Inline.join(
              Inline.join(
                  Identity.request("SET", "k", "w"), Identity.request("CLIENT", "SETNAME", "n")),
              Identity.request("CLIENT", "GETNAME")));
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("$1\r\nn\r\n", client.reply());
    }
  }

  /** And what ends it is asked before the name is known. */
  @Test
  void aClientThatEndsAPauseBehindItsLaneKeepsTheNameThatIsOnItsWay() throws IOException {
    try (var shimmed = Shimmed.start(settings -> settings.withPatience(Duration.ofMillis(300)));
        var writing = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      assertEquals("+OK\r\n", shimmed.redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      writing.send("SET", "k", "w");
      while (!shimmed.redis.ask("CLIENT", "LIST").contains("cmd=set")) {
        Thread.onSpinWait();
      }
      client.send(
          Inline.join(
              Inline.join(
                  Identity.request("STRLEN", "k"), Identity.request("CLIENT", "SETNAME", "n")),
              Identity.request("CLIENT", "UNPAUSE")));
      assertEquals(":1\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+OK\r\n", writing.reply());
      assertEquals("$1\r\nn\r\n", client.ask("CLIENT", "GETNAME"));
    }
  }

  @Test
  void aClientThatEndsABusyScriptKeepsItsName() throws IOException {
    try (var shimmed = Shimmed.start("--busy-reply-threshold", "100");
        var busy = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+OK\r\n", other.ask("CLIENT", "SETNAME", "n"));
      busy.send("EVAL", "while true do end", "0");
      shimmed.redis.awaitBusy();
      assertEquals("+OK\r\n", other.ask("SCRIPT", "KILL"));
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals("$1\r\nn\r\n", other.ask("CLIENT", "GETNAME"));
    }
  }

  @Test
  void readsAreAnsweredWhileWritesArePaused() throws IOException {
    try (var shimmed = Shimmed.start();
        var pausing = shimmed.client();
        var writing = shimmed.client();
        var reading = shimmed.client()) {
      assertEquals("$-1\r\n", reading.ask("GET", "k"));
      assertEquals("+OK\r\n", pausing.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      writing.send("SET", "k", "v");
      while (!shimmed.redis.ask("INFO", "clients").contains("blocked_clients:1")) {
        Thread.onSpinWait();
      }
      assertEquals("$-1\r\n", reading.ask("GET", "k"));
      assertEquals("$-1\r\n", pausing.ask("GET", "k"));
      assertEquals("+OK\r\n", pausing.ask("CLIENT", "UNPAUSE"));
      assertEquals("+OK\r\n", writing.reply());
      int upstreams = shimmed.upstreams();
      try (var later = shimmed.client()) {
        assertEquals("$1\r\nv\r\n", later.ask("GET", "k"));
        assertEquals(upstreams, shimmed.upstreams(), "who comes later shares again");
      }
    }
  }

  @Test
  void aPausedServerIsUnpausedByAnotherClient() throws IOException {
    try (var shimmed = Shimmed.start();
        var pausing = shimmed.client();
        var waiting = shimmed.client()) {
      assertEquals("+OK\r\n", pausing.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      waiting.send("SET", "k", "v");
      assertEquals("+OK\r\n", pausing.ask("CLIENT", "UNPAUSE"));
      assertEquals("+OK\r\n", waiting.reply());
    }
  }

  @Test
  void whoWaitsForAReplicaThatHasStoppedHoldsNobodyUp() throws IOException, InterruptedException {
    try (var shimmed = Shimmed.start();
        var replica = RedisServer.start("--replicaof", "127.0.0.1 " + shimmed.redis.port);
        var waiting = shimmed.client();
        var other = shimmed.client()) {
      while (!replica.ask("INFO", "replication").contains("master_link_status:up")) {
        Thread.onSpinWait();
      }
      replica.signal("STOP");
      assertTrue(waiting.ask("WAIT", "0", "1").startsWith(":"));
      assertEquals("+OK\r\n", waiting.ask("SET", "k", "v"));
      waiting.send("WAIT", "1", "0");
      assertEquals("$1\r\nv\r\n", other.ask("GET", "k"));
      replica.signal("CONT");
      assertEquals(":1\r\n", waiting.reply());
    }
  }

  /** What it has written has gone by a lane, as the upstream of its own knows of nothing. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoWaitsForTheFirstTimeWaitsForWhatItHasWritten(boolean hadItsOwn)
      throws IOException, InterruptedException {
    try (var shimmed = Shimmed.start();
        var replica = RedisServer.start("--replicaof", "127.0.0.1 " + shimmed.redis.port);
        var client = shimmed.client()) {
      while (!replica.ask("INFO", "replication").contains("master_link_status:up")) {
        Thread.onSpinWait();
      }
      if (hadItsOwn) {
        assertTrue(client.ask("CLIENT", "ID").startsWith(":"));
      }
      replica.signal("STOP");
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      long passedOn = passedOn(shimmed);
      assertEquals(":0\r\n", client.ask("WAIT", "1", "100"));
      assertTrue(passedOn(shimmed) > passedOn, "newer servers look at that alone");
      replica.signal("CONT");
      assertEquals(":1\r\n", client.ask("WAIT", "1", "0"));
    }
  }

  /** How many bytes Redis has passed on to its replicas. */
  private static long passedOn(Shimmed shimmed) throws IOException {
    return shimmed
        .redis
        .ask("INFO", "replication")
        .lines()
        .filter(line -> line.startsWith("master_repl_offset:"))
        .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void whoWaitsForAGroupOfAnyNameHoldsNobodyUp() throws IOException {
    try (var shimmed = Shimmed.start();
        var waiting = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+OK\r\n", other.ask("XGROUP", "CREATE", "s", "streams", "$", "MKSTREAM"));
      waiting.send("XREADGROUP", "GROUP", "streams", "streams", "BLOCK", "0", "STREAMS", "s", ">");
      while (!shimmed.redis.ask("CLIENT", "LIST").contains("cmd=xreadgroup")) {
        Thread.onSpinWait();
      }
      assertEquals("+PONG\r\n", other.ask("PING"));
    }
  }

  /** Redis counts the last one, wherever it stands. */
  @Test
  void whoNamesManyUsersIsTheLastOfThem() throws IOException {
    try (var shimmed =
            Shimmed.start(
                settings -> settings.withAccount("default", "secret"), "--requirepass", "secret");
        var high = shimmed.client()) {
      assertTrue(high.ask("HELLO", "3", "AUTH", "default", "secret").startsWith("%7"));
      var rules = "ACL SETUSER low on >low ~* +@all";
      assertEquals("+OK\r\n", high.ask(rules.split(" ", -1)));
      for (var greeting :
          List.of(
              "HELLO 3 AUTH low low AUTH low low AUTH default secret SETNAME n AUTH low low",
              "HELLO 3 AUTH default secret SETNAME " + "n".repeat(100_000) + " AUTH low low")) {
        try (var client = shimmed.client()) {
          // Of somebody whom it does not know Redis takes no such greeting.
          assertEquals("+OK\r\n", client.ask("AUTH", "low", "low"));
          var greeted = client.ask(greeting.split(" ", -1));
          assertTrue(greeted.startsWith("%7"), greeted);
          assertEquals("$3\r\nlow\r\n", client.ask("ACL", "WHOAMI"));
        }
      }
    }
  }

  /** Redis may have taken some of them before it came to the one that it refuses. */
  @Test
  void whoNamesUsersAndIsRefusedIsWhoRedisSays() throws IOException {
    try (var shimmed =
            Shimmed.start(
                settings -> settings.withAccount("default", "secret"), "--requirepass", "secret");
        var high = shimmed.client()) {
      assertEquals("+OK\r\n", high.ask("AUTH", "secret"));
      var rules = "ACL SETUSER low on >low ~* +@all -@write";
      assertEquals("+OK\r\n", high.ask(rules.split(" ", -1)));
      for (var greeting :
          List.of(
              "HELLO 3 AUTH default secret AUTH low wrong",
              "HELLO 3 AUTH low low AUTH default secret AUTH low wrong",
              "HELLO 3 AUTH default secret NOTHING",
              "HELLO 3 AUTH default secret SETNAME \n",
              "HELLO 3 NOTHING AUTH default secret",
              "HELLO 3 AUTH default wrong",
              "HELLO 9 AUTH default secret SETNAME a")) {
        try (var client = shimmed.client();
            var direct = Talk.to(shimmed.redis.port)) {
          for (var request : List.of("AUTH low low", greeting, "ACL WHOAMI", "SET k v", "GET k")) {
            var words = request.split(" ", -1);
            assertEquals(direct.ask(words), client.ask(words), request + " after " + greeting);
          }
        }
      }
    }
  }

  /** The record has no room, and whoever waits for that has the lane that does not answer. */
  @Test
  void whoWaitsForTheRecordHoldsNobodyUpWhoComesLater() throws Exception {
    var patience = Duration.ofMillis(500);
    var room = new CountDownLatch(1);
    var written = new CountDownLatch(1);
    try (var shimmed = Shimmed.start(settings -> settings.withPatience(patience));
        var writing = shimmed.client();
        var waiting = shimmed.client()) {
      shimmed.shim.tape.tell(
          (bytes, from, to) -> {
            var request = new byte[to - from];
            bytes.get(from, request);
            var text = new String(request, StandardCharsets.ISO_8859_1);
            if (text.contains("unanswered")) {
              written.countDown();
            } else if (text.contains("blocked")) {
              awaitRoom(room);
            }
          });
      assertEquals("+PONG\r\n", writing.ask("PING"));
      assertEquals("+OK\r\n", shimmed.redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      writing.send("SET", "unanswered", "v");
      written.await(); // who waits has the lane after it
      waiting.send("GET", "blocked");
      try {
        awaitAnswer(shimmed);
      } finally {
        room.countDown();
      }
    }
  }

  private static void awaitRoom(CountDownLatch room) {
    try {
      room.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void awaitAnswer(Shimmed shimmed) throws IOException {
    while (true) {
      assertFalse(Thread.currentThread().isInterrupted(), "there was no answer in time");
      try (var next = shimmed.client()) {
        next.socket.setSoTimeout(200);
        next.send("GET", "k");
        next.reply();
        return;
      } catch (SocketTimeoutException e) {
        // the lane was not left yet
      }
    }
  }

  @Test
  void aVersionThatRedisDoesNotReadAsANumberIsNone() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      assertEquals(shimmed.redis.ask("HELLO", "03"), client.ask("HELLO", "03"));
    }
  }

  /** What another client has redirected here comes between replies, and not amid one of a lane. */
  @Test
  void whatIsToldUnaskedComesBetweenReplies() throws IOException, InterruptedException {
    var reply = "$1000000\r\n" + "x".repeat(1_000_000) + "\r\n";
    try (var shimmed = Shimmed.start();
        var told = shimmed.client();
        var tracking = shimmed.client();
        var writing = Talk.to(shimmed.redis.port)) {
      assertEquals("+OK\r\n", writing.ask("SET", "big", "x".repeat(1_000_000)));
      assertTrue(told.ask("HELLO", "3").startsWith("%7"));
      var id = told.ask("CLIENT", "ID").substring(1).strip();
      var redirect = "CLIENT TRACKING ON REDIRECT " + id + " BCAST PREFIX k";
      assertEquals("+OK\r\n", tracking.ask(redirect.split(" ", -1)));
      var over = new AtomicBoolean();
      var writer = Thread.ofVirtual().start(() -> writeUntil(over, writing));
      var pushes = 0;
      for (int i = 0; i < 8; i++) {
        told.send("GET", "big");
        var came = told.reply();
        for (; came.startsWith(">"); came = told.reply()) {
          pushes++;
        }
        assertEquals(reply, came);
      }
      over.set(true);
      writer.join();
      assertTrue(pushes > 0, "nothing was told");
    }
  }

  private static void writeUntil(AtomicBoolean over, Talk talk) {
    try {
      while (!over.get()) {
        talk.ask("SET", "k", "v");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Redis ends what is idle for long, and knows of an upstream of a client's own only. */
  @Test
  void whoAsksByALaneIsNotIdle() throws IOException {
    try (var shimmed = Shimmed.start("--timeout", "2");
        var client = shimmed.client()) {
      var id = client.ask("CLIENT", "ID");
      for (int i = 0; i < 2; i++) {
        try (var idle = Talk.to(shimmed.redis.port)) {
          assertEquals("+PONG\r\n", idle.ask("PING"));
          do {
            assertEquals("$-1\r\n", client.ask("GET", "k"));
          } while (!hasEnded(idle));
        }
      }
      assertEquals(id, client.ask("CLIENT", "ID"));
    }
  }

  private static boolean hasEnded(Talk talk) throws IOException {
    talk.socket.setSoTimeout(10);
    try {
      return talk.read(new byte[1]) < 0;
    } catch (SocketTimeoutException e) {
      return false;
    }
  }

  /** Redis says so to who connects, and a client's own connection to it may come later. */
  @Test
  void whoNeedsAnUpstreamThatRedisDoesNotTakeHearsWhy() throws IOException {
    try (var shimmed = Shimmed.start();
        var script = shimmed.client();
        var greeting = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+PONG\r\n", script.ask("PING"));
      assertEquals("+PONG\r\n", greeting.ask("PING"));
      assertEquals("+OK\r\n", other.ask("CONFIG", "SET", "maxclients", "1"));
      var error = "-ERR max number of clients reached\r\n";
      script.send(Inline.join(Identity.request("PING"), Identity.request("EVAL", "return 1", "0")));
      assertEquals("+PONG\r\n" + error, script.rest());
      greeting.send("HELLO", "3");
      assertEquals(error, greeting.rest());
      assertEquals("+PONG\r\n", other.ask("PING"));
    }
  }

  /** HELLO tells the id of the lane. */
  @Test
  void whatIsRedirectedToALaneReachesNobody() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client();
        var tracking = shimmed.client()) {
      var id = client.ask("HELLO", "3").replaceFirst("(?s).*\\$2\r\nid\r\n:([0-9]+).*", "$1");
      assertEquals("+OK\r\n", tracking.ask("CLIENT", "TRACKING", "ON", "REDIRECT", id));
      assertEquals("$-1\r\n", tracking.ask("GET", "a"));
      client.send(
          Inline.join(
              Inline.join(Identity.request("GET", "b"), Identity.request("SET", "a", "1")),
              Identity.request("GET", "a")));
      assertEquals("_\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("$1\r\n1\r\n", client.reply());
    }
  }

  @Test
  void whoGivesAPasswordSharesTheLaneOfItsUser() throws IOException {
    try (var shimmed =
            Shimmed.start(
                settings -> settings.withAccount("default", "secret"), "--requirepass", "secret");
        var one = shimmed.client();
        var two = shimmed.client()) {
      assertEquals("-NOAUTH Authentication required.\r\n", one.ask("GET", "k"));
      assertTrue(one.ask("AUTH", "wrong").startsWith("-WRONGPASS"));
      assertEquals("-NOAUTH Authentication required.\r\n", one.ask("GET", "k"));
      assertEquals("+OK\r\n", one.ask("AUTH", "secret"));
      assertEquals("+OK\r\n", one.ask("SET", "k", "v"));
      assertEquals("-NOAUTH Authentication required.\r\n", two.ask("GET", "k"));
    }
  }

  /** As a second wall: whatever the shim takes a client for, Redis alone lets it in. */
  @Test
  void aLaneIsJoinedByThePasswordThatItWasMadeWith() throws Exception {
    try (var shimmed =
        Shimmed.start(
            settings -> settings.withAccount("default", "secret"), "--requirepass", "secret")) {
      assertNotNull(join(shimmed, "secret"));
      assertNull(join(shimmed, "wrong"));
      assertSame(join(shimmed, "secret"), join(shimmed, "secret"));
    }
  }

  private static @Nullable Lane join(Shimmed shimmed, String password) throws IOException {
    return shimmed.shim.lanes.join(
        Identity.NEW.as("default", password),
        over -> {
          while (!over.getAsBoolean()) {
            LockSupport.park();
          }
        });
  }

  /** Where each client has another one, as with tokens that hold for a while. */
  @Test
  void passwordsOfTheSameUserLeaveNoUpstreamsBehind() throws IOException {
    try (var shimmed = Shimmed.start();
        var stays = shimmed.client()) {
      assertEquals(
          "+OK\r\n", shimmed.redis.ask("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all"));
      assertEquals("+OK\r\n", stays.ask("AUTH", "u", "p"));
      assertEquals("$-1\r\n", stays.ask("GET", "k"));
      for (int i = 0; i < 20; i++) {
        try (var client = shimmed.client()) {
          assertEquals("+OK\r\n", client.ask("AUTH", "u", "p" + i));
          assertEquals("$-1\r\n", client.ask("GET", "k"));
        }
      }
      // Lanes of nobody, of who stays and of who came last, and an upstream of who stays.
      while (shimmed.upstreams() > 4) {
        assertFalse(Thread.currentThread().isInterrupted(), "they are still there");
        Thread.onSpinWait();
      }
      assertEquals("$-1\r\n", stays.ask("GET", "k"));
    }
  }

  @Test
  void aPasswordThatIsSetIsAskedOfThoseWhoComeLater() throws IOException {
    try (var shimmed = Shimmed.start();
        var before = shimmed.client()) {
      assertEquals("+PONG\r\n", before.ask("PING"));
      assertEquals("+OK\r\n", before.ask("CONFIG", "SET", "requirepass", "secret"));
      assertEquals("+PONG\r\n", before.ask("PING"));
      try (var after = shimmed.client()) {
        assertEquals("-NOAUTH Authentication required.\r\n", after.ask("PING"));
      }
    }
  }

  @Test
  void clientsSeeTheirConnectionsEndWhenRedisIsRestarted()
      throws IOException, InterruptedException {
    try (var shimmed = Shimmed.start();
        var idle = shimmed.client();
        var pinned = shimmed.client()) {
      assertEquals("+PONG\r\n", idle.ask("PING"));
      assertTrue(pinned.ask("SUBSCRIBE", "c").startsWith("*3"));
      shimmed.redis.kill();
      assertEquals("<end>", idle.reply());
      assertEquals("<end>", pinned.reply());
      shimmed.redis.startAgain();
      try (var again = shimmed.client()) {
        assertEquals("+PONG\r\n", again.ask("PING"));
      }
    }
  }

  /** Of what comes by a line nothing gets to the others but what every Redis reads alike. */
  @Test
  void aLineThatRedisDoesNotSeeTheEndOfHoldsNobodyUp() throws IOException {
    try (var shimmed = Shimmed.start();
        var other = shimmed.client()) {
      for (var line : List.of("PING \0 x\r\n", "SET k \0\r\n", "\0\r\n", "GET \"a\0\"\r\n")) {
        try (var client = shimmed.client()) {
          client.send(Inline.ascii(line));
          assertEquals("+PONG\r\n", other.ask("PING"), line);
        }
      }
      try (var client = shimmed.client()) {
        client.send(Inline.ascii("MGET" + " k".repeat(20_000) + "\r\n"));
        assertEquals("*20000\r\n" + "$-1\r\n".repeat(20_000), client.reply());
        assertEquals("+PONG\r\n", other.ask("PING"));
      }
    }
  }

  /** Redis ends connections of nobody that say too much, and others are on the same. */
  @Test
  void nobodyCannotHaveOthersLetGo() throws IOException {
    try (var shimmed =
            Shimmed.start(
                settings -> settings.withAccount("default", "secret"), "--requirepass", "secret");
        var other = shimmed.client()) {
      var words = "MSET" + " k v".repeat(10);
      for (var saying :
          List.of(
              Identity.request(words.split(" ", -1)),
              Inline.ascii(words + "\r\n"),
              Inline.join(
                  Identity.request("MULTI"),
                  Inline.join(Identity.request(words.split(" ", -1)), Identity.request("EXEC"))),
              Identity.request("SET", "k", "x".repeat(20_000)))) {
        try (var client = shimmed.client()) {
          client.send(saying);
          assertTrue(client.reply().startsWith("-"));
          assertEquals("-NOAUTH Authentication required.\r\n", other.ask("PING"));
        }
      }
    }
  }

  @Test
  void clusterModeIsRefused() throws IOException {
    // Else its port for the cluster would be 10,000 above that for clients, if there is one.
    var port = Integer.toString(FreePorts.next());
    String[] cluster = {"--cluster-enabled", "yes", "--cluster-port", port};
    var complaint = assertThrows(IOException.class, () -> Shimmed.start(cluster).close());
    assertTrue(complaint.toString().contains("cluster mode"));
  }

  @Test
  void aClientThatDoesNotReadHoldsNobodyUpAndGetsAllLater() throws IOException {
    int count = 400;
    try (var shimmed = Shimmed.start(settings -> settings.withSpill(directory, 1L << 30));
        var slow = shimmed.client();
        var other = shimmed.client()) {
      var value = "x".repeat(100_000);
      assertEquals("+OK\r\n", other.ask("SET", "big", value));
      for (int i = 0; i < count; i++) {
        slow.send("GET", "big");
      }
      for (int i = 0; i < 100; i++) {
        assertEquals("+PONG\r\n", other.ask("PING"));
      }
      for (int i = 0; i < count; i++) {
        assertEquals("$100000\r\n" + value + "\r\n", slow.reply());
      }
      assertEquals(1, shimmed.upstreams() - 1, "one was made for the long request");
    }
  }

  /**
   * What is not replied to is remembered: so no more is read of who asks for more and more. But it
   * may read nothing before it has said all, as it may with Redis alone.
   */
  @Test
  void whoAsksMuchThatIsNotRepliedToWaitsUntilSomeIs() throws Exception {
    int count = 100_000;
    var request = "PING " + "x".repeat(200) + "\r\n";
    var reply = "$200\r\n" + "x".repeat(200) + "\r\n";
    var taken = new Semaphore(0);
    try (var shimmed = Shimmed.start(settings -> settings.withSpill(directory, 1L << 30));
        var client = shimmed.client();
        var other = shimmed.client()) {
      client.send("BLPOP", "none", "0");
      shimmed.shim.tape.tell((_, _, _) -> taken.release());
      var sending =
          new FutureTask<@Nullable Void>(
              () -> {
                for (int i = 0; i < count; i += 1000) {
                  client.send(Inline.ascii(request.repeat(1000)));
                }
                return null;
              });
      Thread.ofPlatform().daemon().start(sending);
      int asked = 0;
      while (taken.tryAcquire(2, TimeUnit.SECONDS)) {
        asked++;
      }
      assertTrue(asked < count / 2, asked + " are remembered");
      assertEquals(":1\r\n", other.ask("RPUSH", "none", "v"));
      sending.get(20, TimeUnit.SECONDS);
      assertEquals("*2\r\n$4\r\nnone\r\n$1\r\nv\r\n", client.reply());
      for (int i = 0; i < count; i++) {
        assertEquals(reply, client.reply());
      }
    }
  }

  @Test
  void aClientThatNeverReadsIsDropped() throws IOException {
    try (var shimmed = Shimmed.start(settings -> settings.withSpill(directory, 1 << 20));
        var slow = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+OK\r\n", other.ask("SET", "big", "x".repeat(1_000_000)));
      assertThrows(
          IOException.class,
          () -> {
            while (true) {
              slow.send("GET", "big");
            }
          });
      assertEquals("+PONG\r\n", other.ask("PING"));
    }
  }

  @Test
  void repliesArePassedOnBeforeAClientThatSaysNoMoreIsLetGo() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      client.send("PING");
      client.send("CLIENT", "GETNAME");
      client.send("PING");
      client.socket.shutdownOutput();
      assertEquals("+PONG\r\n$-1\r\n+PONG\r\n", client.readAll());
    }
  }

  @Test
  void clientsAreLetGoWhenAllIsRepliedTo() throws IOException, InterruptedException {
    try (var shimmed = Shimmed.start();
        var blocked = shimmed.client();
        var idle = shimmed.client()) {
      assertEquals("+PONG\r\n", idle.ask("PING"));
      blocked.send("BLPOP", "list", "0");
      while (!shimmed.redis.ask("CLIENT", "LIST").contains("cmd=blpop")) {
        Thread.onSpinWait();
      }
      var draining = Thread.ofVirtual().start(() -> shimmed.shim.drain(Duration.ofSeconds(20)));
      assertEquals("<end>", idle.reply());
      shimmed.redis.ask("RPUSH", "list", "v");
      assertEquals("*2\r\n$4\r\nlist\r\n$1\r\nv\r\n", blocked.reply());
      draining.join();
    }
  }

  /** What may not go to its database is not carried out in another one, however long it is. */
  @Test
  void aLongRequestWhoseDatabaseIsRefusedIsRefusedAsAWhole() throws IOException {
    var value = "x".repeat(200_000);
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("SELECT", "1"));
      assertEquals("+OK\r\n", shimmed.redis.ask("ACL", "SETUSER", "default", "-select"));
      client.send(
          Inline.join(Identity.request("SET", "k", value), Identity.request("CLIENT", "GETNAME")));
      assertTrue(client.reply().startsWith("-NOPERM"));
      assertEquals("$-1\r\n", client.reply());
      assertTrue(client.ask("NOSUCH", value).startsWith("-NOPERM"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** Also if it would not be any more at its end, as when a script has ended meanwhile. */
  @Test
  void aLongRequestThatIsRefusedAtItsBeginningStaysSo() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      beginRefused(client, shimmed);
      assertEquals("+OK\r\n", shimmed.redis.ask("ACL", "SETUSER", "default", "+select"));
      client.send(Inline.join(new byte[100_000], Inline.ascii("\r\n")));
      assertTrue(client.reply().startsWith("-NOPERM"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
      assertEquals(":0\r\n", client.ask("EXISTS", "k"));
      assertEquals("+OK\r\n", client.ask("SET", "k", "x".repeat(200_000)));
      assertEquals(":200000\r\n", client.ask("STRLEN", "k"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** Nobody can tell then what is a value and what a request. */
  @Test
  void aRefusedRequestWithoutAnEndEndsItsClient() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      beginRefused(client, shimmed);
      client.send(Inline.join(new byte[100_000], Inline.ascii("??\r\nSET k v\r\nSET k v\r\n")));
      assertEquals("", client.rest());
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** A line that is too long for the shim may be good to Redis: it is not done elsewhere either. */
  @Test
  void whatOnlyRedisCanReadIsNotDoneInAnotherDatabase() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      isRefusedItsDatabase(client, shimmed);
      client.send(Inline.ascii("SET k " + "x".repeat(Buffers.SIZE - 6)));
      assertTrue(client.reply().startsWith("-NOPERM"));
      assertEquals("", client.rest());
    }
  }

  /** Else nobody would hear that its database is refused, and all were done in another one. */
  @Test
  void whoMayNotGoToItsDatabaseIsNotSilenced() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      isRefusedItsDatabase(client, shimmed);
      for (var how : List.of("OFF", "SKIP")) {
        assertTrue(client.ask("CLIENT", "REPLY", how).startsWith("-NOPERM"));
        assertTrue(client.ask("SET", "k", "v").startsWith("-NOPERM"));
      }
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
      assertEquals("+OK\r\n", shimmed.redis.ask("ACL", "SETUSER", "default", "+select"));
      client.send("CLIENT", "REPLY", "OFF");
      client.send("SET", "k", "v");
      assertEquals("+OK\r\n", client.ask("CLIENT", "REPLY", "ON"));
      assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** Redis would carry out nothing of what acts in a database, and says what it takes. */
  @Test
  void whoMayNotGoToItsDatabaseHearsWhatItHasSubscribedTo() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      isRefusedItsDatabase(client, shimmed);
      assertTrue(client.ask("SUBSCRIBE", "c").startsWith("*3"));
      assertEquals("*2\r\n$4\r\npong\r\n$0\r\n\r\n", client.ask("PING"));
      assertTrue(client.ask("GET", "k").startsWith("-ERR Can't execute 'get'"));
      assertTrue(client.ask("UNSUBSCRIBE", "c").startsWith("*3"));
      assertTrue(client.ask("SET", "k", "v").startsWith("-NOPERM"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** Else it would be taken for one that Redis holds back for ever, and act in another database. */
  @Test
  void whoseRepliesAreLostWhileItIsHeldBackIsLetGo() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      isRefusedItsDatabase(client, shimmed);
      assertTrue(client.ask("SUBSCRIBE", "c").startsWith("*3"));
      assertTrue(client.ask("REPLCONF", "capa", "eof").startsWith("-ERR Can't execute"));
      client.send("UNSUBSCRIBE", "c");
      client.send("SET", "k", "v");
      client.rest();
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  /** Nor does it matter if its client goes. */
  @Test
  void aRefusedRequestMayHaveNoEnd() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      beginRefused(client, shimmed);
      client.socket.shutdownOutput();
      assertEquals("", client.rest());
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }

  private static void isRefusedItsDatabase(Talk client, Shimmed shimmed) throws IOException {
    assertEquals("+OK\r\n", client.ask("SELECT", "1"));
    assertEquals("+OK\r\n", shimmed.redis.ask("ACL", "SETUSER", "default", "-select"));
    assertTrue(client.ask("CLIENT", "ID").startsWith(":"), "it has an upstream of its own");
  }

  /** Returns when half of a SET has come whose client may not go to its database. */
  private static void beginRefused(Talk client, Shimmed shimmed) throws IOException {
    isRefusedItsDatabase(client, shimmed);
    assertEquals("+OK\r\n", shimmed.redis.ask("ACL", "LOG", "RESET"));
    var beginning = Inline.ascii("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$200000\r\n");
    client.send(Inline.join(beginning, new byte[100_000]));
    while (!shimmed.redis.ask("ACL", "LOG").contains("select")) {
      Thread.onSpinWait();
    }
  }
}
