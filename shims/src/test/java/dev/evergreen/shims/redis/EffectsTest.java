package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import dev.evergreen.provenance.Witness;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What scripts and functions do, as MONITOR tells it. */
@Timeout(60)
class EffectsTest {
  private static final String SET = "return redis.call('SET', KEYS[1], ARGV[1])";
  private static final String COPY_IF =
      "if redis.call('GET', KEYS[1]) == '1' then redis.call('SET', KEYS[2], '1') end";

  private static final int HISTORIES = Integer.getInteger("evergreen.oracle.histories", 2000) / 10;
  private static final long SEED = Long.getLong("evergreen.oracle.seed", System.nanoTime());

  @TempDir private Path directory;

  /** What clients do. */
  @FunctionalInterface
  private interface Doing {
    void with(Shimmed shimmed, Talk client) throws IOException, InterruptedException;
  }

  private List<Operation> recorded(Doing doing) throws IOException, InterruptedException {
    return recorded(false, doing);
  }

  private List<Operation> recorded(boolean outside, Doing doing, String... options)
      throws IOException, InterruptedException {
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(1 << 20).withDurability(Durability.NONE);
    try (var recording = new Recorded(directory).record(settings);
        var shimmed =
            Shimmed.start(
                with -> with.withSpool(recording.spool()).withMonitor(true).withOutside(outside),
                options);
        var client = shimmed.client()) {
      doing.with(shimmed, client);
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    }
    try (var trace = new Recorded(directory).trace()) {
      return trace.from(1, 10_000);
    }
  }

  private Answer ask(String question) {
    return new Recorded(directory).ask("0", question);
  }

  /** The answer is certain because of these, each told by its last words. */
  private void assertBecause(String question, String... causes) throws IOException {
    var answer = ask(question);
    assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
    var elements = answer.witnesses().getFirst().elements();
    assertEquals(causes.length, elements.size(), elements::toString);
    for (int i = 0; i < causes.length; i++) {
      var told =
          elements.get(i) instanceof Witness.Done(var operation) ? operation.text() : "clock";
      assertTrue(told.endsWith(causes[i]), told + " for " + causes[i]);
    }
  }

  @Test
  void aScriptIsTheReasonOfWhatItWrote() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "a", "0");
          assertEquals("+OK\r\n", client.ask("EVAL", SET, "1", "a", "x y\r\n\"\\\0"));
          assertEquals("$8\r\nx y\r\n\"\\\0\r\n", client.ask("GET", "a"));
          var sha = "d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37";
          var loaded = client.ask("SCRIPT", "LOAD", SET);
          client.ask("EVALSHA", loaded.substring(5, 5 + sha.length()), "1", "b", "2");
          client.ask(
              "FUNCTION",
              "LOAD",
              "#!lua name=l\nredis.register_function('f', function(keys, args) return"
                  + " redis.call('INCR', keys[1]) end)");
          assertEquals(":1\r\n", client.ask("FCALL", "f", "1", "c"));
          client.ask("SELECT", "3");
          client.ask("EVAL", SET, "1", "d", "3");
        });
    assertBecause("GET a", "1 a x y\r\n\"\\\0");
    assertBecause("GET b", "LOAD " + SET, "1 b 2");
    assertEquals("FCALL f 1 c", lastCause("GET c"));
    assertBecause("GET d");
    assertBecause("STRLEN a", "1 a x y\r\n\"\\\0");
  }

  private String lastCause(String question) throws IOException {
    var answer = ask(question);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    var last = answer.witnesses().getFirst().elements().getLast();
    return last instanceof Witness.Done(var operation) ? operation.text() : "clock";
  }

  @Test
  void aScriptThatWritesNothingIsNoReason() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "a", "1");
          client.ask("EVAL", "return redis.call('GET', KEYS[1])", "1", "a");
          client.ask("EVAL", "return 1", "1", "a");
          assertTrue(client.ask("EVAL", "nonsense(", "1", "a").startsWith("-ERR"));
          assertTrue(client.ask("EVALSHA", "0".repeat(40), "1", "a").startsWith("-NOSCRIPT"));
          assertTrue(client.ask("FCALL", "none", "1", "a").startsWith("-ERR"));
        });
    assertBecause("GET a", "SET a 1");
  }

  /** What its commands have told it is not what is in cells, or nobody knows what they did. */
  @Test
  void whatAScriptWroteIsOpaqueIfItWentByMoreThanCells() throws IOException, InterruptedException {
    recorded(
        false,
        (shimmed, client) -> {
          client.ask("SET", "a", "1");
          assertEquals(
              ":2\r\n", client.ask("EVAL", "return redis.call('ADD.TO',KEYS[1],'2')", "1", "a"));
          var random = "return redis.call('SET',KEYS[1],redis.call('RANDOMKEY'))";
          assertEquals("+OK\r\n", client.ask("EVAL", random, "1", "r"));
          var time = "return redis.call('SET',KEYS[1],redis.call('TIME')[1])";
          assertEquals("+OK\r\n", client.ask("EVAL", time, "1", "t"));
          var tells = "redis.call('PUBLISH','c','m') return redis.call('SET',KEYS[1],'1')";
          assertEquals("+OK\r\n", client.ask("EVAL", tells, "1", "p"));
        },
        "--rename-command",
        "APPEND",
        "ADD.TO");
    for (var key : List.of("a", "r", "t")) {
      assertEquals(Certainty.OPAQUE, ask("GET " + key).certainty(), key);
    }
    assertEquals(Certainty.CERTAIN, ask("GET p").certainty());
    var elements = ask("GET r").witnesses().getFirst().elements();
    assertTrue(
        elements.getFirst() instanceof Witness.Done(var first) && first.text().equals("SET a 1"),
        elements::toString);
  }

  /** What a script has drawn at random nobody hears. */
  @Test
  void aScriptThatDrawsMembersIsAReasonForEachOfThem() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SADD", "s", "a");
          client.ask("EVAL", "return redis.call('SPOP', KEYS[1])", "1", "s");
          client.ask("SISMEMBER", "s", "a");
        });
    assertBecause("SISMEMBER s a", "SADD s a", " 1 s");
  }

  /** That it did not write is because of what it read. */
  @Test
  void whatAScriptReadIsAReasonToo() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "x", "1");
          client.ask("EVAL", COPY_IF, "2", "x", "b");
          client.ask("SET", "x", "0");
          client.ask("EVAL", COPY_IF, "2", "x", "c");
        });
    assertBecause("GET b", "SET x 1", "2 x b");
    assertBecause("GET c", "SET x 0");
  }

  @Test
  void aScriptThatFailsHasWrittenWhatItWroteBefore() throws IOException, InterruptedException {
    var operations =
        recorded(
            (shimmed, client) -> {
              client.ask("SET", "s", "text");
              var reply =
                  client.ask(
                      "EVAL",
                      "redis.call('SET', KEYS[1], '1') redis.call('LPUSH', KEYS[2], '1')",
                      "2",
                      "a",
                      "s");
              assertTrue(reply.startsWith("-WRONGTYPE"), reply);
            });
    // Because of the text it failed: else it might have gone on.
    assertBecause("GET a", "SET s text", "2 a s");
    // A reader of the trace is told the error as Redis told it.
    var told = new RedisKind().value(Objects.requireNonNull(operations.getLast().reply()));
    assertTrue(told instanceof String text && text.startsWith("WRONGTYPE Op"), "" + told);
  }

  @Test
  void aCommandThatFailsInAScriptHidesNoOlderWriter() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "k", "old");
          var reply = client.ask("EVAL", "redis.call('SETEX', KEYS[1], '0', 'v')", "1", "k");
          assertTrue(reply.startsWith("-ERR"), reply);
          client.ask("SET", "p", "old");
          client.ask("EVAL", "redis.pcall('SETEX', KEYS[1], '0', 'v') return 1", "1", "p");
          assertEquals("$3\r\nold\r\n", client.ask("GET", "p"));
        });
    for (var key : List.of("k", "p")) {
      var elements = ask("GET " + key).witnesses().getFirst().elements();
      assertTrue(
          elements.getFirst() instanceof Witness.Done(var first)
              && first.text().equals("SET " + key + " old"),
          elements::toString);
    }
  }

  /** The answer holds all that the definition says, and is certain: what scripts read is known. */
  @Test
  void whatIsAnsweredOfScriptsIsWhatTheDefinitionSays() throws IOException, InterruptedException {
    var questions = new ArrayList<Integer>();
    var operations =
        recorded(
            (shimmed, client) -> {
              for (int i = 0; i < HISTORIES; i++) {
                var random = new Random(SEED + i);
                client.ask("FLUSHALL");
                int steps = 2 + random.nextInt(4);
                for (var step : Histories.steps(random, List.of(Histories.WATCHED), steps, false)) {
                  client.ask(step.getFirst().split(" ", -1));
                }
                client.ask(Histories.question(random, List.of(Histories.WATCHED)).split(" ", -1));
                questions.add(steps);
              }
            });
    var rest = operations.iterator();
    try (var redis = new Pipeline()) {
      var oracle = new Oracle(redis, new RedisSpecification());
      for (int i = 0; i < HISTORIES; i++) {
        var _ = rest.next();
        var history = new ArrayList<Operation>();
        for (int row = 1; row <= questions.get(i) + 1; row++) {
          history.add(inRow(row, rest.next()));
        }
        check(oracle.judge(history, history.removeLast()), "seed " + (SEED + i) + ": " + history);
      }
    }
  }

  private static Operation inRow(long row, Operation told) {
    return new Operation(
        row, 1, 1, 1, "0", told.sent(), told.replied(), told.request(), told.reply());
  }

  private static void check(Oracle.Verdict verdict, String name) {
    var answer =
        new Why(new RedisSpecification(), verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    var rows = verdict.elements(answer.witnesses().getFirst());
    assertEquals(Certainty.CERTAIN, answer.certainty(), () -> name + answer.note());
    assertTrue(
        verdict.definition().isClosed(rows),
        () -> name + " " + rows + "; minimal are " + verdict.definition().witnesses());
  }

  @Test
  void whatAScriptLeavesForATimeExpires() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("EVAL", "redis.call('SET', KEYS[1], '1', 'PX', '1')", "1", "a");
          while (!client.ask("GET", "a").equals("$-1\r\n")) {
            Thread.onSpinWait();
          }
        });
    var answer = ask("GET a");
    assertEquals(Certainty.CERTAIN, answer.certainty());
    var elements = answer.witnesses().getFirst().elements();
    assertTrue(elements.stream().anyMatch(Witness.Clock.class::isInstance), elements::toString);
    assertTrue(elements.stream().anyMatch(Witness.Done.class::isInstance), elements::toString);
  }

  @Test
  void scriptsInTransactionsAreTheirParts() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          // All at once, which goes by a lane if nobody wants to know what scripts do.
          client.send(
              Stream.of(
                      Identity.request("MULTI"),
                      Identity.request("EVAL", SET, "1", "a", "1"),
                      Identity.request("SET", "b", "2"),
                      Identity.request("EVAL", SET, "1", "c", "3"),
                      Identity.request("EXEC"),
                      Identity.request("EVAL", SET, "1", "d", "4"))
                  .reduce(Inline::join)
                  .orElseThrow());
          client.readUntil("*3\r\n+OK\r\n+OK\r\n+OK\r\n");
          assertEquals("+OK\r\n", client.reply());
          client.ask("MULTI");
          client.ask("EVAL", SET, "1", "e", "5");
          client.ask("DISCARD");
        });
    for (var key : List.of("a", "b", "c")) {
      assertBecause("GET " + key, "EXEC");
    }
    assertBecause("GET d", "1 d 4");
    assertBecause("GET e");
  }

  /** Pipelined, refused ones among them, by several clients, and by one that is not the shim's. */
  @Test
  void eachCallHasItsOwnEffects() throws IOException, InterruptedException {
    int calls = 60;
    var operations =
        recorded(
            (shimmed, client) -> {
              var threads = new ArrayList<Thread>();
              for (int i = 0; i < 4; i++) {
                int number = i;
                threads.add(Thread.ofVirtual().start(() -> call(shimmed, number, calls)));
              }
              for (int i = 0; i < calls; i++) {
                shimmed.redis.ask("EVAL", SET, "1", "foreign", "" + i);
              }
              for (var thread : threads) {
                thread.join();
              }
            });
    var kind = new RedisKind();
    int known = 0;
    for (var operation : operations) {
      if (Scripts.isCall(operation.request())) {
        var done = Scripts.done(operation).orElseThrow(() -> new AssertionError(operation.text()));
        var refused =
            kind.value(Objects.requireNonNull(operation.reply())) instanceof String text
                && text.contains("SCRIPT");
        assertEquals(refused ? 0 : 1, done.size(), operation.text());
        if (!refused) {
          assertEquals(
              List.of(operation.request().get(3), operation.request().get(4)),
              done.getFirst().request().subList(1, 3));
        }
        known++;
      }
    }
    assertEquals(4 * 2 * calls, known);
  }

  /** Of a client that does not take the replies, what its calls did is not kept for ever. */
  @Test
  void whatIsNotTakenIsForgottenInTheEnd() throws IOException, InterruptedException {
    int calls = 100;
    var value = "x".repeat(300_000);
    var script =
        "if redis.call('INCR', KEYS[1]) == %d then redis.call('RPUSH', KEYS[2], '') end return ARGV[1]"
            .formatted(calls);
    recorded(
        (shimmed, client) -> {
          for (int i = 0; i < calls; i++) {
            client.send("EVAL", script, "2", "a", "all", value);
          }
          assertTrue(shimmed.redis.ask("BLPOP", "all", "0").startsWith("*2"));
          for (int i = 0; i < calls; i++) {
            assertEquals(value.length(), client.reply().length() - "$300000\r\n\r\n".length());
          }
          client.ask("EVAL", SET, "1", "b", "1");
        });
    var known = new ArrayList<Boolean>();
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      for (var page = trace.from(1, 10); !page.isEmpty(); ) {
        page.forEach(call -> known.add(Scripts.done(call).isPresent()));
        page = trace.from(page.getLast().row() + 1, 10);
      }
    }
    assertEquals(calls + 1, known.size());
    assertTrue(known.getFirst());
    assertTrue(known.contains(false));
    assertTrue(known.getLast(), "what comes later is known");
    assertEquals(Certainty.OPAQUE, ask("GET a").certainty());
    assertBecause("GET b", "1 b 1");
  }

  private static void call(Shimmed shimmed, int number, int calls) {
    try (var client = shimmed.client()) {
      for (int i = 0; i < calls; i++) {
        client.send("EVAL", SET, "1", "k" + number, "" + i);
        client.send("EVALSHA", "f".repeat(40), "1", "k" + number, "" + i);
      }
      for (int i = 0; i < calls; i++) {
        assertEquals("+OK\r\n", client.reply());
        assertTrue(client.reply().startsWith("-NOSCRIPT"));
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void whatIsNotKnownIsOpaque() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.send("CLIENT", "REPLY", "SKIP");
          client.send("EVAL", SET, "1", "a", "1");
          client.ask("EVAL", SET, "1", "a", "1");
          client.ask("GET", "a");
          client.ask("EVAL", SET, "1", "b", "1");
          var many = "for i = 1, 20000 do redis.call('SET', KEYS[1], ('x'):rep(100)) end";
          client.ask("EVAL", many, "1", "c");
          client.ask("EVAL", SET, "1", "d", "1");
          // A line that is too long to be read is none of a script for that.
          client.send("SET", "long", "x".repeat(2 << 20));
          client.send("EVAL", SET, "1", "e", "1");
          client.reply();
          client.reply();
          client.ask("EVAL", SET, "1", "f", "x".repeat(2 << 20));
          client.ask("EVAL", SET, "1", "g", "1");
        });
    assertBecause("GET e", "1 e 1");
    assertEquals(Certainty.OPAQUE, ask("GET f").certainty());
    assertBecause("GET g", "1 g 1");
    assertEquals(Certainty.OPAQUE, ask("GET a").certainty());
    assertBecause("GET b", "1 b 1");
    assertEquals(Certainty.OPAQUE, ask("GET c").certainty());
    assertBecause("GET d", "1 d 1");
  }

  @Test
  void afterMonitorHasEndedItIsListenedToAgain() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("EVAL", SET, "1", "a", "1");
          shimmed.redis.ask("EVAL", "return redis.call('SET', 'x', '1')", "0");
          killMonitors(shimmed);
          client.ask("EVAL", SET, "1", "b", "1");
          while (!shimmed.redis.ask("CLIENT", "LIST").contains("flags=O")) {
            Thread.onSpinWait();
          }
          client.ask("GET", "a");
          client.ask("EVAL", SET, "1", "c", "1");
          while (Scripts.done(lastOf(client)).isEmpty()) {
            Thread.onSpinWait();
          }
        });
    assertBecause("GET a", "1 a 1");
    assertEquals(Certainty.OPAQUE, ask("GET b").certainty());
  }

  /** That a script was not seen does not say that it has done nothing, even if it failed. */
  @Test
  void whatFailsWhileMonitorIsCutIsOpaque() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "a", "0");
          client.ask("SET", "s", "text");
          client.ask("EVAL", SET, "1", "x", "1");
          // It cannot listen again.
          shimmed.redis.ask("ACL", "SETUSER", "default", "-monitor");
          killMonitors(shimmed);
          try (var other = shimmed.client()) {
            for (var talk : List.of(client, other)) {
              talk.ask("EVAL", "return 1", "0");
              talk.ask("CLIENT", "GETNAME");
              var key = talk == client ? "a" : "b";
              var reply =
                  talk.ask(
                      "EVAL",
                      "redis.call('SET', KEYS[1], '1') redis.call('LPUSH', KEYS[2], '1')",
                      "2",
                      key,
                      "s");
              assertTrue(reply.startsWith("-WRONGTYPE"), reply);
            }
          }
        });
    assertEquals(Certainty.OPAQUE, ask("GET a").certainty());
    assertEquals(Certainty.OPAQUE, ask("GET b").certainty());
  }

  private static void killMonitors(Shimmed shimmed) {
    for (var line : shimmed.redis.ask("CLIENT", "LIST").lines().toList()) {
      if (line.contains("flags=O")) {
        var id = line.substring("id=".length(), line.indexOf(' '));
        shimmed.redis.ask("CLIENT", "KILL", "ID", id);
      }
    }
  }

  /** Redis lets in some commands of others, and shows them between those of the script. */
  @Test
  void whatIsLetInWhileAScriptIsSlowEndsItNot() throws IOException, InterruptedException {
    recorded(
        (shimmed, client) -> {
          shimmed.redis.ask("CONFIG", "SET", "busy-reply-threshold", "1");
          client.ask("SET", "b", "0");
          client.send(
              "EVAL",
              "redis.call('SET', KEYS[1], '1') for i = 1, 1e8 do end"
                  + " redis.call('SET', KEYS[2], '1') return 'done'",
              "2",
              "a",
              "b");
          var told = "";
          for (int i = 0; i < 1000 && !told.startsWith("-BUSY"); i++) {
            told = shimmed.redis.ask("PING");
          }
          assertTrue(told.startsWith("-BUSY"), told);
          assertEquals("+OK\r\n", shimmed.redis.ask("UNWATCH"));
          assertEquals("$4\r\ndone\r\n", client.reply());
        });
    assertEquals("2 a b", last(ask("GET b")));
  }

  /** The doubt ends with the script, however soon the next one is called. */
  @Test
  void afterADoubtTheNextScriptIsKnown() throws IOException, InterruptedException {
    int calls = 300;
    var operations =
        recorded(
            (shimmed, client) -> {
              for (int i = 0; i < calls; i++) {
                client.send("CLIENT", "REPLY", "SKIP");
                client.send("EVAL", SET, "1", "a", "0");
                client.ask("EVAL", SET, "1", "a", "1");
                client.ask("EVAL", SET, "1", "a", "2");
              }
            });
    var known =
        operations.stream()
            .filter(one -> one.text().endsWith(" 2") && Scripts.done(one).isPresent())
            .count();
    assertEquals(calls, known);
  }

  /** Each of these has other effects than the one before, of the same words. */
  @Test
  void aCallDoesNotTakeTheEffectsOfAnother() throws IOException, InterruptedException {
    var counts = "if redis.call('INCR', KEYS[1]) % 2 == 0 then redis.call('SET', KEYS[2], 'x') end";
    recorded(
        (shimmed, client) -> {
          client.ask("SET", "b", "0");
          client.send(
              Stream.of(
                      Identity.request("MULTI"),
                      Identity.request("EVAL", counts, "2", "a", "b"),
                      Identity.request("CONFIG", "GET", "requirepass"),
                      Identity.request("EXEC"),
                      Identity.request("EVAL", counts, "2", "a", "b"))
                  .reduce(Inline::join)
                  .orElseThrow());
          client.readUntil("*2\r\n$-1\r\n");
          client.reply();
          assertEquals("$-1\r\n", client.reply());
          assertEquals("$1\r\nx\r\n", client.ask("GET", "b"));
          client.ask("SET", "c", "0");
          // The second one is under way without a reply when the first one is replied to.
          client.send(
              Stream.of(
                      Identity.request("EVAL", counts, "2", "d", "c"),
                      Identity.request("CLIENT", "REPLY", "SKIP"),
                      Identity.request("EVAL", counts, "2", "d", "c"))
                  .reduce(Inline::join)
                  .orElseThrow());
          client.reply();
          client.ask("EVAL", counts, "2", "d", "c");
        });
    assertEquals("2 a b", last(ask("GET b")));
    assertEquals(Certainty.OPAQUE, ask("GET c").certainty());
  }

  private static String last(Answer answer) {
    var element = answer.witnesses().getFirst().elements().getLast();
    var text = element instanceof Witness.Done(var operation) ? operation.text() : "clock";
    return text.substring(Math.max(0, text.length() - "2 a b".length()));
  }

  private Operation lastOf(Talk client) throws IOException {
    client.ask("EVAL", SET, "1", "c", "1");
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      var _ = trace.awaitLoaded(Duration.ofSeconds(20));
      return trace.last(1).getFirst();
    }
  }

  @Test
  void whatAScriptWritesUndeclaredIsNotFromOutside() throws IOException, InterruptedException {
    recorded(
        true,
        (shimmed, client) -> {
          client.ask("EVAL", "redis.call('SET', 'a' .. 'b', '1')", "0");
          shimmed.redis.ask("SET", "strange", "1");
          // What is told of both keys comes in this order.
          while (!isOutside("strange")) {
            Thread.onSpinWait();
          }
        });
    assertBecause("GET ab", " 0");
  }

  private boolean isOutside(String key) throws IOException {
    try (var trace = StoredTrace.open(directory.toString(), Duration.ofSeconds(20))) {
      return trace.lastBreak(Call.database("0").child(Bytes.of(key)), Long.MAX_VALUE).isPresent();
    }
  }

  @Test
  void aRedisThatDoesNotKnowTheShimsAddressIsRefused() throws IOException {
    try (var redis = RedisServer.start()) {
      var settings = Shimmed.settings("unix:" + redis.socket).withMonitor(true);
      var refused = assertThrows(IOException.class, () -> RedisShim.start(settings));
      assertTrue(refused.toString().contains("UNIX socket"), refused::toString);
    }
  }
}
