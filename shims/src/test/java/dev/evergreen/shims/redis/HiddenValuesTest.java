package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Of a value for which there is a mark only it is known whether another one is equal. */
class HiddenValuesTest {
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();
  private static final StoreKind KIND = StoreKind.named("redis").orElseThrow();

  /** In place of these letters. */
  private static final String ONE = "<hidden:0123456789abcdef>";

  private static final String OTHER = "<hidden:fedcba9876543210>";

  private static String marked(String text) {
    return text.replace("ONE", ONE).replace("OTHER", OTHER);
  }

  private static Operation operation(long row, String command, @Nullable String reply) {
    var at = Instant.EPOCH.plusSeconds(row);
    return new Operation(
        row,
        1,
        1,
        1,
        "0",
        at,
        at.plusMillis(1),
        Oracle.words(marked(command)),
        reply == null ? null : Bytes.of(marked(reply)));
  }

  /** Steps are commands with their replies. */
  private static Answer ask(String steps, Operation question) {
    var trace = new MemoryTrace(SPECIFICATION);
    for (var step : steps.split("; ", -1)) {
      var parts = step.split(" -> ", 2);
      trace.add(operation(trace.operations().size() + 1L, parts[0].strip(), parts[1] + "\r\n"));
    }
    return new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE);
  }

  /** Asked now. */
  private static Answer ask(String steps, String question) {
    var now = Instant.EPOCH.plusSeconds(50);
    return ask(
        steps,
        new Operation(
            Long.MAX_VALUE, 1, -1, -1, "0", now, now, Oracle.words(marked(question)), null));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SET a ONE -> +OK                                      | STRLEN a
          SET a ONE -> +OK                                      | GETRANGE a 0 2
          SET a ONE -> +OK                                      | BITCOUNT a
          SET a ONE -> +OK                                      | GETBIT a 7
          SET a ONE -> +OK                                      | BITFIELD_RO a GET u8 0
          SET a ONE -> +OK; SET b x -> +OK                      | LCS a b
          SET a ONE -> +OK; APPEND a bob -> :9                  | GET a
          SET a x -> +OK; APPEND a ONE -> :9                    | GET a
          SET a x -> +OK; SETRANGE a 0 ONE -> :5                | GET a
          SET a x -> +OK; SETRANGE a ONE y -> :12346            | STRLEN a
          SET a ONE -> +OK; SETBIT a 0 1 -> :0                  | GET a
          SET a ONE -> +OK; INCR a -> :12346                    | GET a
          INCRBY a ONE -> :12345; INCRBY a 1 -> :12346          | GET a
          SET a 1 -> +OK; INCRBYFLOAT a ONE -> $1~3             | GET a
          SET a 1 EX ONE -> +OK                                 | GET a
          SET a 1 EX ONE -> +OK                                 | EXISTS a
          SET a 1 -> +OK; EXPIRE a ONE -> :1                    | GET a
          SET a 1 -> +OK; GETEX a PX ONE -> $1~1                | GET a
          HSET h f ONE -> :1; HINCRBY h f 1 -> :12346           | HGET h f
          HINCRBY h f ONE -> :12345                             | HGET h f
          HSET h f ONE -> :1                                    | HSTRLEN h f
          SADD s ONE OTHER -> :2                                | SORT s ALPHA
          SADD s ONE OTHER -> :2                                | SORT s ALPHA LIMIT 0 1
          RPUSH s ONE -> :1                                     | SORT s
          RPUSH s ONE -> :1; SET w_ONE 1 -> +OK                 | SORT s BY w_*
          SET user:ONE 1 -> +OK                                 | KEYS user:an*
          SET user:ann 1 -> +OK                                 | KEYS user:ONE*
          ZADD z 0 ONE 0 c -> :2                                | ZRANGE z 0 0
          ZADD z 0 ONE 0 c -> :2                                | ZRANK z c
          ZADD z 0 ONE 0 c -> :2; ZPOPMIN z -> *2~$1~c~$1~0     | ZSCORE z c
          ZADD z 0 ONE -> :1                                    | ZLEXCOUNT z [a [bz
          ZADD z 0 a -> :1                                      | ZLEXCOUNT z [ONE +
          ZADD z ONE a -> :1                                    | ZSCORE z a
          ZADD z ONE a -> :1                                    | ZCARD z
          ZADD z 1 a -> :1                                      | ZRANGEBYSCORE z 0 ONE
          ZADD z 1 a -> :1                                      | ZCOUNT z (ONE 5
          ZINCRBY z ONE a -> $1~5                               | ZSCORE z a
          PFADD p ONE -> :1                                     | PFCOUNT p
          RPUSH l a b -> :2                                     | LRANGE l 0 ONE
          XADD x ONE-1 f v -> $7~12345-1                        | XLEN x
          XADD x 1-1 f v -> $3~1-1                              | XRANGE x ONE +
          SETBIT b ONE 1 -> :0                                  | GETBIT b 7
          SET a 1 -> +OK; COPY a b DB ONE -> :1                 | GET b
          RPUSH a 1 -> :1; LMPOP ONE a LEFT -> *-1              | LRANGE a 0 -1
          """)
  void whatIsAskedOfItselfIsNotKnown(String steps, String question) {
    var answer = ask(steps.replace("~", "\r\n"), question);
    assertEquals(Certainty.OPAQUE, answer.certainty(), answer::toString);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SET a ONE -> +OK                                      | GET a              | $25~ONE
          SET ONE x -> +OK                                      | GET ONE            | $1~x
          SET a ONE -> +OK; SETNX a OTHER -> :0                 | GET a              | $25~ONE
          SET a 1 -> +OK; SET a ONE EX 100 -> +OK               | TYPE a             | $6~string
          SET a ONE -> +OK; RENAME a OTHER -> +OK               | GET OTHER          | $25~ONE
          HSET h ONE OTHER -> :1                                | HGET h ONE         | $25~OTHER
          HSET h ONE OTHER -> :1                                | HLEN h             | :1
          SADD s ONE OTHER -> :2                                | SISMEMBER s ONE    | :1
          SADD s ONE OTHER -> :2                                | SCARD s            | :2
          RPUSH l ONE OTHER ONE -> :3; LREM l 0 ONE -> :2       | LRANGE l 0 -1      | *1~$25~OTHER
          RPUSH l ONE OTHER -> :2                               | LPOS l OTHER       | :1
          ZADD z 1 ONE 2 OTHER -> :2                            | ZRANK z OTHER      | :1
          ZADD z 1 ONE -> :1                                    | ZSCORE z ONE       | $1~1
          SET user:ONE 1 -> +OK                                 | DBSIZE             | :1
          SET a ONE -> +OK; SET a 12 -> +OK; INCR a -> :13      | GET a              | $2~13
          SET a 1 EX ONE -> +OK; SET a 2 -> +OK                 | GET a              | $1~2
          SET a 1 EX ONE -> +OK; SET b 2 -> +OK                 | GET b              | $1~2
          XADD x 1-1 f ONE -> $3~1-1                            | XLEN x             | :1
          """)
  void whatIsOnlyComparedIsAsCertainAsAnything(String steps, String question, String reply) {
    var answer = ask(steps.replace("~", "\r\n"), question);
    assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(Resp.read(Bytes.of(marked(reply.replace("~", "\r\n") + "\r\n"))), answer.reply());
  }

  /** What was replied is known, and so is who made it so. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SET a ONE -> +OK                     | STRLEN a         | :9           | 1
          SET a ONE -> +OK                     | GETRANGE a 0 2   | $3~ann       | 1
          SET a ONE -> +OK; APPEND a x -> :10  | GET a            | $26~ONEx     | 1 2
          SET user:ONE 1 -> +OK                | KEYS user:an*    | *1~$30~user:ONE | 1
          SET user:ONE 1 -> +OK                | SCAN 0 MATCH user:an* | *2~$1~0~*1~$30~user:ONE | 1
          SADD s ONE -> :1                     | SSCAN s 0 MATCH an* | *2~$1~0~*1~$25~ONE | 1
          HSET h ONE v -> :1                   | HSCAN h 0 MATCH an* | *2~$1~0~*2~$25~ONE~$1~v | 1
          """)
  void nobodyIsAccusedWhereAReplyIsOnRecord(
      String steps, String question, String reply, String rows) {
    var asked = operation(9, question, reply.replace("~", "\r\n") + "\r\n");
    var answer = ask(steps, asked);
    assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(
        List.of(rows.split(" ", -1)),
        answer.witnesses().getFirst().rows().stream().map(String::valueOf).toList());
  }

  /** It may be one that writes, under a condition, or somewhere else. */
  @Test
  void aHiddenOptionMayHaveBeenAny() {
    for (var command : List.of("SET a 1 ONE", "SORT l ONE b", "ONE", "ZADD z ONE 1 a")) {
      var touches = KIND.touches(operation(1, command, "+OK\r\n"));
      assertTrue(
          touches.stream().anyMatch(touch -> touch.writes() && touch.from().isEmpty()), command);
    }
    assertTrue(
        KIND.touches(operation(1, "ZRANGEBYSCORE z ONE 2", "*0\r\n")).stream()
            .noneMatch(touch -> touch.writes()));
  }

  @Test
  void marksAreFoundWhereverTheyAre(@TempDir Path directory) throws IOException {
    var mark = Redactor.open(directory, List.of()).mark(Bytes.of("secret")).text();
    for (var text : List.of(mark, "a" + mark, mark + "a", "<hidden:" + mark, "<<" + mark + ">>")) {
      assertTrue(Redactor.isMarked(Bytes.of(text)), text);
    }
    for (var text :
        List.of(
            "", "<hidden>", mark.substring(1), "<hidden:0123>", "hidden:" + mark.substring(8))) {
      assertFalse(Redactor.isMarked(Bytes.of(text)), text);
    }
  }
}
