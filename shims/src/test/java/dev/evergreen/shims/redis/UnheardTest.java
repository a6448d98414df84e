package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.SpoolSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is on record of requests of which nobody hears whether Redis has refused them. */
@Timeout(60)
class UnheardTest {
  private static final String BUSY = "while true do end";

  @TempDir private Path directory;

  /** What clients do with a shim that records. */
  @FunctionalInterface
  private interface Doing {
    void with(Shimmed shimmed, Talk client) throws IOException, InterruptedException;
  }

  private void recorded(Doing doing, String... options) throws IOException, InterruptedException {
    var settings = SpoolSettings.DEFAULT.withDurability(Durability.NONE);
    try (var recording = there().record(settings);
        var shimmed = Shimmed.start(with -> with.withSpool(recording.spool()), options)) {
      try (var client = shimmed.client()) {
        doing.with(shimmed, client);
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
  }

  private Recorded there() {
    return new Recorded(directory);
  }

  private static void send(Talk client, String... requests) throws IOException {
    for (var request : requests) {
      client.send(request.split(" ", -1));
    }
  }

  /** What Redis itself would answer. */
  private static String real(Shimmed shimmed, String database, String question) throws IOException {
    try (var talk = Talk.to(shimmed.redis.port)) {
      talk.ask("SELECT", database);
      return talk.ask(question.split(" ", -1));
    }
  }

  private void assertNotCertain(String database, String question) {
    var answer = there().ask(database, question);
    assertNotEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
  }

  private void assertCertain(String database, String question, String reply) {
    var answer = there().ask(database, question);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(Bytes.of(reply), answer.reply());
  }

  /** Seen: the second SET was carried out at once, and a wrong password was believed. */
  @ParameterizedTest
  @ValueSource(strings = {"SET k w", "SELECT 1", "AUTH bob wrong", "HELLO 3 AUTH bob wrong"})
  void whatIsQueuedBehindAMultiThatNobodyHeardIsNotDone(String queued) throws IOException {
    try (var shimmed = Shimmed.start();
        var bob = shimmed.client();
        var client = shimmed.client()) {
      for (var user : List.of("bob >right", "low nopass")) {
        shimmed.redis.ask(("ACL SETUSER " + user + " on ~* +@all").split(" ", -1));
      }
      assertEquals("+OK\r\n", bob.ask("AUTH", "bob", "right"));
      assertEquals("$-1\r\n", bob.ask("GET", "k"));
      assertEquals("+OK\r\n", client.ask("AUTH", "low", "any"));
      send(client, "CLIENT REPLY SKIP", "MULTI");
      assertEquals("+QUEUED\r\n", client.ask(queued.split(" ", -1)));
      assertEquals("+QUEUED\r\n", client.ask("SET", "k", "w"));
      assertEquals("+OK\r\n", client.ask("DISCARD"));
      assertEquals("$3\r\nlow\r\n", client.ask("ACL", "WHOAMI"));
      assertEquals("$-1\r\n", client.ask("GET", "k"));
      assertEquals("+OK\r\n", client.ask("SET", "k", "x"));
      assertEquals("$1\r\nx\r\n", real(shimmed, "0", "GET k"));
    }
  }

  @Test
  void aBusyScriptRefusesASelectUnheard() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          send(client, "CLIENT REPLY OFF", "SET seen 1");
          while (!real(shimmed, "0", "EXISTS seen").contains("1")) {
            Thread.onSpinWait();
          }
          try (var busy = Talk.to(shimmed.redis.port)) {
            busy.send("EVAL", BUSY, "0");
            shimmed.redis.awaitBusy();
            send(client, "SELECT 1", "SCRIPT KILL");
            assertTrue(busy.reply().startsWith("-"));
          }
          send(client, "SET k new", "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          assertEquals("$3\r\nnew\r\n", real(shimmed, "0", "GET k"));
        },
        "--busy-reply-threshold",
        "1");
    assertNotCertain("0", "GET k");
    assertNotCertain("1", "GET k");
  }

  /** Seen: the reply was hidden, and so it was not told that nothing was done. */
  @Test
  void aTransactionThatWasStoppedDidNothingThoughItsReplyWouldBeHidden()
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          client.ask("WATCH", "w");
          try (var other = shimmed.client()) {
            other.ask("SET", "w", "1");
          }
          client.ask("MULTI");
          client.ask("SET", "k", "new");
          client.ask("ACL", "GENPASS");
          assertEquals("*-1\r\n", client.ask("EXEC"));
        });
    assertCertain("0", "GET k", "old");
  }

  /** Each of these leaves the client where it is, though others like it do not. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT 9",
        "MULTI; SELECT 9; EXEC",
        "MULTI; SELECT 1; DISCARD",
        "MULTI; SELECT 1; NONE; EXEC"
      })
  void aSelectThatIsRefusedUnheardMovesNobody(String selects)
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          send(client, "CLIENT REPLY OFF");
          send(client, selects.split("; ", -1));
          send(client, "SET k new", "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          assertEquals("$3\r\nnew\r\n", client.ask("GET", "k"));
        },
        "--databases",
        "4");
    for (var database : List.of("0", "1", "9")) {
      assertNotCertain(database, "GET k");
    }
  }

  /** That Redis refuses it is certain, as the words tell. */
  @ParameterizedTest
  @ValueSource(strings = {"SELECT 1 x", "SELECT"})
  void aSelectOfOtherWordsIsNone(String select) throws IOException, InterruptedException {
    recorded(
        (_, client) -> {
          send(client, "CLIENT REPLY OFF", select, "SET k new", "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          assertEquals("+OK\r\n", client.ask("SET", "other", "new"));
        });
    assertNotCertain("0", "GET k");
    assertCertain("0", "GET other", "new");
    assertEquals(Answer.Certainty.CERTAIN, there().ask("1", "GET k").certainty());
  }

  @ParameterizedTest
  @ValueSource(strings = {"-select", "-multi", "-exec", "-discard"})
  void whatTheUserMayNotIsNotTakenForDone(String right) throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          shimmed.redis.ask("ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", right);
          client.ask("SET", "k", "old");
          client.ask("AUTH", "bob", "any");
          client.ask("ECHO", "known");
          send(client, "CLIENT REPLY OFF", "MULTI", "SELECT 1", "EXEC", "SELECT 2", "SET k new");
          if (right.equals("-discard")) {
            while (!real(shimmed, "2", "GET k").contains("new")) {
              Thread.onSpinWait();
            }
          } else {
            send(client, "CLIENT REPLY ON");
            assertEquals("+OK\r\n", client.reply());
          }
        });
    for (var database : List.of("0", "1", "2")) {
      assertNotCertain(database, "GET k");
    }
  }

  /** Also in the database that it is in for sure. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SET k new             | CONFIG SET maxmemory 1
          SET k new             | REPLICAOF 127.0.0.1 1
          SET k new             | CONFIG SET min-replicas-to-write 2
          SET k new             | ACL SETUSER default -set
          SET k new             |
          """)
  void aWriteThatIsNotRepliedToMayHaveBeenRefused(String write, String trouble)
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          if (trouble != null) {
            assertEquals("+OK\r\n", shimmed.redis.ask(trouble.split(" ", -1)));
          }
          send(client, "CLIENT REPLY OFF", write, "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
        });
    assertEquals(Answer.Certainty.ONE_OF, there().ask("0", "GET k").certainty());
  }

  /** As soon as Redis says where the client is, that is known again. */
  @ParameterizedTest
  @ValueSource(strings = {"SELECT 1", "SELECT 9", "MULTI; SELECT 1; EXEC"})
  void whereTheClientIsIsKnownWhenItIsRepliedTo(String selects)
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          send(client, "CLIENT REPLY OFF");
          send(client, selects.split("; ", -1));
          send(client, "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          client.ask("SELECT", "2");
          client.ask("SET", "k", "new");
          assertEquals("$3\r\nnew\r\n", real(shimmed, "2", "GET k"));
        },
        "--databases",
        "4");
    assertCertain("2", "GET k", "new");
  }

  /** No lane could go to the database of such a client. */
  @Test
  void whoseDatabaseIsNotKnownKeepsItsUpstream() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          send(client, "CLIENT REPLY OFF", "SELECT 1", "SET k new", "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          assertEquals("$3\r\nnew\r\n", client.ask("GET", "k"));
          var selects = shimmed.redis.ask("INFO", "commandstats");
          assertTrue(selects.matches("(?s).*cmdstat_select:[^\r]*failed_calls=0\r.*"), selects);
        });
  }

  /** Redis has done it, and nobody has looked at it. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ''                   | *3\\rX$3\\rXSETXX$1\\rXkXX$3\\rXnewXX
          CLIENT REPLY OFF     | *3\\rX$3\\rXSETXX$1\\rXkXX$3\\rXnewXX
          ''                   | *3\\r\\n$6\\r\\nCLIENTXX$5\\r\\nREPLY\\r\\n$3\\r\\nOFF\\r\\n
          """)
  void whatNobodyHasLookedAtIsNotCertain(String first, String bytes)
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          client.ask("SET", "other", "old");
          if (!first.isEmpty()) {
            send(client, first);
          }
          client.send(Inline.ascii(bytes.translateEscapes()));
          // What comes behind it is not looked at either.
          send(client, "SET k new", "SET other new");
          while (!real(shimmed, "0", "GET other").contains("new")) {
            Thread.onSpinWait();
          }
          try (var another = shimmed.client()) {
            another.ask("SET", "k", "newer");
          }
          send(client, "SET k newest");
          while (!real(shimmed, "0", "GET k").contains("newest")) {
            Thread.onSpinWait();
          }
        });
    assertNotCertain("0", "GET k");
    assertNotCertain("0", "GET other");
  }

  /** An error comes, but for what is behind that. */
  @Test
  void whatIsRefusedAtLastMayHaveDoneSomethingBefore() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          var skip = Inline.ascii("*3\r\n$6\r\nCLIENTXX$5\r\nREPLY\r\n$4\r\nSKIP\r\n");
          var set = Identity.request("SET", "k", "new");
          client.send(Inline.join(skip, Inline.join(set, Inline.ascii("*x\r\n"))));
          assertTrue(client.rest().startsWith("-ERR Protocol error"));
          assertEquals("$3\r\nnew\r\n", real(shimmed, "0", "GET k"));
        });
    assertNotCertain("0", "GET k");
  }

  /** Garbage is known for what it is, and makes nothing uncertain. */
  @ParameterizedTest
  @ValueSource(
      strings = {"*2\\r\\nX\\r\\n", "*1\\r\\n$x\\r\\n", "*007\\r\\n", "say \"\\r\\n", "*-x\\r\\n"})
  void whatRedisRefusesChangesNothing(String garbage) throws IOException, InterruptedException {
    recorded(
        (_, client) -> {
          client.ask("SET", "k", "old");
          client.send(Inline.ascii(garbage.translateEscapes()));
          assertTrue(client.rest().startsWith("-ERR Protocol error"));
        });
    assertCertain("0", "GET k", "old");
  }

  /** What is refused in the place of what was to silence Redis is no reply to anything else. */
  @ParameterizedTest
  @ValueSource(strings = {"SKIP", "OFF"})
  void aRefusalToBeSilentIsNoOtherReply(String how) throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          shimmed.redis.ask(
              "ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", "-client|reply");
          client.ask("MSET", "a", "1", "b", "2", "c", "3");
          client.ask("AUTH", "bob", "any");
          client.ask("ECHO", "known");
          var all = new ByteArrayOutputStream();
          for (var words : List.of("CLIENT REPLY " + how, "GET a", "GET b", "GET c", "GET a")) {
            all.writeBytes(Identity.request(words.split(" ", -1)));
          }
          client.send(all.toByteArray());
          for (int i = 0; i < 5; i++) {
            client.reply();
          }
        });
    assertGetsAreReal(
        Map.of("GET a", "$1\r\n1\r\n", "GET b", "$1\r\n2\r\n", "GET c", "$1\r\n3\r\n"));
  }

  /** Redis speaks in the old version, in which messages look like replies. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "CLIENT REPLY OFF; HELLO 3 AUTH nobody wrong; CLIENT REPLY ON",
        "HELLO 3; MULTI; HELLO 2; INCR a; EXEC"
      })
  void whatTheVersionIsMayBeUnknown(String requests) throws IOException, InterruptedException {
    recorded(
        (_, client) -> {
          client.ask("MSET", "a", "x", "b", "y");
          send(client, requests.split("; ", -1));
          send(client, "ECHO known");
          client.readUntil("known\r\n");
          var all = new ByteArrayOutputStream();
          for (var words : List.of("SUBSCRIBE c d", "UNSUBSCRIBE c d", "GET a", "GET b")) {
            all.writeBytes(Identity.request(words.split(" ", -1)));
          }
          client.send(all.toByteArray());
          client.readUntil("y\r\n");
        });
    assertGetsAreReal(Map.of("GET a", "$1\r\nx\r\n", "GET b", "$1\r\ny\r\n"));
  }

  /** What is on record as a reply to these is one. */
  private void assertGetsAreReal(Map<String, String> real) {
    try (var trace = there().trace()) {
      for (var operation : trace.from(1, 100)) {
        var reply = operation.reply();
        var expected = real.get(operation.text());
        if (expected != null && reply != null) {
          assertTrue(
              reply.text().equals(expected) || reply.text().startsWith("-"),
              () -> operation.text() + " has " + reply);
        }
      }
    }
  }

  /** With words too many nothing is done, and the transaction goes on. */
  @ParameterizedTest
  @ValueSource(strings = {"DISCARD x", "MULTI x", "RESET x", "UNWATCH x"})
  void withWordsTooManyATransactionGoesOn(String odd) throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          client.ask("MULTI");
          assertTrue(client.ask(odd.split(" ", -1)).startsWith("-ERR wrong number"));
          assertEquals("+QUEUED\r\n", client.ask("SET", "k", "new"));
          assertTrue(client.ask("EXEC").startsWith("-EXECABORT"));
        });
    assertCertain("0", "GET k", "old");
  }

  /** It ends a transaction, as any that is refused. */
  @Test
  void anExecOfManyWordsEndsATransaction() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("MULTI");
          client.ask("SET", "k", "old");
          assertTrue(client.ask("EXEC", "x").startsWith("-"));
          assertEquals("+OK\r\n", client.ask("SET", "k", "new"));
        });
    assertCertain("0", "GET k", "new");
  }

  @Test
  void aResetOfManyWordsIsNotRepliedToWhereRedisIsSilent()
      throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("MSET", "a", "1", "b", "2");
          send(client, "CLIENT REPLY OFF", "RESET x", "CLIENT REPLY ON");
          assertEquals("+OK\r\n", client.reply());
          client.ask("GET", "a");
          client.ask("GET", "b");
        });
    try (var trace = there().trace()) {
      var last = trace.from(1, 100).getLast();
      assertEquals("GET b", last.text());
      assertEquals(Bytes.of("$1\r\n2\r\n"), last.reply());
    }
  }

  /** Of one that is too long to be looked at whole and may hold a password nothing is on record. */
  @Test
  void whatIsHiddenWholeMayHaveDoneAnything() throws IOException, InterruptedException {
    try (var other = RedisServer.start()) {
      recorded(
          (_, client) -> {
            client.ask("SET", "k", "old");
            var request =
                "MIGRATE 127.0.0.1 %d  0 5000 KEYS k".formatted(other.port)
                    + " absent".repeat(10_000);
            assertEquals("+OK\r\n", client.ask(request.split(" ", -1)));
            assertEquals("$-1\r\n", client.ask("GET", "k"));
          });
    }
    assertNotCertain("0", "GET k");
  }

  /** Its client may not have Redis speak again, who does all that it is asked. */
  @ParameterizedTest
  @ValueSource(strings = {"SELECT 1; SET k new; SET end 1; SELECT 0", "SET end 1"})
  void whoMayNotHearIsNotWaitedFor(String requests) throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          shimmed.redis.ask(
              "ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all", "-client|reply");
          client.ask("MSET", "a", "1", "b", "2");
          send(client, "CLIENT REPLY OFF", "AUTH bob any", "CLIENT REPLY ON", "GET a");
          send(client, requests.split("; ", -1));
          var database = requests.startsWith("SELECT 1") ? "1" : "0";
          while (!real(shimmed, database, "EXISTS end").contains("1")) {
            Thread.onSpinWait();
          }
          send(client, "AUTH default any", "CLIENT REPLY ON", "GET b");
          client.readUntil("$1\r\n2\r\n");
        });
    assertGetsAreReal(Map.of("GET a", "$1\r\n1\r\n", "GET b", "$1\r\n2\r\n"));
  }
}
