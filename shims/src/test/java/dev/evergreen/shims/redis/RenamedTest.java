package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.SpoolSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A Redis whose commands have other names, and says what they stand for, or does not: what clients
 * say at random.
 */
@Timeout(120)
class RenamedTest {
  private static final int STREAMS = Integer.getInteger("evergreen.shim.streams", 30);
  private static final long SEED = Long.getLong("evergreen.seed", System.nanoTime());

  private static final String[] OPTIONS =
      """
      --rename-command SELECT go --rename-command CLIENT xc --rename-command MULTI many --rename-command FLUSHALL zap
      --rename-command WATCH look --rename-command SUBSCRIBE sub --rename-command KEYS zk
      --rename-command AUTH let --rename-command HELLO hey --rename-command CONFIG cfg
      --rename-command ACL rule --rename-command EVAL run --rename-command INCR plus
      --rename-command EXEC do --rename-command SETNX put --rename-command MIGRATE carry
      """
          .strip()
          .split("\\s+", -1);

  /** Redis tells nothing where this has another name, too. */
  private static String[] options(boolean tells) {
    return tells
        ? OPTIONS
        : Stream.concat(Stream.of(OPTIONS), Stream.of("--rename-command", "COMMAND", "tell"))
            .toArray(String[]::new);
  }

  /** About data, of known names and of others. */
  private static final List<String> OF_DATA =
      List.of(
          "SET k 1",
          "SET k 2",
          "GET k",
          "plus n",
          "PLUS n",
          "GET n",
          "put z 4",
          "put k 5",
          "APPEND z 1",
          "DEL k",
          "zk *",
          "nobody a",
          "zap");

  /** About connections, of known names and of others. */
  private static final List<String> OF_CONNECTIONS =
      List.of(
          "go 1",
          "go 0",
          "go 99",
          "xc REPLY SKIP",
          "xc REPLY OFF",
          "xc REPLY ON",
          "xc GETNAME",
          "many",
          "do",
          "DISCARD",
          "xc SETNAME me",
          "hey 3",
          "hey 2 SETNAME you",
          "let nobody wrong",
          "let default any",
          "look k",
          "sub c",
          "UNSUBSCRIBE",
          "RESET",
          "HELLO 3",
          "SELECT 1",
          "MULTI",
          "BLPOP none 0.01",
          "run return(1) 0");

  private static final String[] LAST = {"DISCARD", "RESET", "xc REPLY ON"};

  /** What is a password. */
  private static final String HUSH = "hush";

  private static final List<String> OF_SECRETS =
      List.of(
          "let default hush",
          "hey 3 AUTH default hush",
          "hey AUTH default hush",
          "cfg SET masterauth hush",
          "cfg GET masterauth",
          "CFG GET *",
          "rule SETUSER bob on >hush",
          "rule DRYRUN bob let hush",
          "carry 127.0.0.1 1 k 0 9 AUTH hush");

  @TempDir private Path directory;

  private static List<String> some(Random random, boolean ofConnections) {
    var some = new ArrayList<String>();
    for (int i = random.nextInt(12); i >= 0; i--) {
      boolean next = ofConnections && random.nextInt(3) > 0;
      some.add(Histories.pick(random, next ? OF_CONNECTIONS : OF_DATA));
    }
    return some;
  }

  /** Says all that at once, and then what has Redis speak if it does not; reads until the end. */
  private static String said(int port, List<String> requests, String... then) throws IOException {
    var bytes = new ByteArrayOutputStream();
    for (var list : List.of(requests, List.of(then), List.of("ECHO end"))) {
      list.forEach(request -> bytes.writeBytes(Identity.request(request.split(" ", -1))));
    }
    try (var talk = Talk.to(port)) {
      talk.send(bytes.toByteArray());
      return talk.readUntil("$3\r\nend\r\n").replaceAll("id\r\n:\\d+", "id");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void randomRequestsAreRepliedToInTheSameWay(boolean tells) throws IOException {
    try (var shimmed = Shimmed.start(options(tells))) {
      for (int i = 0; i < 2 * STREAMS; i++) {
        var seed = SEED + i;
        var requests = some(new Random(seed), true);
        var expected = said(shimmed.redis.port, requests, LAST);
        shimmed.redis.ask("zap");
        assertEquals(
            expected, said(shimmed.port(), requests, LAST), () -> "seed " + seed + requests);
        shimmed.redis.ask("zap");
      }
    }
  }

  /**
   * Each time with a record of its own: of what a renamed command has done all later ones doubt.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsCalledCertainIsSo(boolean tells) throws IOException {
    int certain = 0;
    // Of some seeds none leaves anything certain.
    for (int i = 0; i < STREAMS / 5 || (certain == 0 && i < 10 * STREAMS); i++) {
      certain += certain(new Recorded(directory.resolve("" + i)), SEED + i, options(tells));
    }
    assertTrue(certain > 0, "nothing was certain");
  }

  private static int certain(Recorded there, long seed, String[] options) throws IOException {
    int certain = 0;
    var random = new Random(seed);
    try (var recording = there.record(SpoolSettings.DEFAULT.withDurability(Durability.NONE));
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()), options)) {
      said(shimmed.port(), some(random, false));
      if (random.nextBoolean()) {
        said(shimmed.port(), some(random, true), LAST);
      }
      said(shimmed.port(), some(random, false));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)), "not loaded");
      for (var question : List.of("GET k", "GET n", "GET z")) {
        var answer = there.ask("0", question);
        if (answer.certainty() == Answer.Certainty.CERTAIN) {
          var real = Bytes.of(shimmed.redis.ask(question.split(" ", -1)));
          assertEquals(Resp.read(real), answer.reply(), () -> "seed " + seed + answer);
          certain++;
        }
      }
    }
    return certain;
  }

  /** Who goes to another database, and who asks by the lane that has to follow. */
  @Test
  void whatIsDoneByOtherNamesIsExplained() throws IOException {
    var there = new Recorded(directory);
    try (var recording = there.record(SpoolSettings.DEFAULT);
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()), OPTIONS)) {
      try (var client = shimmed.client();
          var other = shimmed.client()) {
        assertEquals("+OK\r\n", client.ask("go", "1"));
        assertEquals(":1\r\n", client.ask("plus", "n"));
        assertEquals(":1\r\n", other.ask("Plus", "n"));
        assertEquals(":2\r\n", client.ask("plus", "n"));
        // One that waits has an upstream of its own, which is led to the same database.
        assertEquals("*-1\r\n", client.ask("BLPOP", "none", "0.01"));
        assertEquals(":3\r\n", client.ask("plus", "n"));
        assertEquals("+OK\r\n", client.ask("many"));
        assertEquals("+QUEUED\r\n", client.ask("plus", "n"));
        assertEquals("*1\r\n:4\r\n", client.ask("do"));
        assertEquals("+OK\r\n", client.ask("xc", "SETNAME", "me"));
        assertEquals("$2\r\nme\r\n", client.ask("xc", "GETNAME"));
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)), "not loaded");
      for (var database : List.of("0", "1")) {
        var answer = there.ask(database, "GET n");
        assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
        assertEquals(Bytes.of(database.equals("0") ? "1" : "4"), answer.reply());
      }
    }
  }

  /** Neither a password nor a reply that may tell one, at whatever length, whole or in pieces. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void passwordsOfCommandsWithOtherNamesAreNotOnRecord(boolean tells) throws IOException {
    var there = new Recorded(directory);
    try (var recording = there.record(SpoolSettings.DEFAULT);
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()), options(tells))) {
      for (var saying : OF_SECRETS) {
        try (var client = shimmed.client()) {
          client.ask(saying.split(" ", -1));
          client.send(Inline.ascii(saying + "\r\n"));
          client.reply();
          client.ask("many");
          client.ask(saying.split(" ", -1));
          client.ask("do");
          client.ask((saying + " " + "x".repeat(70_000)).split(" ", -1));
        }
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)), "not loaded");
    }
    try (var trace = there.trace()) {
      var all = trace.from(1, 10_000);
      assertTrue(all.size() >= 6 * OF_SECRETS.size(), () -> "only " + all.size());
      for (var operation : all) {
        var reply = operation.reply();
        var told = operation.text() + (reply == null ? "" : reply.latin1());
        assertFalse(told.contains(HUSH), told);
      }
    }
  }

  /** Of another process of Redis, whose commands have their own names. */
  @Test
  void whatWasLearntOfOneProcessIsNotBelievedOfTheNext() throws Exception {
    try (var redis = RedisServer.start();
        var renamed = RedisServer.start("--rename-command", "SELECT", "go");
        var gate = new Gate(renamed);
        var shim = RedisShim.start(Shimmed.settings("127.0.0.1:" + gate.port()))) {
      assertEquals("+OK\r\n", Talk.served(Shimmed.port(shim), "go", "1"));
      gate.turnTo(redis);
      assertEquals("+OK\r\n", Talk.served(Shimmed.port(shim), "SELECT", "1"));
      try (var client = Talk.to(Shimmed.port(shim))) {
        assertEquals("+OK\r\n", client.ask("SELECT", "1"));
        assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
        assertEquals("*-1\r\n", client.ask("BLPOP", "none", "0.01"));
        assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
      }
    }
  }

  /**
   * Seen: the shim itself said the old name, and the client heard that there is no such command.
   */
  @Test
  void theShimItselfSaysTheNamesOfTheStoreThatIsThere() throws Exception {
    try (var redis = RedisServer.start();
        var renamed = RedisServer.start("--rename-command", "SELECT", "go");
        var gate = new Gate(renamed);
        var shim = RedisShim.start(Shimmed.settings("127.0.0.1:" + gate.port()))) {
      assertEquals("+OK\r\n", Talk.served(Shimmed.port(shim), "go", "1"));
      gate.turnTo(redis);
      assertEquals("+PONG\r\n", Talk.served(Shimmed.port(shim), "PING"));
      try (var client = Talk.to(Shimmed.port(shim))) {
        assertEquals("+OK\r\n", client.ask("SELECT", "1"));
        assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
        assertEquals("*-1\r\n", client.ask("BLPOP", "none", "0.01"));
        assertEquals("$1\r\nv\r\n", client.ask("GET", "k"));
      }
    }
  }

  /** Seen: a connection for each. */
  @Test
  void oneConnectionIsEnoughToAskForAllNames() throws IOException {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      assertTrue(client.ask("nobody").startsWith("-ERR unknown"));
      long before = received(shimmed.redis);
      for (int i = 0; i < 1_100; i++) {
        assertTrue(client.ask("nobody" + i).startsWith("-ERR unknown"));
      }
      // Each question of how many there were is one, too.
      assertEquals(before + 1, received(shimmed.redis));
      shimmed.redis.ask("CLIENT", "KILL", "TYPE", "normal");
      assertTrue(Talk.served(shimmed.port(), "nobody").startsWith("-ERR unknown"));
    }
  }

  private static long received(RedisServer redis) {
    var stats = redis.ask("INFO", "stats");
    return Long.parseLong(ServerWatch.field(stats, "total_connections_received"));
  }

  /** Who is not let in is told so, whatever the name stands for: its connection is as it was. */
  @Test
  void whoIsNotLetInYetIsTheSameClientAfterAStrangeName() throws IOException {
    var there = new Recorded(directory);
    try (var redis =
            RedisServer.start(
                "--requirepass pw --rename-command INCR plus --rename-command COMMAND tell"
                    .split(" ", -1));
        var recording = there.record(SpoolSettings.DEFAULT);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + redis.port)
                    .withAccount("default", "pw")
                    .withSpool(recording.spool()));
        var client = Talk.to(Shimmed.port(shim))) {
      assertTrue(client.ask("plus", "n").startsWith("-NOAUTH"));
      assertEquals("+OK\r\n", client.ask("AUTH", "pw"));
      assertEquals("+OK\r\n", client.ask("SET", "k", "v"));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)), "not loaded");
    }
    var answer = there.ask("0", "GET k");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
  }
}
