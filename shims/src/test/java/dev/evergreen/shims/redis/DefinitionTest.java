package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The specification of Redis against the definition of wat-provenance, which a real Redis carries
 * out.
 */
class DefinitionTest {
  private static final int HISTORIES = Integer.getInteger("evergreen.oracle.histories", 2000);

  /** The ordinary run has the same histories each time, longer ones have others. */
  private static final long SEED =
      Long.getLong(
          "evergreen.oracle.seed",
          Integer.getInteger("evergreen.oracle.histories") == null ? 1 : System.nanoTime());

  private static final Set<Answer.Certainty> DOUBTFUL =
      Set.of(
          Answer.Certainty.OUTSIDE,
          Answer.Certainty.GAP,
          Answer.Certainty.BEFORE_RECORDING,
          Answer.Certainty.ONE_OF);

  private static Pipeline redis;
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();

  @BeforeAll
  static void start() throws IOException {
    redis = new Pipeline();
  }

  @AfterAll
  static void stop() throws IOException {
    redis.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      textBlock =
          """
          SET x 1; SET x 2; SET x 1                  | GET x          | 3
          PING                                       | GET x          | {}
          SET x 1; DEL x                             | GET x          | 2
          SET x 1; DEL x; DEL x                      | GET x          | 2 or 3
          SET x 1; DEL x; SET x 1; DEL x             | GET x          | 4
          INCR x; INCR x; INCR x                     | GET x          | 1 2 3
          SET x 5; INCR x; INCRBY x 0                | GET x          | 1 2
          SET x abc; INCR x                          | GET x          | 1
          SET a 1; RENAME a b; SET a 2               | GET b          | 1 2
          SET a 1; RENAME a b                        | GET a          | 2
          SET a 1; COPY a b; SET a 2                 | GET b          | 1 2
          SET a 1; SET b 2; COPY a b                 | GET b          | 2
          RPUSH x a; RPUSH x b; RPUSH x c            | LINDEX x 0     | 1
          RPUSH x a; RPUSH x b; LPOP x               | LINDEX x 0     | 1 2 3
          RPUSH x a; LPOP x; RPUSH x b               | LRANGE x 0 -1  | 2 3
          HSET x f 1; HDEL x f; HSET x g 1           | HGETALL x      | 2 3
          SET a 1; SET b 1; DEL a                    | KEYS *         | 2 3
          SETBIT x 3 1; SETBIT x 5 1; SETBIT x 5 0   | BITCOUNT x     | 1 3
          SADD s a; SREM s a; SMOVE s d a            | SISMEMBER d a  | 2
          SET a 1; DEL a; COPY a b                   | GET b          | 2
          SET x 0; MSETNX x 7 y 7                    | GET y          | 1
          SET x 42; INCRBY x 1; INCRBY x 2; DECRBY x 3 | GET x        | 1 2 3 4
          SET x 1; MOVE x notanumber                 | GET x          | 1
          SET x 1; MOVE x 99                         | GET x          | 1
          SET x 1; COPY x y DB notanumber            | GET y          | {}
          SET x 1; SET x 2 none-such                 | GET x          | 1
          SET x 1; MSET x 2 y                        | GET x          | 1
          SET x 1; SET x 2 EX 10000000000000000      | GET x          | 1
          SET x 1; EXPIRE x 9223370399119966         | GET x          | 1
          SET x 1; EXPIRE x 200 LT GT                | TTL x          | 1
          DECRBY x -9223372036854775808              | GET x          | {}
          SETBIT x 3 1; SETBIT x 4294967296 1        | STRLEN x       | 1
          RPUSH x a; LPOP x 1 1                      | LRANGE x 0 -1  | 1
          RPUSH x a; LINSERT x aft3r a 42            | LRANGE x 0 -1  | 1
          ZADD x 1 a; ZADD x xx nx 10 a              | ZSCORE x a     | 1
          ZADD x 1 a; ZRANGESTORE y x 0 -1 WITHSCORES | ZCARD y       | {}
          SET x 1                                    | MOVE x none    | {}
          SET x a; GETEX x none                      | GET x          | 1
          SET x a                                    | BITCOUNT x 1   | 1
          HSET x f v                                 | HSCAN x 0 none | 1
          SADD x a                                   | SSCAN x 0 COUNT 0 | 1
          ZADD x 1 a                                 | ZSCAN x 0 none | 1
          INCRBYFLOAT x 0.024390243902439025         | GET x          | 1
          ZADD x 1.7976931348623157e+308 a           | ZSCORE x a     | 1
          ZADD x 0.00001 a; ZADD x 1e17 b            | ZRANGE x 0 -1 WITHSCORES | 1 2
          ZADD x -0 a                                | ZSCORE x a     | 1
          ZADD x 1.00000762939453125 a               | ZSCORE x a     | 1
          XADD x 42-* f v; XADD x 42-* f w           | XRANGE x - +   | 1 2
          XADD x 1-1 f v; XGROUP CREATE x g $; XGROUP SETID x g - | XREADGROUP GROUP g c STREAMS x > | 1 2 3
          XADD x 1-1 f v; XADD x 1-2 f v; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x > | XPENDING x g (1-1 + 10 | 2 3 4
          """)
  void explainsTheCasesThatTheDefinitionIsKnownBy(String steps, String question, String expected) {
    var verdict =
        new Oracle(redis, SPECIFICATION)
            .judge(Arrays.stream(steps.split("; ", -1)).map(List::of).toList(), question);
    Set<Set<Long>> witnesses =
        Arrays.stream(expected.split(" or ", -1))
            .map(
                rows ->
                    Arrays.stream(rows.split(" ", -1))
                        .filter(row -> !row.equals("{}"))
                        .map(Long::valueOf)
                        .collect(Collectors.toSet()))
            .collect(Collectors.toSet());
    assertEquals(witnesses, verdict.definition().witnesses(), "by the real server");
    check(verdict, "the table");
  }

  @TestFactory
  Stream<DynamicTest> explainsRandomHistoriesOfEachFamily() {
    System.out.println("-Devergreen.oracle.seed=" + SEED);
    var tests = new ArrayList<DynamicTest>();
    int each = Math.max(1, HISTORIES / (Histories.ALL.size() + 1));
    for (var family : Histories.ALL) {
      tests.add(
          DynamicTest.dynamicTest(family.name(), () -> judgeMany(List.of(family), each, false)));
    }
    tests.add(
        DynamicTest.dynamicTest(
            "mixed, with transactions", () -> judgeMany(Histories.MIXED, each, true)));
    return tests.stream();
  }

  private static void judgeMany(
      List<Histories.Family> families, int histories, boolean transactions) {
    var oracle = new Oracle(redis, SPECIFICATION);
    for (int i = 0; i < histories; i++) {
      var random = new Random(SEED + i);
      var steps =
          Histories.steps(
              random, families, random.nextInt(20) == 0 ? 10 : 3 + random.nextInt(5), transactions);
      var question = Histories.question(random, families);
      check(oracle.judge(steps, question), "seed " + (SEED + i) + ": " + steps + " ; " + question);
    }
  }

  /** Where there is no model, the answer may hold more than it need, but is always closed. */
  @TestFactory
  Stream<DynamicTest> aWitnessIsClosedEvenWithoutAModel() {
    int each = Math.max(1, HISTORIES / 20);
    return Histories.SKETCHED.stream()
        .map(family -> DynamicTest.dynamicTest(family.name(), () -> judgeSketched(family, each)));
  }

  private static void judgeSketched(Histories.Family family, int histories) {
    var oracle = new Oracle(redis, SPECIFICATION);
    for (long seed = SEED; seed < SEED + histories; seed++) {
      var random = new Random(seed);
      var steps = Histories.steps(random, List.of(family), 2 + random.nextInt(5), false);
      var question = Histories.question(random, List.of(family));
      var verdict = oracle.judge(steps, question);
      var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
      var name =
          "seed "
              + seed
              + ": "
              + steps
              + " ; "
              + question
              + " because of "
              + answer.witnesses().getFirst().rows();
      assertTrue(
          verdict.definition().isClosed(verdict.elements(answer.witnesses().getFirst())),
          () -> name + "; minimal are " + verdict.definition().witnesses());
      assertTrue(
          !DOUBTFUL.contains(answer.certainty()),
          () -> name + ": " + answer.certainty() + " " + answer.note());
    }
  }

  /** A value that is not there any more has changed how the others are kept. */
  @ParameterizedTest
  @ValueSource(strings = {"DUMP a", "OBJECT ENCODING a", "MEMORY USAGE a"})
  void nothingIsClaimedOfHowAValueIsKept(String question) {
    var steps = Stream.of("HSET a f " + "x".repeat(99), "HSET a f 1").map(List::of).toList();
    var verdict = new Oracle(redis, SPECIFICATION).judge(steps, question);
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty());
    var named = verdict.elements(answer.witnesses().getFirst());
    assertEquals(Set.of(2L), named, "who has written what is there now");
    assertTrue(!verdict.definition().isClosed(named), "else more could be claimed");
  }

  @RepeatedTest(2)
  void explainsRandomHistoriesWithDeadlines(RepetitionInfo repetition) {
    long seed = SEED + repetition.getCurrentRepetition();
    var random = new Random(seed);
    var histories =
        IntStream.range(0, Math.max(1, HISTORIES / 16))
            .mapToObj(i -> Histories.timed(random, 2 + random.nextInt(5)))
            .toList();
    var verdicts = new Oracle(redis, SPECIFICATION).judge(histories);
    assumeTrue(!verdicts.isEmpty(), "the machine was so slow that deadlines passed too early");
    for (int i = 0; i < histories.size(); i++) {
      check(verdicts.get(i), "deadlines, seed " + seed + ": " + histories.get(i));
    }
  }

  /**
   * What is answered is what the definition says: the chain is closed, the one witness minimal, and
   * all are all.
   */
  private static void check(Oracle.Verdict verdict, String name) {
    var why = new Why(SPECIFICATION, verdict.trace());
    var chain = new ArrayList<Long>();
    why.chain(verdict.question()).forEachRemaining(operation -> chain.add(operation.row()));
    if (verdict.tick() > 0) {
      chain.add((long) verdict.tick());
    }
    assertTrue(
        verdict.definition().isClosed(Set.copyOf(chain)),
        () ->
            name
                + ": the chain "
                + chain
                + " is not closed; minimal are "
                + verdict.definition().witnesses());
    var one = why.ask(verdict.question(), Why.Wish.ONE);
    assertEquals(
        Answer.Certainty.CERTAIN,
        one.certainty(),
        () -> name + ": " + replies(verdict) + one.note());
    assertTrue(
        verdict.definition().witnesses().contains(verdict.elements(one.witnesses().getFirst())),
        () ->
            name
                + ": "
                + verdict.elements(one.witnesses().getFirst())
                + " is none of "
                + verdict.definition().witnesses());
    var all = why.ask(verdict.question(), Why.Wish.ALL);
    assertEquals(
        verdict.definition().witnesses(),
        all.witnesses().stream().map(verdict::elements).collect(Collectors.toSet()),
        name);
  }

  private static String replies(Oracle.Verdict verdict) {
    return Stream.concat(verdict.trace().operations().stream(), Stream.of(verdict.question()))
        .map(Operation::reply)
        .map(String::valueOf)
        .toList()
        .toString();
  }
}
