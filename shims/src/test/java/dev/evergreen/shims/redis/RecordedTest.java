package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import dev.evergreen.provenance.Witness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is on record of what has passed. */
@Timeout(60)
class RecordedTest {
  private static final String SUBSCRIBED = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";

  @TempDir private Path directory;

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
    try (var recording = there().record(settings);
        var shimmed =
            Shimmed.start(
                with -> with.withSpool(recording.spool()).withRedactor(recording.redactor()),
                options)) {
      doing.with(shimmed);
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
    try (var trace = there().trace()) {
      return trace.from(1, 10_000);
    }
  }

  private Recorded there() {
    return new Recorded(directory);
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
            "2|CLIENT REPLY SKIP|?",
            "2|INCR n|?",
            "2|INCR n|:2~",
            "2|GET n|$1~2~"),
        told(operations));
  }

  /**
   * By whatever way it comes. What is killed does not show it: the system keeps what a process has
   * written.
   */
  @Test
  void aReplyLeavesWhenItIsOnTheDisk() throws IOException {
    var settings = SpoolSettings.DEFAULT.withDurability(Durability.REPLY);
    try (var recording = there().record(settings);
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()));
        var client = shimmed.client();
        var other = Talk.to(shimmed.redis.port)) {
      var big = "x".repeat(300_000);
      for (var words : List.of("PING", "CLIENT NO-EVICT ON", "MULTI", "GET none", "EXEC")) {
        client.ask(words.split(" ", -1));
        assertDurable(recording, words);
      }
      other.ask("SET", "big", big);
      try (var sharing = shimmed.client()) {
        for (var talk : List.of(sharing, client)) {
          assertTrue(talk.ask("GET", "big").contains(big));
          assertDurable(recording, "a long reply");
        }
      }
      client.ask("SUBSCRIBE", "c");
      for (var message : List.of("short", big)) {
        other.ask("PUBLISH", "c", message);
        client.reply();
        assertDurable(recording, "a message");
      }
    }
  }

  private static void assertDurable(Recording recording, String what) {
    var report = recording.spool().report();
    assertEquals(report.nextNumber(), report.durable(), what);
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

  /** In whatever form: right, wrong, queued, as a line, and where Redis repeats what it hears. */
  @Test
  void credentialsAreNotRecordedWhereverTheyAreSaid() throws IOException, InterruptedException {
    var sayings =
        List.of(
            "HELLO AUTH default hush",
            "HELLO 3 AUTH hush",
            "HELLO 3 AUTH a b AUTH default hush",
            "HELLO 3 SETNAME auth AUTH default hush",
            "AUTH default more hush",
            "AUTH hush of several words",
            "CONFIG SET requirepass hush odd",
            "CONFIG SET requirepass odd hush",
            "CONFIG SET maxmemory requirepass hush",
            "CONFIG SET masterauth hush",
            "ACL SETUSER u on <hush",
            "ACL SETUSER u #hush",
            "ACL SETUSER u on > hush",
            "ACL SETUSER >hush",
            "ACL SETUSER u (>hush ~*)",
            "ACL DRYRUN default AUTH default hush",
            "COMMAND GETKEYS MIGRATE h 1 k 0 9 AUTH hush",
            "MIGRATE 127.0.0.1 1 k 0 9 AUTH hush AUTH2 u hush KEYS a",
            "MIGRATE 127.0.0.1 1 k 0 AUTH hush",
            "CONFIG GET requirepass");
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              shimmed.redis.ask("SET", "k", "v");
              for (var saying : sayings) {
                try (var client = shimmed.client()) {
                  client.ask(saying.split(" ", -1));
                  client.ask("MULTI");
                  client.ask(saying.split(" ", -1));
                  client.ask("EXEC");
                  client.send(Inline.ascii(saying + "\r\n"));
                  client.reply();
                  client.send(
                      Inline.join(
                          Identity.request("CONFIG", "GET", "x".repeat(70_000), "require*"),
                          Identity.request("PING")));
                  client.reply();
                  client.reply();
                }
              }
            });
    assertTrue(operations.size() >= 6 * sayings.size(), () -> "only " + operations.size());
    for (var told : told(operations)) {
      assertFalse(told.contains("hush"), told);
    }
  }

  /** What is to be done about the connection is remembered until EXEC, but not without bound. */
  @Test
  void aTransactionOfTooMuchAboutItsConnectionPassesWithAnUnknownOutcome()
      throws IOException, InterruptedException {
    int count = 300;
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("MULTI");
                for (int i = 0; i < count; i++) {
                  var name = "n".repeat(30_000);
                  assertEquals("+QUEUED\r\n", client.ask("CLIENT", "SETNAME", name));
                }
                assertEquals("*300\r\n" + "+OK\r\n".repeat(count), client.ask("EXEC"));
                assertEquals("+PONG\r\n", client.ask("PING"));
              }
            });
    for (var last : operations.subList(operations.size() - 2, operations.size())) {
      assertTrue(last.outcomeUnknown(), () -> told(last));
    }
  }

  /** As many as there can be in what is looked at whole, and some behind it. */
  @Test
  void aTransactionOfVeryManyCommandsPassesAndIsRecorded()
      throws IOException, InterruptedException {
    int count = 3_000;
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.send(
                    Inline.join(
                        Inline.join(Identity.request("MULTI"), repeated(count, "GET", "k")),
                        Inline.join(Identity.request("EXEC"), repeated(200, "GET", "k"))));
                assertEquals("+OK\r\n", client.reply());
                for (int i = 0; i < count; i++) {
                  assertEquals("+QUEUED\r\n", client.reply());
                }
                assertEquals("*" + count + "\r\n" + "$-1\r\n".repeat(count), client.reply());
                for (int i = 0; i < 200; i++) {
                  assertEquals("$-1\r\n", client.reply());
                }
              }
            });
    assertEquals(count + 202, operations.size());
    assertTrue(operations.stream().allMatch(operation -> operation.reply() != null));
  }

  private static byte[] repeated(int times, String... words) {
    var one = Bytes.of(Identity.request(words)).latin1();
    return Inline.ascii(one.repeat(times));
  }

  /** Whatever silences or splits replies: none is ever taken for that to another request. */
  @RepeatedTest(3)
  void repliesAreNeverTakenForThoseToOtherRequests() throws IOException, InterruptedException {
    long seed = Long.getLong("evergreen.seed", System.nanoTime());
    var operations =
        recorded(
            Durability.NONE,
            shimmed -> {
              for (int i = 0; i < 12; i++) {
                try (var client = shimmed.client()) {
                  client.send(new RandomRequests(seed + i, "e" + i + ":").some(40, 1));
                  client.socket.shutdownOutput();
                  client.readAll();
                }
              }
            });
    int answered = 0;
    for (var operation : operations) {
      var reply = operation.reply();
      if (operation.request().getFirst().equals(Bytes.of("ECHO")) && reply != null) {
        var word = operation.request().get(1).text();
        var told = reply.text();
        boolean own = told.equals("$" + word.length() + "\r\n" + word + "\r\n");
        answered += own ? 1 : 0;
        assertTrue(
            own || told.isEmpty() || told.equals("+QUEUED\r\n") || told.startsWith("-"),
            () -> "seed " + seed + ", row " + operation.row() + ": " + told(operation));
      }
    }
    int own = answered;
    assertTrue(own > 12 * 40 / 4, () -> "seed " + seed + ": only " + own + " have their reply");
  }

  @Test
  void aDatabaseThatIsSelectedInATransactionIsKnown() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("MULTI");
                client.ask("SELECT", "3");
                client.ask("EXEC");
                client.ask("SET", "a", "1");
                client.send("CLIENT", "REPLY", "OFF");
                client.send("MULTI");
                client.send("SELECT", "4");
                client.send("EXEC");
                client.send("CLIENT", "REPLY", "ON");
                client.reply();
                client.ask("SET", "b", "1");
              }
              assertEquals("*2\r\n$1\r\n1\r\n$-1\r\n", ask(shimmed, 3));
              assertEquals("*2\r\n$-1\r\n$1\r\n1\r\n", ask(shimmed, 4));
            });
    var all = told(operations);
    assertTrue(all.contains("3|SET a 1|+OK~"), all.toString());
    // Nobody has heard of the other one.
    assertTrue(all.contains("|SET b 1|+OK~"), all.toString());
  }

  /** Also if the client does not wait for it, and keeps to its upstream anyway. */
  @Test
  void requestsAreOnRecordInTheDatabaseInWhichTheyAreDone()
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                var all = new java.io.ByteArrayOutputStream();
                for (var words :
                    List.of(
                        "MULTI",
                        "SELECT 1",
                        "EXEC",
                        "SET a 1",
                        "WAIT 0 0",
                        "SELECT 2",
                        "SET b 1",
                        "RESET",
                        "SET c 1",
                        "SELECT 99",
                        "SET d 1")) {
                  all.writeBytes(Identity.request(words.split(" ", -1)));
                }
                client.send(all.toByteArray());
                client.socket.shutdownOutput();
                client.readAll();
              }
            });
    var all = told(operations);
    assertTrue(
        all.containsAll(
            List.of("1|SET a 1|+OK~", "2|SET b 1|+OK~", "0|SET c 1|+OK~", "0|SET d 1|+OK~")),
        all.toString());
  }

  /** What is queued behind a SELECT is carried out in the database that it leads to. */
  @Test
  void whatIsQueuedBehindASelectIsDoneInItsDatabase() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "0");
            for (var words : List.of("MULTI", "SET b 0", "SELECT 1")) {
              client.ask(words.split(" ", -1));
            }
            client.ask("SET", "a", "1");
            client.ask("EXEC");
          }
        });
    assertEquals(Bytes.of("0"), ask("GET a").reply());
    assertEquals(Bytes.of("0"), ask("GET b").reply());
    var answer = ask("GET a", "1");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty());
    assertEquals(Bytes.of("1"), answer.reply());
  }

  @Test
  void whatIsQueuedBehindASelectWithoutRepliesIsNotCertain()
      throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.send("CLIENT", "REPLY", "OFF");
            for (var words : List.of("MULTI", "SELECT 1", "SET a 1", "EXEC", "CLIENT REPLY ON")) {
              client.send(words.split(" ", -1));
            }
            client.reply();
          }
        });
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a", "1").certainty());
  }

  /** Redis may have refused the MULTI: then all that comes behind it is done at once. */
  @Test
  void nobodyKnowsWhetherAnythingIsQueuedWithoutReplies() throws IOException, InterruptedException {
    recordedWithoutReplies("SET k 0", "MULTI", "SET k 1", "DISCARD");
    assertEquals(Answer.Certainty.ONE_OF, ask("GET k").certainty());
  }

  /** Whether it was refused tells what is said to what comes behind it. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          +multi | SET k 1 +QUEUED; DISCARD +OK; GET k $1              | 0
          +multi | SET k 1 +QUEUED; EXEC *1; GET k $1                  | 1
          +multi | MULTI -ERR; SET k 1 +QUEUED; EXEC *1; GET k $1      | 1
          +multi | NONE -ERR; SET k 1 +QUEUED; EXEC -EXECABORT; GET k $1 | 0
          +multi | DISCARD +OK; SET k 1 +OK; GET k $1                  | 1
          +multi | CLIENT SETNAME n +QUEUED; EXEC *1; CLIENT GETNAME $1 | 0
          -multi | SET k 1 +OK; DISCARD -ERR; GET k $1                 | 1
          -multi | SET k 1 +OK; EXEC -ERR; SET k 2 +OK; GET k $1       | 2
          -multi | NONE -ERR; SET k 1 +OK; EXEC -ERR; GET k $1         | 1
          -multi | DISCARD -ERR; SET k 1 +OK; GET k $1                 | 1
          -multi | CLIENT SETNAME n +OK; SET k 1 +OK; CLIENT GETNAME $1 | 1
          """)
  void whatBecameOfAMultiThatWasNotRepliedToIsSaidLater(String may, String said, String value)
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              shimmed.redis.ask("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", may);
              try (var client = shimmed.client()) {
                client.ask("SET", "k", "0");
                assertEquals("+OK\r\n", client.ask("AUTH", "bob", "any"));
                client.send("CLIENT", "REPLY", "SKIP");
                client.send("MULTI");
                for (var command : said.split("; ", -1)) {
                  int reply = command.lastIndexOf(' ');
                  var told = client.ask(command.substring(0, reply).split(" ", -1));
                  assertTrue(told.startsWith(command.substring(reply + 1)), command + ": " + told);
                }
              }
            });
    var answer = ask("GET k");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(Bytes.of(value), answer.reply());
    var last = operations.getLast();
    assertFalse(last.outcomeUnknown(), () -> told(last));
  }

  /** Nobody has heard that Redis has refused the transaction in which it was to be queued. */
  @Test
  void whatSilencesRedisBehindARefusedMultiIsTakenForNothingElse()
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              shimmed.redis.ask("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", "-multi");
              try (var client = shimmed.client()) {
                assertEquals("+OK\r\n", client.ask("AUTH", "bob", "any"));
                client.send("CLIENT", "REPLY", "SKIP");
                client.send("MULTI");
                client.send("CLIENT", "REPLY", "SKIP");
                client.send("ECHO", "one");
                assertEquals("$3\r\ntwo\r\n", client.ask("ECHO", "two"));
              }
            });
    var all = told(operations);
    assertTrue(
        all.containsAll(List.of("0|CLIENT REPLY SKIP|?", "0|ECHO one|?", "0|ECHO two|?")),
        all::toString);
  }

  /** Where CLIENT is no command any more, it is refused in words that other commands hear, too. */
  @ParameterizedTest
  @ValueSource(strings = {"CLIENT", "client"})
  void theRefusalOfARenamedCommandIsNoReplyToTheNext(String name)
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.send(name, "REPLY", "SKIP");
                client.send("SETNX", "k", "mine");
                client.send("SET", "z", "1");
                client.send("ECHO", "end");
                client.readUntil("end\r\n");
              }
            },
            "--rename-command",
            "CLIENT",
            "");
    assertFalse(operations.isEmpty());
    for (var operation : operations) {
      assertNull(operation.reply(), operation::toString);
    }
  }

  /** What waits for its EXEC is no part of several replies. */
  @Test
  void aQueuedSubscriptionIsRepliedToOnce() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("MULTI");
                assertEquals("+QUEUED\r\n", client.ask("SUBSCRIBE", "a", "b"));
                client.ask("DISCARD");
                client.ask("SUBSCRIBE", "c", "d");
                client.reply();
              }
            });
    var all = told(operations);
    assertTrue(all.contains("0|SUBSCRIBE a b|+QUEUED~"), all::toString);
    assertTrue(
        all.contains("0|SUBSCRIBE c d|*3~$9~subscribe~$1~c~:1~*3~$9~subscribe~$1~d~:2~"),
        all::toString);
  }

  @Test
  void nobodyKnowsWhatBecomesOfATransactionWithoutReplies()
      throws IOException, InterruptedException {
    recordedWithoutReplies("SET k 0", "WATCH k", "SET k 2", "MULTI", "SET k 1", "EXEC");
    assertEquals(Answer.Certainty.ONE_OF, ask("GET k").certainty());
  }

  private void recordedWithoutReplies(String... requests) throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.send("CLIENT", "REPLY", "OFF");
            for (var request : requests) {
              client.send(request.split(" ", -1));
            }
            assertEquals("+OK\r\n", client.ask("CLIENT", "REPLY", "ON"));
          }
        });
  }

  private static String ask(Shimmed shimmed, int database) throws IOException {
    try (var talk = Talk.to(shimmed.redis.port)) {
      talk.ask("SELECT", "" + database);
      return talk.ask("MGET", "a", "b");
    }
  }

  @Test
  void whatIsPassedOnWithoutALookIsNotCertain() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            // Redis does not look at what ends a line.
            client.send(Inline.ascii("*3\rX$3\rXSETXX$1\rXaXX$1\rX2XX"));
            assertEquals("+OK\r\n", client.reply());
          }
        });
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
  }

  /** What is behind the beginning that is kept may name more, and say more of it. */
  @Test
  void whatIsTooLongToBeKeptIsNotTakenForWhatIsKeptOfIt() throws IOException, InterruptedException {
    var large = "x".repeat(17 << 20);
    recorded(
        Durability.NONE,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("MSET", "a", "old", "b", "old", "c", "old");
            client.ask("MSET", "a", large, "b", "new");
            client.ask("APPEND", "c", large);
            client.ask("SET", "d", "1");
            client.ask("SET", "d", large, "XX");
          }
        });
    for (var question : List.of("STRLEN a", "GET b", "STRLEN c", "STRLEN d", "GET e")) {
      var answer = ask(question);
      assertEquals(Answer.Certainty.OPAQUE, answer.certainty(), answer::toString);
    }
    recorded(
        Durability.NONE,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "d", large, "XX");
            client.ask("SET", "e", "1");
          }
        });
    assertEquals(
        Answer.Certainty.CERTAIN, ask("GET e").certainty(), "of one key only that is hidden");
    assertNotEquals(Answer.Certainty.CERTAIN, ask("GET d").certainty());
  }

  private Answer ask(String question) {
    return ask(question, "0");
  }

  private Answer ask(String question, String database) {
    return there().ask(database, question);
  }

  private static List<String> causes(Answer answer) {
    return answer.witnesses().getFirst().elements().stream()
        .map(element -> ((Witness.Done) element).operation().text())
        .toList();
  }

  @Test
  void aTransactionThatWasNotCarriedOutIsExplainedByWhoWroteWhatWasWatched()
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client();
                  var other = shimmed.client()) {
                other.ask("SET", "a", "1");
                client.ask("WATCH", "b");
                client.ask("UNWATCH");
                client.ask("WATCH", "a");
                client.ask("WATCH", "c");
                other.ask("SET", "a", "2");
                other.ask("SET", "b", "2");
                client.ask("MULTI");
                client.ask("SET", "d", "3");
                assertEquals("*-1\r\n", client.ask("EXEC"));
              }
            });
    var answer = why(operations.getLast());
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty());
    assertEquals(List.of("WATCH a", "SET a 2"), causes(answer));
    assertEquals(List.of(), causes(ask("GET d")), "what was not carried out has no effect");
  }

  @Test
  void nothingOfAFormerRedisIsACauseOfWhatAnEmptyOneHas() throws IOException, InterruptedException {
    assertEquals(List.of("SET a 1"), causes(whyLast("SET a 1", "SET b 1", "GET a")));
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("APPEND", "a", "2");
                client.ask("GET", "a");
              }
            });
    var answer = why(operations.getLast());
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of("APPEND a 2"), causes(answer));
    for (var question : List.of("GET b", "KEYS *", "DBSIZE", "EXISTS a b")) {
      assertEquals(Answer.Certainty.CERTAIN, ask(question).certainty(), question);
    }
  }

  /** Redis has said what time it has. */
  @Test
  void whatIsToGoAtATimeIsCertain() throws IOException, InterruptedException {
    var deadline = Instant.now().plusSeconds(1_000);
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "k", "v", "PXAT", Long.toString(deadline.toEpochMilli()));
          }
        });
    try (var trace = there().trace()) {
      for (int seconds : List.of(-100, 100)) {
        var answer = Recorded.ask(trace, "0", "GET k", deadline.plusSeconds(seconds));
        assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
        assertEquals(
            seconds < 0 ? "v" : null,
            new RedisKind().plain(Objects.requireNonNull(answer.reply())));
      }
    }
  }

  /** Why the last of these was answered as it was, after the others, all asked by one client. */
  private Answer whyLast(String... commands) throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                for (var command : commands) {
                  client.ask(command.split(" ", -1));
                }
              }
            });
    return why(operations.getLast());
  }

  private Answer why(Operation question) {
    return there().why(question);
  }

  /** The record does not tell what kept each of these from being carried out. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "MULTI; NOBODY; SET a 1; EXEC",
        "EXEC",
        "MULTI; EXEC",
        "WATCH a; SELECT 1; WATCH b; OTHER; MULTI; EXEC",
        "CLIENT REPLY SKIP; WATCH a; WATCH b; OTHER; MULTI; EXEC"
      })
  void nothingIsClaimedOfATransactionThatHasCarriedOutNothing(String commands)
      throws IOException, InterruptedException {
    var operations = recorded(Durability.BATCH, shimmed -> carryOutNothing(shimmed, commands));
    var answer = why(operations.getLast());
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
  }

  private static void carryOutNothing(Shimmed shimmed, String commands) throws IOException {
    try (var client = shimmed.client();
        var other = shimmed.client()) {
      var last = "";
      boolean silent = false;
      for (var command : commands.split("; ", -1)) {
        if (command.equals("OTHER")) {
          other.ask("SET", "a", "1");
        } else {
          client.send(command.split(" ", -1));
          boolean skips = command.endsWith("SKIP");
          last = skips || silent ? "" : client.reply();
          silent = skips;
        }
      }
      assertTrue(last.matches("(?s)-.*|\\*-1\r\n|\\*0\r\n"), last);
    }
  }

  @Test
  void anExecWithoutMultiLeavesWhatIsWatched() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed ->
                carryOutNothing(shimmed, "WATCH a; EXEC; WATCH b; OTHER; MULTI; SET c 1; EXEC"));
    var answer = why(operations.getLast());
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of("WATCH a", "SET a 1"), causes(answer));
  }

  /** A removal alone stops nothing: without what was there it would have removed nothing. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          WATCH k; SET k 1!; DEL k!                                  | WATCH k; SET k 1
          SADD s a!; WATCH s; SREM s a!                              | SADD s a; WATCH s; SREM s a
          SET k 1!; WATCH k; DEL k!; SET k 2!; DEL k!                | WATCH k; SET k 2
          SET k 1!; WATCH k; SET k 1!                                | WATCH k; SET k 1
          SET k 1!; WATCH k; RENAME k l!                             | SET k 1; WATCH k; RENAME k l
          SET k 1!; WATCH k; FLUSHALL!                               | SET k 1; WATCH k; FLUSHALL
          WATCH k; SET k 1!; UNWATCH; DEL k!; WATCH k; SET k 2!      | WATCH k; SET k 2
          WATCH a; SET a 1!; WATCH a; SET a 2!                       | WATCH a; SET a 2
          """)
  void aTransactionIsNotStoppedByARemovalAlone(String commands, String expected)
      throws IOException, InterruptedException {
    assertStoppedBy(expected, commands);
  }

  private void assertStoppedBy(String expected, String commands)
      throws IOException, InterruptedException {
    var answer = why(stopped(commands));
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of(expected.split("; ", -1)), causes(answer));
  }

  /** What had expired by then is watched as what is not there, removed or not. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SET j 0!; WATCH j; SET j 2!; SET k v PXAT 1!; WATCH k | WATCH j; SET j 2
          SET k v PXAT 1!; WATCH k; SET k w!; DEL k!            | WATCH k; SET k w
          """)
  void aKeyThatHadExpiredWhenItWasWatchedStopsNothing(String commands, String expected)
      throws IOException, InterruptedException {
    assertStoppedBy(expected, commands);
  }

  /** A WATCH may have ended without a word; and what is watched twice counts from the first. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "WATCH a; CLIENT REPLY SKIP?; UNWATCH?; RPUSH b x!; WATCH b; LSET b 0 x!; SET a 1!",
        "WATCH a; SET a 1!; WATCH a"
      })
  void nothingIsClaimedOfAWatchThatMayHaveEndedOrBegunBefore(String commands)
      throws IOException, InterruptedException {
    var answer = why(stopped(commands));
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
  }

  /** What was there is there as before: that it was written nobody can see. */
  @Test
  void nothingIsClaimedOfATransactionThatIsStoppedByAWriteOfTheSame()
      throws IOException, InterruptedException {
    var answer = why(stopped("RPUSH k a!; WATCH k; LSET k 0 a!"));
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
  }

  /** An EXEC that is stopped by these: ! is done by another client, ? has no reply. */
  private Operation stopped(String commands) throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client();
                  var other = shimmed.client()) {
                for (var command : (commands + "; MULTI; GET x; EXEC").split("; ", -1)) {
                  var words = command.replaceAll("[!?]$", "").split(" ", -1);
                  var talk = command.endsWith("!") ? other : client;
                  talk.send(words);
                  if (!command.endsWith("?")) {
                    talk.reply();
                  }
                }
              }
            });
    assertEquals("*-1\r\n", "" + operations.getLast().reply());
    return operations.getLast();
  }

  @Test
  void whoMadeAUserIsWhyThereIsOne() throws IOException, InterruptedException {
    var made = "ACL SETUSER bob on";
    for (var question : List.of("ACL USERS", "ACL LIST", "ACL DRYRUN bob ping")) {
      assertEquals(List.of(made), causes(whyLast(made, question)), question);
    }
    var dropped = "ACL DELUSER bob";
    assertEquals(List.of(made, dropped), causes(whyLast(made, dropped, "ACL USERS")));
    assertTrue(causes(whyLast("CONFIG SET requirepass ", "ACL LIST")).size() == 1);
  }

  /** Who the client is, what it draws, and what is in a file is not on record. */
  @Test
  void nothingIsClaimedOfUsersThatTheRecordDoesNotTell() throws IOException, InterruptedException {
    for (var question : List.of("ACL WHOAMI", "ACL GENPASS", "ACL LOG", "ACL CAT")) {
      assertEquals(Answer.Certainty.NO_SPECIFICATION, whyLast(question).certainty(), question);
    }
  }

  /** The number counts all channels of the connection, and none of others. */
  @Test
  void nothingIsClaimedOfHowOftenAClientHasSubscribed() throws IOException, InterruptedException {
    for (var question : List.of("SUBSCRIBE b", "PSUBSCRIBE b", "UNSUBSCRIBE b", "PUNSUBSCRIBE b")) {
      assertEquals(
          Answer.Certainty.NO_SPECIFICATION,
          whyLast("SUBSCRIBE a", question).certainty(),
          question);
    }
  }

  /** Redis goes by several names for one parameter. */
  @ParameterizedTest
  @CsvSource({
    "hash-max-ziplist-entries, hash-max-listpack-entries",
    "list-max-listpack-size, list-max-ziplist-size",
    "lua-time-limit, busy-reply-threshold",
    "min-slaves-max-lag, min-replicas-max-lag",
    "repl-ping-replica-period, repl-ping-slave-period"
  })
  void aParameterIsTheSameByWhateverName(String set, String got)
      throws IOException, InterruptedException {
    var answer = whyLast("CONFIG SET " + set + " 7", "CONFIG GET " + got);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of("CONFIG SET " + set + " 7"), causes(answer));
  }

  /** What runs, which modules there are, and what is drawn is not on record. */
  @Test
  void nothingIsClaimedOfWhatNoCellTells() throws IOException, InterruptedException {
    for (var question :
        List.of("SCRIPT KILL", "FUNCTION KILL", "FUNCTION STATS", "COMMAND COUNT", "LOLWUT")) {
      assertEquals(Answer.Certainty.NO_SPECIFICATION, whyLast(question).certainty(), question);
    }
  }

  /** That there were no keys says nothing of what else there is. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "FUNCTION LOAD #!lua\tname=l\nredis.register_function('f',function()return(1)end)"
            + " | FUNCTION LIST",
        "EVAL return(1) 0 | SCRIPT EXISTS 930269f31393d0be681588b6ab08dccee7d6bb67",
        "CONFIG SET maxmemory 1gb | CONFIG GET maxmemory",
        "ACL SETUSER bob on | ACL USERS"
      })
  void whatAServerWithoutKeysHasMayBeOlderThanTheRecord(String history)
      throws IOException, InterruptedException {
    var parts = history.split(" \\| ", -1);
    try (var redis = RedisServer.start()) {
      var fresh = whyAfter(redis, parts[1]);
      boolean alwaysThere = parts[1].startsWith("CONFIG") || parts[1].startsWith("ACL");
      assertEquals(
          alwaysThere ? Answer.Certainty.BEFORE_RECORDING : Answer.Certainty.CERTAIN,
          fresh.certainty(),
          fresh::toString);
      var reply = redis.ask(parts[0].split(" ", -1));
      assertFalse(reply.startsWith("-"), reply);
      var older = whyAfter(redis, parts[1]);
      assertEquals(Answer.Certainty.BEFORE_RECORDING, older.certainty(), older::toString);
    }
  }

  /** Why a Redis answers as it does, if this is the first thing that passes a shim. */
  private Answer whyAfter(RedisServer redis, String question)
      throws IOException, InterruptedException {
    var place = java.nio.file.Files.createTempDirectory(directory, "trace");
    try (var recording =
            Recording.open(
                place, "", SpoolSettings.DEFAULT, Redactor.open(place, List.of()), Retention.ALL);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + redis.port)
                    .withSpool(recording.spool())
                    .withRedactor(recording.redactor()));
        var client = Talk.to(Shimmed.port(shim))) {
      client.ask(question.split(" ", -1));
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
    try (var trace = StoredTrace.open(place.toString(), Duration.ofSeconds(20))) {
      var last = trace.from(1, 10).getLast();
      return new Why(new RedisSpecification(), trace).ask(last, Why.Wish.ONE);
    }
  }

  @Test
  void flushingScriptsLeavesFunctions() throws IOException, InterruptedException {
    var load = "FUNCTION LOAD #!lua\tname=l\nredis.register_function('f',function()return(1)end)";
    var answer = whyLast(load, "SCRIPT FLUSH", "FUNCTION LIST");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of(load), causes(answer));
  }

  @Test
  void aTransactionWithoutAReplyMayHaveBeenCarriedOut() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            client.ask("MULTI");
            client.ask("SET", "a", "2");
            shimmed.redis.signal("STOP");
            client.send("EXEC");
            shimmed.awaitSent();
            shimmed.redis.kill();
            assertEquals("", client.rest());
          }
        });
    assertEquals(Answer.Certainty.ONE_OF, ask("GET a").certainty());
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

  /** To who has subscribed and speaks the new protocol, messages are no arrays. */
  @Test
  void repliesThatLookLikeMessagesAreReplies() throws IOException, InterruptedException {
    var value = "v".repeat(1_000_000);
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("RPUSH", "l", "message", "x", "hello");
                client.ask("RPUSH", "m", "unsubscribe", "x", "0");
                client.ask("SET", "big", value);
                client.ask("HELLO", "3");
                client.ask("SUBSCRIBE", "x");
                client.ask("LRANGE", "l", "0", "-1");
                client.ask("LRANGE", "m", "0", "-1");
                client.ask("GET", "big");
                client.ask("PUBLISH", "x", "hello");
                client.reply();
                client.ask("UNSUBSCRIBE", "x");
                client.ask("ECHO", "after");
              }
            });
    var told = told(operations).stream().map(text -> text.replace(value, "big")).toList();
    assertEquals(
        List.of(
            "0|LRANGE l 0 -1|*3~$7~message~$1~x~$5~hello~",
            "0|LRANGE m 0 -1|*3~$11~unsubscribe~$1~x~$1~0~",
            "0|GET big|$1000000~big~",
            "0|PUBLISH x hello|:1~",
            "0|UNSUBSCRIBE x|>3~$11~unsubscribe~$1~x~:0~",
            "0|ECHO after|$5~after~"),
        told.subList(5, told.size()));
  }

  /**
   * Redis reads of each connection only so much at once: who has not heard yet that it listens may
   * be overtaken, though it spoke first.
   */
  @Test
  void toRedisAloneAMessageMayOvertakeASubscription() throws Exception {
    try (var redis = RedisServer.start();
        var listener = Talk.to(redis.port);
        var publisher = Talk.to(redis.port)) {
      listener.ask("PING");
      publisher.ask("PING");
      redis.signal("STOP");
      listener.send(
          Inline.join(repeated(1_000, "ECHO", "v".repeat(50)), Identity.request("SUBSCRIBE", "c")));
      publisher.send("PUBLISH", "c", "early");
      redis.signal("CONT");
      assertEquals(":0\r\n", publisher.reply());
      for (int i = 0; i < 1_000; i++) {
        assertEquals("$50\r\n" + "v".repeat(50) + "\r\n", listener.reply());
      }
      assertEquals(SUBSCRIBED, listener.reply());
    }
  }

  /** Its upstream is to be made first; whoever listens for sure gets the message. */
  @Test
  void aMessageThatOvertakesASubscriptionIsRecordedSo() throws Exception {
    try (var redis = RedisServer.start();
        var gate = new Gate(redis);
        var recording =
            Recording.open(
                directory,
                "",
                SpoolSettings.DEFAULT,
                Redactor.open(directory, List.of()),
                Retention.ALL);
        var shim =
            RedisShim.start(
                Shimmed.settings("127.0.0.1:" + gate.port())
                    .withSpool(recording.spool())
                    .withRedactor(recording.redactor()));
        var listener = Talk.to(Shimmed.port(shim));
        var publisher = Talk.to(Shimmed.port(shim))) {
      listener.ask("PING");
      publisher.ask("PING");
      long before = gate.connections();
      gate.mute();
      listener.send("SUBSCRIBE", "c");
      while (gate.connections() == before) {
        Thread.onSpinWait();
      }
      assertEquals(":0\r\n", publisher.ask("PUBLISH", "c", "early"));
      gate.open();
      assertEquals(SUBSCRIBED, listener.reply());
      assertEquals(":1\r\n", publisher.ask("PUBLISH", "c", "late"));
      assertEquals("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nlate\r\n", listener.reply());
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      var all = trace.from(1, 100);
      var subscription = only(all, "SUBSCRIBE c");
      var early = only(all, "PUBLISH c early");
      var repliedEarly = Objects.requireNonNull(early.replied());
      assertTrue(repliedEarly.isBefore(subscription.replied()), "the record tells it");
      var why = new Why(new RedisSpecification(), trace);
      var overtaking = why.ask(early, Why.Wish.ONE);
      assertEquals(Answer.Certainty.NO_SPECIFICATION, overtaking.certainty());
      assertTrue(
          subscription.sent().isBefore(repliedEarly)
              ? overtaking.truncated()
              : causes(overtaking).isEmpty(),
          overtaking::toString);
      var late = why.ask(only(all, "PUBLISH c late"), Why.Wish.ONE);
      assertEquals(List.of("SUBSCRIBE c"), causes(late));
      assertFalse(late.truncated(), late::toString);
    }
  }

  private static Operation only(List<Operation> operations, String text) {
    var found = operations.stream().filter(operation -> operation.text().equals(text)).toList();
    assertEquals(1, found.size(), text);
    return found.getFirst();
  }

  @Test
  void longMessagesAreRecordedWhole() throws Exception {
    var text = "m".repeat(1_000_000);
    var messages = new ArrayList<String>();
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var two = shimmed.client();
              var three = shimmed.client();
              var monitor = shimmed.client()) {
            three.ask("HELLO", "3");
            two.ask("SUBSCRIBE", "x");
            three.ask("SUBSCRIBE", "x");
            monitor.ask("MONITOR");
            shimmed.redis.ask("PUBLISH", "x", text);
            messages.add(two.reply().replace(text, "text"));
            messages.add(three.reply().replace(text, "text"));
            var line = monitor.reply();
            while (!line.contains("PUBLISH")) {
              // The shim asks, too.
              line = monitor.reply();
            }
            messages.add(line.replace(text, "text"));
          }
        });
    try (var connection =
            DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("trace.db"));
        var statement = connection.createStatement();
        var found =
            statement.executeQuery(
                "select content from push join body on hash = message_hash order by seq")) {
      var recorded = new ArrayList<String>();
      while (found.next()) {
        recorded.add(Bytes.of(found.getBytes(1)).latin1().replace(text, "text"));
      }
      assertEquals(messages.stream().sorted().toList(), recorded.stream().sorted().toList());
    }
  }

  /** It is on record as far as it came, and as never carried out. */
  @Test
  void aRequestWhoseClientGoesAmidItHasNoEffect() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var client = shimmed.client()) {
                client.ask("SET", "a", "1");
                client.send(
                    Arrays.copyOf(Identity.request("SET", "a", "v".repeat(300_000)), 99_000));
                while (shimmed.upstreams() < 2) {
                  Thread.onSpinWait();
                }
              }
              while (shimmed.upstreams() > 1) {
                Thread.onSpinWait();
              }
            });
    assertEquals(2, operations.size());
    assertTrue(operations.get(1).outcomeUnknown());
    var answer = ask("GET a");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty());
    assertEquals(List.of("SET a 1"), causes(answer));
  }

  /** A script chooses its words: the first of an error does not say that it was not run. */
  @Test
  void onlyAScriptThatRedisHasRefusedHasWrittenNothing() throws IOException, InterruptedException {
    var script = "redis.call('SET', KEYS[1], '2') return redis.error_reply('BUSY come again')";
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            client.ask("SET", "b", "1");
            assertEquals("-BUSY come again\r\n", client.ask("EVAL", script, "1", "a"));
            for (var refused :
                List.of(
                    "EVAL nonsense( 1 b",
                    "EVAL return 2 b",
                    "EVAL return",
                    "EVALSHA " + "0".repeat(40) + " 1 b",
                    "FCALL none 1 b",
                    "FCALL none")) {
              assertTrue(client.ask(refused.split(" ", -1)).startsWith("-"), refused);
            }
            client.ask("FUNCTION", "LOAD", "nonsense(");
          }
        });
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
    var answer = ask("GET b");
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty());
    assertEquals(List.of("SET b 1"), causes(answer));
  }

  @Test
  void whatHasGoneToAnotherServerMayBeGone() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client();
              var target = RedisServer.start()) {
            client.ask("MSET", "a", "1", "b", "1", "c", "1");
            var command = "MIGRATE 127.0.0.1 " + target.port + "  0 5000 KEYS a b";
            assertEquals("+OK\r\n", client.ask(command.split(" ", -1)));
            assertEquals("*3\r\n$-1\r\n$-1\r\n$1\r\n1\r\n", client.ask("MGET", "a", "b", "c"));
          }
        });
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
    assertEquals(Answer.Certainty.OPAQUE, ask("GET b").certainty());
    assertEquals(Answer.Certainty.CERTAIN, ask("GET c").certainty());
  }

  /** What is done before; what waits; what another client writes then; what is asked in the end. */
  private static final String WAITING =
      """
      PING | BLPOP a b 0                    | RPUSH b 1; RPUSH a 1             | LRANGE a 0 -1; LRANGE b 0 -1
      PING | BRPOP a b 0                    | RPUSH b 1 2; RPUSH a 1           | LRANGE a 0 -1; LRANGE b 0 -1
      PING | BLMPOP 0 2 a b LEFT            | RPUSH b 1; RPUSH a 1             | LRANGE a 0 -1; LRANGE b 0 -1
      PING | BZPOPMIN a b 0                 | ZADD b 1 m; ZADD a 1 m           | ZRANGE a 0 -1; ZRANGE b 0 -1
      PING | BZMPOP 0 2 a b MAX             | ZADD b 1 m; ZADD a 1 m           | ZRANGE a 0 -1; ZRANGE b 0 -1
      PING | XREAD BLOCK 0 STREAMS a b 0 0  | XADD b 1-1 f v; XADD a 1-1 f v   | XLEN a; XLEN b
      XADD a 1-0 f v | XREAD BLOCK 0 STREAMS a b 1-0 0 | XADD b 1-1 f v; XADD a 1-1 f v | XLEN a; XLEN b
      XADD a 1-0 f v | XREAD BLOCK 0 STREAMS a b $ $ | XADD b 1-1 f v; XADD a 1-1 f v | XLEN a; XLEN b
      XGROUP CREATE a g $ MKSTREAM; XGROUP CREATE b g $ MKSTREAM | XREADGROUP GROUP g c BLOCK 0 STREAMS a b > > | XADD b 1-1 f v; XADD a 1-1 f v | XPENDING a g; XPENDING b g
      """;

  /** What waits is served from the key that gets something first, wherever that stands. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = WAITING)
  void whatWaitsIsServedFromTheKeyThatATransactionFillsFirst(
      String before, String waits, String writes, String questions)
      throws IOException, InterruptedException {
    served(before, waits, "MULTI; " + writes + "; EXEC", questions, "EXEC");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = WAITING)
  void whatWaitsIsServedByTheFirstOfTwoWritesThatAreSentAtOnce(
      String before, String waits, String writes, String questions)
      throws IOException, InterruptedException {
    served(before, waits, writes, questions, writes.split("; ", -1)[0]);
  }

  private void served(String before, String waits, String writes, String questions, String by)
      throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var waiting = shimmed.client();
                  var other = shimmed.client()) {
                askAll(other, before);
                waiting.send(waits.split(" ", -1));
                while (!shimmed.redis.ask("INFO", "clients").contains("blocked_clients:1")) {
                  Thread.onSpinWait();
                }
                askAtOnce(other, writes);
                var reply = waiting.reply();
                assertTrue(reply.contains("$1\r\nb\r\n"), reply);
                askAll(other, questions);
              }
            });
    for (var operation : operations) {
      if ((waits + "; " + questions).contains(operation.text())) {
        var answer = why(operation);
        assertNotEquals(Answer.Certainty.OUTSIDE, answer.certainty(), answer::toString);
        assertFalse(answer.witnesses().getFirst().rows().isEmpty(), answer::toString);
        if (operation.text().equals(waits)) {
          assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
          assertTrue(causes(answer).contains(by), answer::toString);
        }
      }
    }
  }

  private static void askAtOnce(Talk client, String commands) throws IOException {
    var all = commands.split("; ", -1);
    var bytes = new byte[0];
    for (var command : all) {
      bytes = Inline.join(bytes, Identity.request(command.split(" ", -1)));
    }
    client.send(bytes);
    for (var command : all) {
      var reply = client.reply();
      assertFalse(reply.startsWith("-"), () -> command + ": " + reply);
    }
  }

  private static void askAll(Talk client, String commands) throws IOException {
    for (var command : commands.split("; ", -1)) {
      var reply = client.ask(command.split(" ", -1));
      assertFalse(reply.startsWith("-"), reply);
    }
  }

  @Test
  void whoWaitsForTheEndOfAStreamIsToldWhatCameSince() throws IOException, InterruptedException {
    var operations =
        recorded(
            Durability.BATCH,
            shimmed -> {
              try (var waiting = shimmed.client();
                  var other = shimmed.client()) {
                askAll(other, "XADD s 1-1 f v; XADD t 1-1 f v");
                waiting.send("XREAD", "BLOCK", "0", "STREAMS", "t", "s", "$", "$");
                while (!shimmed.redis.ask("INFO", "clients").contains("blocked_clients:1")) {
                  Thread.onSpinWait();
                }
                askAll(other, "XADD s 1-2 f v");
                var reply = waiting.reply();
                assertTrue(reply.contains("1-2"), reply);
                askAll(other, "XADD s 1-3 f v");
              }
            });
    var read = operations.stream().filter(one -> one.text().startsWith("XREAD")).findFirst();
    var answer = why(read.orElseThrow());
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of("XADD s 1-2 f v"), causes(answer));
  }

  /** As one of a module, or of a newer Redis. */
  @Test
  void aCommandThatNobodyKnowsMayHaveWrittenWhatItNames() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            client.ask("SET", "b", "1");
            assertEquals(":2\r\n", client.ask("ADD.TO", "a", "2"));
            assertTrue(client.ask("NOBODY", "b", "2").startsWith("-ERR unknown command"));
            client.ask("SET", "d", "1");
            assertTrue(client.ask("ADD.TO", "b").startsWith("-ERR wrong number"));
            assertEquals("$2\r\n12\r\n", client.ask("GET", "a"));
            assertEquals("+OK\r\n", client.ask("SELECT", "1"));
            assertEquals("+OK\r\n", client.ask("SET", "c", "1"));
            assertEquals(":3000\r\n", client.ask("ADD.TO", "document", "x".repeat(3_000)));
          }
        },
        "--rename-command",
        "APPEND",
        "ADD.TO");
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
    assertEquals(Answer.Certainty.CERTAIN, ask("GET b").certainty());
    assertEquals(Answer.Certainty.CERTAIN, ask("GET d").certainty());
    // A value is not indexed as the name of a key, and then the words do not tell what was written.
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      var database = Call.database("1");
      assertEquals(List.of(database.child("c")), trace.below(database, Bytes.EMPTY, null, 10));
    }
  }

  /** Such as FLUSHALL, which names nothing of what it writes. */
  @Test
  void aCommandThatMayHaveBeenRenamedMayHaveWrittenAnything()
      throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            assertEquals("+OK\r\n", client.ask("zap"));
            try (var other = shimmed.client()) {
              other.ask("SET", "b", "1");
            }
          }
        },
        "--rename-command",
        "FLUSHALL",
        "zap",
        "--rename-command",
        "COMMAND",
        "untold");
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
    assertEquals(Answer.Certainty.CERTAIN, ask("GET b").certainty());
  }

  /** Such as SELECT: what its client asks behind it is done in another database. */
  @Test
  void aCommandThatMayHaveBeenRenamedMayLeadAnywhere() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("SET", "a", "1");
            assertEquals("+OK\r\n", client.ask("go", "1"));
            client.ask("SET", "a", "2");
            assertEquals("+OK\r\n", client.ask("go", "0"));
            assertEquals("$1\r\n1\r\n", client.ask("GET", "a"));
          }
          try (var client = shimmed.client()) {
            client.send(pipeline("SET d 1", "go 1", "SET d 2", "go 0", "ECHO end"));
            client.readUntil("end\r\n");
          }
        },
        "--rename-command",
        "SELECT",
        "go",
        "--rename-command",
        "COMMAND",
        "untold");
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
    assertEquals(Answer.Certainty.OPAQUE, ask("GET d").certainty());
  }

  /** Such as CLIENT REPLY: what is replied to what behind it nobody knows. */
  @Test
  void aCommandThatMayHaveBeenRenamedMaySilenceRedis() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.send(pipeline("xc REPLY SKIP", "SET a 1", "SETNX a 2", "SETNX c 1", "ECHO end"));
            client.readUntil("end\r\n");
            client.send(pipeline("xc REPLY OFF", "SELECT 1", "SET b 1", "xc REPLY ON"));
            client.readUntil("+OK\r\n");
            assertEquals("$1\r\n1\r\n", client.ask("GET", "b"));
          }
        },
        "--rename-command",
        "CLIENT",
        "xc");
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
  }

  /** Such as SUBSCRIBE, which in the new protocol is answered by a push, and not by a reply. */
  @Test
  void aCommandThatMayHaveBeenRenamedMaySubscribe() throws IOException, InterruptedException {
    recorded(
        Durability.BATCH,
        shimmed -> {
          try (var client = shimmed.client()) {
            client.ask("HELLO", "3");
            client.send(
                pipeline("sub c", "INCR n", "SET a 1", "SETNX a 2", "EXISTS a", "ECHO end"));
            assertTrue(client.readUntil("end\r\n").endsWith("end\r\n"));
          }
        },
        "--rename-command",
        "SUBSCRIBE",
        "sub",
        "--rename-command",
        "COMMAND",
        "untold");
    assertEquals(Answer.Certainty.OPAQUE, ask("GET a").certainty());
  }

  private static byte[] pipeline(String... requests) {
    var all = new ByteArrayOutputStream();
    for (var request : requests) {
      all.writeBytes(Identity.request(request.split(" ")));
    }
    return all.toByteArray();
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
