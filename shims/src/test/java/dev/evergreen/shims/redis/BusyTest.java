package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** From where a busy script, or a pause, can be ended, and who is served meanwhile. */
@Timeout(60)
class BusyTest {
  private static final String[] THRESHOLD = {"--busy-reply-threshold", "10"};

  private static final String ENDLESS = "while true do end";

  /** Is busy for long, and ends by itself. */
  private static final String LONG =
      """
      local from = redis.call('TIME')
      local now = from
      while (now[1] - from[1]) * 1000000 + now[2] - from[2] < 1500000 do
        now = redis.call('TIME')
      end
      return 'over'
      """;

  private static final String LIBRARY =
      "#!lua name=busy\nredis.register_function('endless', function() while true do end end)";

  private static final byte[] KILL = Identity.request("SCRIPT", "KILL");

  private static final byte[] UNPAUSE = Identity.request("CLIENT", "UNPAUSE");
  private static final byte[] GET = Identity.request("GET", "k");

  private static Shimmed shimmed() throws IOException {
    return Shimmed.start(settings -> settings.withPatience(Duration.ofMillis(600)), THRESHOLD);
  }

  private static byte[] all(byte[]... requests) {
    return Arrays.stream(requests).reduce(new byte[0], Inline::join);
  }

  /** Asks what the lane does not answer, until it was left, and who comes now has another one. */
  private static void askUntilLeft(Talk client, Shimmed shimmed) throws IOException {
    client.send(GET);
    boolean left = false;
    while (!left) {
      assertFalse(Thread.currentThread().isInterrupted(), "it was not left in time");
      try (var next = shimmed.client()) {
        next.socket.setSoTimeout(200);
        next.ask("STRLEN", "k");
        left = true;
      } catch (SocketTimeoutException e) {
        left = false;
      }
    }
  }

  /** The lane is left as soon as Redis would say that it is busy. */
  @ParameterizedTest
  @ValueSource(strings = {"busy-reply-threshold", "LUA-TIME-LIMIT"})
  void aThresholdThatIsChangedHoldsForLanesToo(String setting) throws IOException {
    try (var shimmed = Shimmed.start("--busy-reply-threshold", "3600000");
        var writing = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("CONFIG", "SET", "save", "", setting, "10"));
      pauseLane(shimmed, writing, client);
      askUntilLeft(client, shimmed);
    }
  }

  /** Seen: the shim took it for the end of the pause, and had reads wait behind writes. */
  @Test
  void whoEndsAScriptEndsNoPause() throws IOException {
    try (var shimmed =
            Shimmed.start(settings -> settings.withPatience(Duration.ofHours(1)), THRESHOLD);
        var busy = shimmed.client();
        var writing = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      busy.send("EVAL_RO", ENDLESS, "0");
      shimmed.redis.awaitBusy();
      assertEquals("+OK\r\n", client.ask("SCRIPT", "KILL"));
      assertTrue(busy.reply().contains("Script killed by user"));
      writing.send("SET", "k", "v");
      awaitPaused(shimmed);
      assertEquals("$-1\r\n", client.ask("GET", "k"));
      assertEquals("+OK\r\n", client.ask("CLIENT", "UNPAUSE"));
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  /** Seen: the shim ended it as the default user for one whose password had changed meanwhile. */
  @Test
  void aPauseIsEndedOnlyByWhoMay() throws IOException {
    try (var shimmed = Shimmed.start(THRESHOLD);
        var admin = shimmed.client();
        var bob = shimmed.client()) {
      assertEquals(
          "+OK\r\n",
          admin.ask("ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all", "-client|unpause"));
      assertEquals("+OK\r\n", bob.ask("AUTH", "bob", "pw"));
      assertEquals("+OK\r\n", bob.ask("SET", "k", "v"));
      assertEquals("+OK\r\n", admin.ask("ACL", "SETUSER", "bob", "resetpass", ">other"));
      assertEquals("+OK\r\n", admin.ask("CLIENT", "PAUSE", "3000", "WRITE"));
      bob.send(all(Identity.request("SET", "k", "w"), UNPAUSE));
      assertEquals("+OK\r\n", bob.reply());
      assertTrue(bob.reply().startsWith("-"));
      assertFalse(admin.ask("INFO", "commandstats").contains("client|unpause:calls=1"));
    }
  }

  @Test
  void toRedisAloneAClientMayAskOnAndThenEndTheScriptOfAnother() throws IOException {
    try (var redis = RedisServer.start(THRESHOLD);
        var busy = Talk.to(redis.port);
        var client = Talk.to(redis.port)) {
      busy.send("EVAL", ENDLESS, "0");
      redis.awaitBusy();
      client.send(all(GET, GET, KILL));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.reply());
      assertTrue(busy.reply().contains("Script killed by user"));
    }
  }

  /** It asks on, and hears at once that Redis is busy. */
  @Test
  void aClientMayAskOnAndThenEndTheScriptOfAnother() throws IOException {
    try (var redis = RedisServer.start(THRESHOLD);
        var busy = Talk.to(redis.port);
        var client = Talk.to(redis.port)) {
      endsTheScriptOf(busy, client, redis);
    }
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      endsTheScriptOf(busy, client, shimmed.redis);
    }
  }

  private static void endsTheScriptOf(Talk busy, Talk client, RedisServer redis)
      throws IOException {
    assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
    busy.send("EVAL", ENDLESS, "0");
    redis.awaitBusy();
    client.send(all(Identity.request("APPEND", "k", "w"), GET, KILL));
    assertTrue(client.reply().startsWith("-BUSY"));
    assertTrue(client.reply().startsWith("-BUSY"));
    assertEquals("+OK\r\n", client.reply());
    assertTrue(busy.reply().contains("Script killed by user"));
    assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
  }

  @Test
  void aClientMayAskOnAndThenEndTheFunctionOfAnother() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("$4\r\nbusy\r\n", client.ask("FUNCTION", "LOAD", LIBRARY));
      busy.send("FCALL", "endless", "0");
      shimmed.redis.awaitBusy();
      client.send(all(GET, Identity.request("FUNCTION", "KILL")));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.reply());
      assertTrue(busy.reply().contains("Script killed by user"));
    }
  }

  @Test
  void aClientMayAskOnAndThenEndAPause() throws IOException {
    try (var redis = RedisServer.start();
        var client = Talk.to(redis.port)) {
      assertEquals("+OK\r\n", redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      client.send(all(GET, UNPAUSE));
      assertEquals("$-1\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
    }
    try (var shimmed = shimmed();
        var writing = shimmed.client();
        var client = shimmed.client()) {
      pauseLane(shimmed, writing, client);
      client.send(all(GET, UNPAUSE));
      assertReadsWhatIsWritten(client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  /** If the lane was left before, as on a slow machine, the read goes past the paused write. */
  private static void assertReadsWhatIsWritten(String reply) {
    assertTrue(Set.of("$1\r\nw\r\n", "$1\r\nv\r\n").contains(reply), reply);
  }

  private static Shimmed patient() throws IOException {
    return Shimmed.start(settings -> settings.withPatience(Duration.ofHours(1)));
  }

  private static Lane lane(Shimmed shimmed) throws IOException {
    return Objects.requireNonNull(shimmed.shim.lanes.join(Identity.NEW, over -> {}));
  }

  /** As if the lane had owed its replies for so long. */
  private static Lane hasBeenSilent(Shimmed shimmed, Duration time) throws IOException {
    var lane = lane(shimmed);
    lane.progressNanos = System.nanoTime() - time.toNanos();
    return lane;
  }

  /** Returns when the lane has another request behind the write that Redis holds back. */
  private static void awaitBehindWrite(Shimmed shimmed) throws IOException {
    var lane = lane(shimmed);
    while (lane.outstanding() < 2) {
      Thread.onSpinWait();
    }
  }

  /** It does not begin to count when somebody begins to wait. */
  @Test
  void whoAsksALaneThatWasSilentForLongWaitsForWhatIsLeftOfItsTime() throws IOException {
    try (var shimmed = patient();
        var writing = shimmed.client();
        var client = shimmed.client()) {
      pauseLane(shimmed, writing, client);
      hasBeenSilent(shimmed, Duration.ofHours(1).minusSeconds(2));
      client.send(all(GET, UNPAUSE));
      assertEquals("$1\r\nw\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  @Test
  void soDoesWhoNeedsItToGoToAnotherDatabase() throws IOException {
    try (var shimmed = patient();
        var writing = shimmed.client();
        var client = shimmed.client();
        var other = shimmed.client()) {
      assertEquals("+OK\r\n", other.ask("SELECT", "1"));
      pauseLane(shimmed, writing, client);
      hasBeenSilent(shimmed, Duration.ofHours(1).minusSeconds(2));
      assertEquals("$-1\r\n", other.ask("GET", "k"));
      assertEquals("+OK\r\n", other.ask("CLIENT", "UNPAUSE"));
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  /** What its lane owes it does not come before the pause's end, nor what it asks behind that. */
  @Test
  void whatAClientAsksBehindItsLaneIsDoneInItsOrder() throws IOException {
    try (var shimmed = patient();
        var writing = shimmed.client();
        var client = shimmed.client()) {
      pauseLane(shimmed, writing, client);
      client.send("APPEND", "k", "x");
      // By another lane, if this one were left, it might be done before what the first one holds.
      awaitBehindWrite(shimmed);
      hasBeenSilent(shimmed, Duration.ofHours(2));
      client.send(all(UNPAUSE, Identity.request("APPEND", "k", "y"), GET));
      assertEquals(":2\r\n", client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals(":3\r\n", client.reply());
      assertEquals("$3\r\nwxy\r\n", client.reply());
      assertEquals("+OK\r\n", writing.reply());
      assertEquals("+PONG\r\n", client.ask("PING"));
    }
  }

  /** What waits for the lane is done in its turn, and the end of the pause does not wait for it. */
  @ParameterizedTest
  @CsvSource({
    "SELECT 1, +OK",
    "EVAL return(1) 0, :1",
    "CLIENT GETNAME, $-1",
    "SELECT 1;EVAL return(1) 0;CLIENT SETNAME n;WATCH k;SELECT 0, +OK",
    "MULTI;EVAL return(1) 0;SET k x;EXEC, +OK",
    "CONFIG GET nothing;ACL WHOAMI, *0",
    "MANY, +PONG"
  })
  void aClientMayAskForWhatWaitsAndThenEndAPause(String requests, String reply) throws IOException {
    var between =
        requests.equals("MANY")
            ? "PING\r\n".repeat(3 * Session.MOST_AT_ONCE)
            : requests.replace(";", "\r\n") + "\r\n";
    for (boolean later : new boolean[] {false, true}) {
      try (var shimmed = patient();
          var writing = shimmed.client();
          var client = shimmed.client()) {
        pauseLane(shimmed, writing, client);
        client.send(GET);
        // By another lane it would be replied to, and Redis hold back a script that comes next, and
        // all behind that on its connection: also the end of the pause.
        awaitBehindWrite(shimmed);
        var lane = hasBeenSilent(shimmed, Duration.ofHours(1).minusMillis(100));
        var end = all(UNPAUSE, Identity.request("ECHO", "the end"));
        client.send(later ? Inline.ascii(between) : all(Inline.ascii(between), end));
        while (later && !lane.isStuck()) {
          Thread.onSpinWait();
        }
        client.send(later ? end : new byte[0]);
        assertEquals("$1\r\nw\r\n", client.reply());
        var rest = client.readUntil("the end\r\n");
        assertTrue(rest.startsWith(reply), rest);
        assertTrue(rest.endsWith("+OK\r\n$7\r\nthe end\r\n"), rest);
        assertEquals("+OK\r\n", writing.reply());
      }
    }
  }

  private static String array(String... words) {
    return new String(Identity.request(words), StandardCharsets.ISO_8859_1);
  }

  private static boolean endsPause(String... said) {
    var all = ByteBuffer.wrap(String.join("", said).getBytes(StandardCharsets.ISO_8859_1));
    boolean atOnce = new PauseEnd(0).isIn(all, all.capacity());
    var inPieces = new PauseEnd(0);
    int end = 0;
    while (end < all.capacity() && !inPieces.isIn(all, end)) {
      end++;
    }
    assertEquals(atOnce, inPieces.isIn(all, end), "however it is cut");
    return atOnce;
  }

  @Test
  void whatEndsAPauseIsFoundBehindOthers() {
    var unpause = array("CLIENT", "UNPAUSE");
    assertTrue(endsPause(unpause));
    assertTrue(endsPause("client unPause\r\n"));
    assertTrue(
        endsPause(
            array("GET", "k"),
            "*0\r\n",
            array("SET", "k", unpause),
            array("EVAL", "return 1", "0"),
            "GET \"a b\"\r\n",
            array("MULTI"),
            unpause,
            array("EXEC"),
            unpause));
    for (int length = 0; length < unpause.length(); length++) {
      assertFalse(endsPause(array("GET", "k"), unpause.substring(0, length)), "" + length);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "MULTI",
        "QUIT",
        "RESET",
        "AUTH user password",
        "HELLO 3",
        "SUBSCRIBE c",
        "MONITOR",
        "BLPOP k 0",
        "WAIT 1 0",
        "CLIENT REPLY OFF",
        "REPLICAOF NO ONE",
        "SYNC",
        "GET \"",
        "GET \0",
        "*1\r\n+strange",
        "*1\r\n$1000000"
      })
  void nothingIsFoundBehindWhatMayMakeAnotherRequestOfIt(String before) {
    assertFalse(endsPause(before + "\r\n", array("CLIENT", "UNPAUSE")));
  }

  /** However what it asks is cut. */
  @Test
  void aClientMayAskBitByBitAndThenEndAPause() throws IOException {
    try (var shimmed = shimmed();
        var writing = shimmed.client();
        var client = shimmed.client()) {
      pauseLane(shimmed, writing, client);
      for (byte b : all(GET, Inline.ascii("client UNPAUSE\r\n"), GET)) {
        client.send(new byte[] {b});
      }
      assertReadsWhatIsWritten(client.reply());
      assertEquals("+OK\r\n", client.reply());
      assertEquals("$1\r\nw\r\n", client.reply());
      assertEquals("+OK\r\n", writing.reply());
    }
  }

  /** Returns when the lane waits for a write of somebody else. */
  private static void pauseLane(Shimmed shimmed, Talk writing, Talk client) throws IOException {
    assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
    assertEquals("+OK\r\n", shimmed.redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
    writing.send("SET", "k", "w");
    awaitPaused(shimmed);
  }

  /** Returns when Redis holds back a SET, which is not the one that the lane has said before. */
  private static void awaitPaused(Shimmed shimmed) throws IOException {
    while (shimmed
        .redis
        .ask("CLIENT", "LIST")
        .lines()
        .noneMatch(line -> line.contains(" flags=b ") && line.contains(" cmd=set "))) {
      Thread.onSpinWait();
    }
  }

  /** It does not count when the client has gone, or was let go. */
  @Test
  void whatEndsAPauseForAClientEndsWithIt() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + gate.port()).withPatience(Duration.ofMillis(300)));
        var client = Talk.to(Shimmed.port(shim))) {
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      assertEquals("+OK\r\n", redis.ask("CLIENT", "PAUSE", "100000", "WRITE"));
      gate.mute();
      long before = gate.connections();
      client.send(all(Identity.request("SET", "k", "w"), UNPAUSE));
      while (gate.connections() == before) {
        Thread.onSpinWait();
      }
      // The lane.
      redis.ask("CLIENT", "KILL", "ID", idOfPaused(redis));
      assertEquals("", client.rest());
      while (gate.connections() >= before) {
        assertFalse(Thread.currentThread().isInterrupted(), "somebody waits still");
        Thread.onSpinWait();
      }
    }
  }

  private static String idOfPaused(RedisServer redis) {
    return redis
        .ask("CLIENT", "LIST")
        .lines()
        .filter(line -> line.contains(" flags=b "))
        .map(line -> line.replaceAll("^id=(\\d+) .*", "$1"))
        .findFirst()
        .orElseThrow();
  }

  /** Redis does not read on from the connection whose script it runs. */
  @Test
  void nobodyEndsAScriptOfItsOwnByTheSameConnection() throws IOException {
    var said = all(Identity.request("EVAL", LONG, "0"), GET, KILL);
    try (var redis = RedisServer.start(THRESHOLD);
        var client = Talk.to(redis.port)) {
      client.send(said);
      assertEquals("$4\r\nover\r\n", client.reply());
      assertEquals("$-1\r\n", client.reply());
      assertTrue(client.reply().startsWith("-NOTBUSY"));
    }
    try (var shimmed = shimmed();
        var client = shimmed.client()) {
      client.send(said);
      assertEquals("$4\r\nover\r\n", client.reply());
      assertEquals("$-1\r\n", client.reply());
      assertTrue(client.reply().startsWith("-NOTBUSY"));
    }
  }

  /** It waits for its lane to get there, and nobody else comes who would leave the lane. */
  @Test
  void aClientInAnotherDatabaseHearsThatRedisIsBusyAndEndsThat() throws IOException {
    try (var redis = RedisServer.start(THRESHOLD);
        var busy = Talk.to(redis.port);
        var client = Talk.to(redis.port)) {
      assertEquals("+OK\r\n", client.ask("SELECT", "1"));
      busy.send("EVAL", ENDLESS, "0");
      redis.awaitBusy();
      client.send(all(GET, KILL));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.reply());
    }
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("+OK\r\n", client.ask("SELECT", "1"));
      assertEquals("$-1\r\n", busy.ask("GET", "k"));
      busy.send("EVAL", ENDLESS, "0");
      shimmed.redis.awaitBusy();
      client.send(all(GET, KILL));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.reply());
      assertTrue(busy.reply().contains("Script killed by user"));
    }
  }

  @Test
  void aClientThatGoesToAnotherDatabaseMayEndTheScriptOfAnother() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      assertEquals("$-1\r\n", client.ask("GET", "k"));
      busy.send("EVAL", ENDLESS, "0");
      shimmed.redis.awaitBusy();
      client.send(all(Identity.request("SELECT", "1"), KILL));
      assertTrue(client.reply().startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.reply());
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals("$-1\r\n", busy.ask("GET", "k"));
    }
  }

  @Test
  void aClientThatGreetsBeforeItEndsAScriptIsSpokenToInItsVersion() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      busy.send("EVAL", ENDLESS, "0");
      shimmed.redis.awaitBusy();
      client.send(all(Identity.request("HELLO", "3"), KILL));
      assertTrue(client.reply().startsWith("%"));
      assertEquals("+OK\r\n", client.reply());
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals(">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", client.ask("SUBSCRIBE", "c"));
    }
  }

  private static final byte[] WHOLE =
      all(Identity.request("MULTI"), Identity.request("SET", "k", "v"), Identity.request("EXEC"));

  /** A client in another database than the first, while a script is busy. */
  private static void isBusy(Talk client, Talk busy, Shimmed shimmed) throws IOException {
    assertEquals("+OK\r\n", client.ask("SELECT", "1"));
    busy.send("EVAL", ENDLESS, "0");
    shimmed.redis.awaitBusy();
  }

  private static void endBusy(Talk busy, Shimmed shimmed) throws IOException {
    assertEquals("+OK\r\n", shimmed.redis.ask("SCRIPT", "KILL"));
    assertTrue(busy.reply().contains("Script killed by user"));
  }

  private static void wasDiscarded(Talk client, Shimmed shimmed) throws IOException {
    assertTrue(client.reply().startsWith("-EXECABORT"));
    assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    assertEquals(":0\r\n", client.ask("EXISTS", "k"));
    client.send(WHOLE);
    assertEquals("+OK\r\n", client.reply());
    assertEquals("+QUEUED\r\n", client.reply());
    assertEquals("*1\r\n+OK\r\n", client.reply());
    assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
  }

  @Test
  void toRedisAloneATransactionThatIsRefusedInPartIsDiscarded() throws IOException {
    try (var redis = RedisServer.start(THRESHOLD);
        var busy = Talk.to(redis.port);
        var client = Talk.to(redis.port)) {
      assertEquals("+OK\r\n", client.ask("SELECT", "1"));
      busy.send("EVAL", ENDLESS, "0");
      redis.awaitBusy();
      assertEquals("+OK\r\n", client.ask("WATCH", "k"));
      assertEquals("+OK\r\n", client.ask("MULTI"));
      assertTrue(client.ask("SET", "k", "v").startsWith("-BUSY"));
      assertEquals("+OK\r\n", redis.ask("SCRIPT", "KILL"));
      assertTrue(busy.reply().contains("Script killed by user"));
      assertEquals("+QUEUED\r\n", client.ask("SET", "k", "v"));
      assertTrue(client.ask("EXEC").startsWith("-EXECABORT"));
    }
  }

  /** Its upstream is not in its database: nothing of it is carried out there, or alone. */
  @Test
  void aTransactionThatBeginsWhileRedisIsBusyIsDiscarded() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      isBusy(client, busy, shimmed);
      assertEquals("+OK\r\n", client.ask("MULTI"));
      assertTrue(client.ask("SET", "k", "v").startsWith("-BUSY"));
      endBusy(busy, shimmed);
      assertEquals("+QUEUED\r\n", client.ask("SET", "k", "v"));
      client.send(all(Identity.request("SET", "k", "x".repeat(200_000)), Identity.request("EXEC")));
      assertEquals("+QUEUED\r\n", client.reply());
      wasDiscarded(client, shimmed);
    }
  }

  /** Nobody would notice who writes what is not watched. */
  @Test
  void aTransactionBehindAWatchThatWasRefusedIsDiscarded() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      isBusy(client, busy, shimmed);
      assertTrue(client.ask("WATCH", "k").startsWith("-BUSY"));
      endBusy(busy, shimmed);
      client.send(WHOLE);
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+QUEUED\r\n", client.reply());
      wasDiscarded(client, shimmed);
    }
  }

  @Test
  void whoWatchesNothingAnyMoreHasItsTransactionCarriedOut() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      isBusy(client, busy, shimmed);
      assertTrue(client.ask("WATCH", "k").startsWith("-BUSY"));
      assertEquals("+OK\r\n", client.ask("UNWATCH"));
      endBusy(busy, shimmed);
      client.send(WHOLE);
      assertEquals("+OK\r\n", client.reply());
      assertEquals("+QUEUED\r\n", client.reply());
      assertEquals("*1\r\n+OK\r\n", client.reply());
    }
  }

  /** What only servers say. */
  @Test
  void whoSpeaksAsAServerWhileRedisIsBusyIsRepliedToOnce() throws IOException {
    try (var shimmed = shimmed();
        var busy = shimmed.client();
        var client = shimmed.client()) {
      isBusy(client, busy, shimmed);
      var _ = client.ask("REPLCONF", "capa", "eof");
      endBusy(busy, shimmed);
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
      assertEquals(":0\r\n", shimmed.redis.ask("EXISTS", "k"));
    }
  }
}
