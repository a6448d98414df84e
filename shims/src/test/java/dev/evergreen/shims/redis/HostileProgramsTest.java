package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Overflow;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import dev.evergreen.provenance.Witness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is called certain is so, whatever several clients do at once, and whatever of it has no room
 * on record: what would be replied now is what Redis replies; and of what was replied a witness,
 * also with more of what was recorded, gives the same reply by a Redis that is asked nothing else.
 */
@Timeout(600)
class HostileProgramsTest {
  private static final int PROGRAMS = Integer.getInteger("evergreen.hostile.programs", 6);
  private static final long SEED = Long.getLong("evergreen.hostile.seed", 1);
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();
  private static final Duration LONG = Duration.ofSeconds(60);

  /** So many of the replies of a program are asked about. */
  private static final int MOST_ASKED = 12;

  /** So many questions about each key. */
  private static final int MOST_NOW = 4;

  private static final List<String> NOW =
      List.of(
          "GET",
          "TYPE",
          "EXISTS",
          "STRLEN",
          "LRANGE 0 -1",
          "LLEN",
          "HGETALL",
          "HLEN",
          "SMEMBERS",
          "SCARD",
          "ZRANGE 0 -1 WITHSCORES",
          "ZCARD",
          "XRANGE - +",
          "XLEN",
          "XPENDING g",
          "TTL",
          "BITCOUNT");

  /** What is done once more has another effect, or none that can be told. */
  private static final Set<String> NOT_AGAIN =
      Set.of(
          "DEBUG",
          "RESTORE",
          "CLIENT",
          "HELLO",
          "WAIT",
          "EVAL",
          "WATCH",
          "XREAD",
          "XREADGROUP",
          "MULTI",
          "EXEC",
          "DISCARD",
          "SELECT",
          "AUTH",
          "CONFIG",
          "RESET",
          "RANDOMKEY",
          "PUBLISH");

  private static Pipeline scratch;

  @TempDir Path directory;
  private final Map<Answer.Certainty, Integer> counts = new EnumMap<>(Answer.Certainty.class);
  private int replayed;

  @BeforeAll
  static void start() throws IOException {
    scratch = new Pipeline("--enable-debug-command", "yes");
  }

  @AfterAll
  static void stop() throws IOException {
    if (scratch != null) {
      scratch.close();
    }
  }

  @Test
  void whatIsCalledCertainIsSo() throws Exception {
    System.out.println("-Devergreen.hostile.seed=" + SEED);
    try (var redis =
        RedisServer.start(
            "--enable-debug-command", "yes", "--databases", "2", "--busy-reply-threshold", "1")) {
      for (int i = 0; i < PROGRAMS; i++) {
        judge(redis, SEED + i);
      }
    }
    System.out.println(counts + ", replayed " + replayed);
    assertTrue(
        PROGRAMS < 10 || counts.getOrDefault(Answer.Certainty.CERTAIN, 0) > PROGRAMS,
        () -> "nothing is certain: " + counts);
    assertTrue(PROGRAMS < 10 || replayed > PROGRAMS, "few were tried again");
  }

  private void judge(RedisServer redis, long seed) throws Exception {
    var random = new Random(seed);
    redis.ask("CONFIG", "SET", "maxmemory", "0");
    redis.ask(Histories.pick(random, HostileProgram.BOB).split(" ", -1));
    redis.ask("FLUSHALL");
    redis.ask("SET", "a", "1");
    var dump = dumped(redis.port);
    redis.ask("FLUSHALL");
    boolean drops = random.nextInt(3) == 0;
    boolean killed = random.nextInt(8) == 0;
    var trace = directory.resolve("" + seed);
    if (killed) {
      runAndKill(redis, seed, random, dump, trace);
    } else {
      var settings =
          (drops
                  ? SpoolSettings.DEFAULT.withSegmentBytes(256 << 10).withBytes(512 << 10)
                  : SpoolSettings.DEFAULT.withSegmentBytes(1 << 20).withBytes(16 << 20))
              .withDurability(Durability.NONE)
              .withOverflow(drops ? Overflow.DROP : Overflow.SLOW);
      try (var recording = new Recorded(trace).record(settings);
          var shim =
              RedisShim.start(
                  Shimmed.settings("127.0.0.1:" + redis.port)
                      .withSpool(recording.spool())
                      .withRedactor(recording.redactor()))) {
        run(Shimmed.port(shim), seed, random, dump, drops);
      }
    }
    askAll(
        redis,
        trace,
        random,
        "seed " + seed + (drops ? ", drops" : "") + (killed ? ", killed" : ""));
  }

  private static byte[] dumped(int port) throws IOException {
    try (var talk = Talk.to(port)) {
      return ((Bytes) Resp.read(bytes(talk.ask("DUMP", "a")))).toArray();
    }
  }

  private static void run(int port, long seed, Random random, byte[] dump, boolean drops)
      throws InterruptedException {
    var waiting = new ConcurrentLinkedQueue<String>();
    var threads = new ArrayList<Thread>();
    int clients = 1 + random.nextInt(4);
    for (int i = 0; i < clients; i++) {
      boolean leaves = random.nextInt(5) == 0;
      var own = new HostileProgram(new Random(seed * 31 + i), dump);
      var pieces = own.pieces();
      if (drops && i == 0) {
        pieces.add(random.nextInt(pieces.size()), own.flood());
      }
      threads.add(
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      own.run(port, pieces, leaves);
                    } catch (IOException e) {
                      // The shim was killed.
                    } catch (UncheckedIOException e) {
                      waiting.add(told(pieces));
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  }));
    }
    for (var thread : threads) {
      thread.join();
    }
    assertTrue(waiting.isEmpty(), () -> "seed " + seed + ": these wait for ever: " + waiting);
  }

  private static String told(List<byte[]> pieces) {
    return String.join(
        "; ",
        pieces.stream()
            .map(
                piece ->
                    new String(piece, StandardCharsets.ISO_8859_1)
                        .replaceAll("[*$]\\d+\r\n", "")
                        .replaceAll("\\s+", " "))
            .toList());
  }

  private static void runAndKill(
      RedisServer redis, long seed, Random random, byte[] dump, Path trace) throws Exception {
    for (int life = 0; life < 2; life++) {
      try (var shim = ShimProcess.start(redis, trace, Durability.NONE)) {
        long own = seed + life * 7L;
        var running =
            Thread.ofPlatform()
                .daemon()
                .start(
                    () -> {
                      try {
                        run(shim.port, own, new Random(own), dump, false);
                      } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                      }
                    });
        if (life == 0) {
          Thread.sleep(random.nextInt(30));
          shim.kill();
        }
        running.join();
      }
    }
  }

  private void askAll(RedisServer redis, Path directory, Random random, String name)
      throws IOException {
    settle(redis);
    try (var trace = StoredTrace.open(directory.toString(), LONG)) {
      trace.awaitLoaded(LONG);
      var why = new Why(SPECIFICATION, trace);
      for (var space : List.of("0", "1")) {
        for (var key : List.of("a", "b")) {
          for (int i = 0; i < MOST_NOW; i++) {
            var words = words(Histories.pick(random, NOW), key);
            askNow(redis, trace, why, space, words, name);
          }
        }
        askNow(redis, trace, why, space, Oracle.words("KEYS *"), name);
      }
      var all = trace.from(1, 100_000);
      for (int i = 0; i < MOST_ASKED && !all.isEmpty(); i++) {
        askOf(why, all, all.get(random.nextInt(all.size())), random, name);
      }
    }
  }

  /** Returns when Redis has nothing more of what clients have left. */
  private static void settle(RedisServer redis) {
    // What was sent on connections that have ended is carried out, or never will be.
    while (redis.ask("CLIENT", "LIST").lines().filter(line -> line.contains("id=")).count() > 1) {
      Thread.onSpinWait();
    }
  }

  private static List<Bytes> words(String question, String key) {
    var words = new ArrayList<>(Oracle.words(question));
    words.add(1, Bytes.of(key));
    return words;
  }

  private void askNow(
      RedisServer redis, StoredTrace trace, Why why, String space, List<Bytes> words, String name)
      throws IOException {
    var before = answer(trace, why, space, words);
    var real = real(redis, space, words);
    var after = answer(trace, why, space, words);
    counts.merge(before.certainty(), 1, Integer::sum);
    if (before.certainty() == Answer.Certainty.CERTAIN
        && after.certainty() == Answer.Certainty.CERTAIN
        && before.reply() != null
        && before.reply().equals(after.reply())) {
      var asked = before.question();
      var expected =
          SPECIFICATION.reply(
              new Operation(
                  asked.row(), asked.epoch(), 0, 0, space, asked.sent(), null, words, real));
      if (!expected.equals(before.reply()) && !(before.reply() instanceof Expiry.Between)) {
        fail(
            "%s: %s in %s is %s, and it is said to be %s because of %s"
                    .formatted(
                        name, asked.text(), space, expected, before.reply(), before.witnesses())
                + "; on record is\n"
                + told(trace));
      }
    }
  }

  private static String told(StoredTrace trace) {
    var lines = new StringBuilder();
    for (var operation : trace.from(1, 300)) {
      if (!operation.text().startsWith("SET filler")) {
        lines.append(
            "%d lane %d db %s %s..%s %s -> %s%n"
                .formatted(
                    operation.row(),
                    operation.lane(),
                    operation.space(),
                    operation.sent(),
                    operation.replied(),
                    operation.text(),
                    operation.reply()));
      }
    }
    return lines.toString();
  }

  private static Answer answer(StoredTrace trace, Why why, String space, List<Bytes> words) {
    long epoch = trace.epoch(Long.MAX_VALUE);
    var now = Instant.now();
    return why.ask(
        new Operation(Long.MAX_VALUE, epoch, 0, 0, space, now, null, words, null), Why.Wish.ONE);
  }

  private static Bytes real(RedisServer redis, String space, List<Bytes> words) throws IOException {
    try (var talk = Talk.to(redis.port)) {
      talk.ask("SELECT", space);
      talk.send(Resp.write(words));
      return bytes(talk.reply());
    }
  }

  private static Bytes bytes(String reply) {
    return Bytes.of(reply.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Whether what a witness holds, and more that is on record, gives the same reply again. */
  private void askOf(Why why, List<Operation> all, Operation question, Random random, String name) {
    if (question.outcomeUnknown()
        || question.reply() == null
        || question.reply().equals(Bytes.EMPTY)
        || !question.parts().isEmpty()
        || !mayBeAgain(question)) {
      return;
    }
    var answer = why.ask(question, Why.Wish.ONE);
    counts.merge(answer.certainty(), 1, Integer::sum);
    if (answer.certainty() != Answer.Certainty.CERTAIN || answer.truncated()) {
      return;
    }
    var witness = new ArrayList<Operation>();
    for (var element : answer.witnesses().getFirst().elements()) {
      if (!(element instanceof Witness.Done(var operation)) || !mayBeAgain(operation)) {
        return;
      }
      witness.add(operation);
    }
    for (int i = 0; i < 4; i++) {
      var part = new ArrayList<>(witness);
      for (var other : all) {
        if (i > 0
            && random.nextInt(4) < i
            && mayBeAgain(other)
            && !other.outcomeUnknown()
            && precedes(other, question)
            && part.stream().allMatch(one -> precedes(one, other) || precedes(other, one))) {
          part.add(other);
        }
      }
      part.sort((one, other) -> Long.compare(one.row(), other.row()));
      if (!areInOrder(part)) {
        continue;
      }
      replayed++;
      var reply = replay(part, question);
      var expected = SPECIFICATION.reply(question);
      if (reply.isPresent() && !reply.get().equals(expected)) {
        fail(
            "%s: row %d, %s, was replied to with %s because of %s; after %s it is %s"
                .formatted(
                    name, question.row(), question.text(), expected, witness, part, reply.get()));
      }
    }
  }

  private static boolean areInOrder(List<Operation> part) {
    for (int i = 1; i < part.size(); i++) {
      for (int j = 0; j < i; j++) {
        if (!precedes(part.get(j), part.get(i))) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean precedes(Operation one, Operation other) {
    return one.lane() == other.lane()
        ? one.row() < other.row()
        : one.replied() != null && !one.replied().isAfter(other.sent());
  }

  /** Whether what it does depends on nothing but what was done before. */
  private static boolean mayBeAgain(Operation operation) {
    if (!operation.parts().isEmpty()) {
      return operation.parts().stream().allMatch(HostileProgramsTest::mayBeAgain);
    }
    var text = operation.text();
    var name = text.split(" ", 2)[0];
    return !NOT_AGAIN.contains(name)
        && !operation.space().isEmpty()
        && !Refusals.isOfTheServer(operation)
        && !name.startsWith("EVAL")
        && !name.startsWith("B")
        && !text.matches(".* (PX|EX) .*")
        && !text.matches("P?EXPIRE .*|P?SETEX .*|PTTL .*|TTL .*|P?EXPIRETIME .*")
        && !(operation.reply() != null && operation.reply().text().startsWith("+QUEUED"));
  }

  private static Optional<Object> replay(List<Operation> part, Operation question) {
    var commands = new ArrayList<>(List.of(Oracle.words("FLUSHALL")));
    for (var operation : part) {
      commands.add(Oracle.words("SELECT " + operation.space()));
      Oracle.replay(operation, commands);
    }
    commands.add(Oracle.words("SELECT " + question.space()));
    commands.add(question.request());
    commands.add(Oracle.words("SELECT 0"));
    var replies = Resp.split(scratch.send(commands));
    var own = replies.get(replies.size() - 2);
    return own.startsWith(Bytes.of("-ERR unknown"))
        ? Optional.empty()
        : Optional.of(
            SPECIFICATION.reply(
                new Operation(
                    question.row(),
                    1,
                    1,
                    1,
                    question.space(),
                    question.sent(),
                    question.replied(),
                    question.request(),
                    own)));
  }
}
