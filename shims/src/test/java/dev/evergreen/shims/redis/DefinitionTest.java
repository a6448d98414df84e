package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Moment;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Skew;
import dev.evergreen.provenance.Trace;
import dev.evergreen.provenance.Why;
import dev.evergreen.provenance.Witness;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
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
          SADD s a; DEL s                            | SPOP s         | 2
          SADD s a d; SREM s d                       | SPOP s 5       | 1 2
          SADD s a; SREM s a                         | SPOP s 5       | 2
          SADD s a; SREM s a; SREM s a               | SPOP s         | 2 or 3
          HSET s f v                                 | SPOP s         | 1
          HSET s f v; DEL s                          | SPOP s 0       | 2
          SADD s a                                   | SPOP s 0       | {}
          SADD s a; SADD s b; SPOP s 2               | SPOP s         | 3
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

  /** Histories as applications make them, beside the random ones. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          XADD x 1-1 f a; XADD x 1-2 f b; XDEL x 1-1; XADD x 1-3 f c            | XRANGE x - + COUNT 1
          XADD x 1-1 f a; XADD x 1-2 f b; XTRIM x MAXLEN 1                      | XLEN x
          XADD x 1-1 f a; XADD x MAXLEN 1 1-2 f b; XADD x 1-3 f c               | XREVRANGE x + -
          XADD x 1-1 f a; XADD x 1-2 f b; XTRIM x MINID 1-2                     | XREAD COUNT 1 STREAMS x 0
          XADD x 1-1 f a; XDEL x 1-1; XADD x 1-1 f b                            | XLEN x
          XADD x 1-1 f a; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x >; XACK x g 1-1 | XPENDING x g
          XADD x 1-1 f a; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x >; XREADGROUP GROUP g d STREAMS x > | XPENDING x g
          XADD x 1-1 f a; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x >; XGROUP DELCONSUMER x g c | XPENDING x g
          XADD x 1-1 f a; XGROUP CREATE x g $; XADD x 1-2 f b                   | XREADGROUP GROUP g c STREAMS x >
          XADD x 1-1 f a; XADD x 1-2 f b; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x >; XAUTOCLAIM x g d 0 (1-1 | XPENDING x g
          XADD x 1-1 f a; XADD x 1-2 f b; XGROUP CREATE x g 0; XREADGROUP GROUP g c STREAMS x > | XREADGROUP GROUP g c COUNT -1 STREAMS x 0
          XADD x 1-1 f a; XSETID x 9-9; XADD x 5-5 f b                          | XRANGE x - +
          ZADD x 0 a 0 b 0 c; ZREM x b; ZADD x 0 bb                             | ZRANGEBYLEX x [b (c
          ZADD x 0 a 0 b; ZADD x 0 c; ZREMRANGEBYLEX x [a [b                    | ZLEXCOUNT x - +
          ZADD x 0 b; ZADD x 0 a; ZADD x 0 c                                    | ZRANGE x [a [b BYLEX LIMIT 0 1
          ZADD x 1 a; ZADD x GT 2 a; ZADD x LT 5 a                              | ZSCORE x a
          ZADD x 1 a; ZADD x GT CH 0 a; ZINCRBY x 1 a                           | ZRANK x a
          ZADD x 1 a 2 b 3 c; ZPOPMIN x; ZADD x 0 d                             | ZREVRANGE x 0 0
          ZADD x 1 a; ZADD y 2 a; ZUNIONSTORE z 2 x y WEIGHTS 2 1; DEL x        | ZSCORE z a
          ZADD x inf a; ZADD x NX INCR -inf a                                   | ZSCORE x a
          ZADD x 1 a 2 b; ZRANGESTORE z x 0 0; ZADD x 0 c                       | ZRANGE z 0 -1
          SET x 1; EXPIREAT x 33000000000; EXPIREAT x 32000000000 GT            | EXPIRETIME x
          SET x 1; PEXPIREAT x 9223372036854775807                              | GET x
          SET x 1 PXAT 9223372036854775807                                      | GET x
          SET x 1; EXPIREAT x 32000000000; EXPIREAT x 33000000000 GT            | EXPIRETIME x
          SET x 1; EXPIREAT x 33000000000; EXPIREAT x 32000000000 LT            | EXPIRETIME x
          SET x 1; EXPIREAT x 33000000000 GT                                    | EXPIRETIME x
          SET x 1; EXPIREAT x 33000000000 XX; EXPIREAT x 33000000001 NX; PERSIST x | EXPIRETIME x
          SET x 1 EXAT 33000000000; RENAME x y; PERSIST y                       | EXPIRETIME y
          SET x 1 EXAT 33000000000; SET x 2 KEEPTTL; APPEND x 3                 | EXPIRETIME x
          SET x 1; GETEX x EXAT 33000000000; GETEX x PERSIST                    | EXPIRETIME x
          SET x 1; GETEX x EXAT 33000000000; SET x 2                            | EXPIRETIME x
          SETEX x 100 v; EXPIRE x 5000                                          | TTL x
          SETEX x 100 v; EXPIRE x 5000; EXPIRE x 100                            | TTL x
          SET x v EXAT 33000000000; EXPIREAT x 32000000000                      | EXPIRETIME x
          SET x v; GETEX x EX 5000; PEXPIREAT x 33000000000000                  | PEXPIRETIME x
          SET x v; GETEX x PXAT 33000000000000; SET x w KEEPTTL                 | PEXPIRETIME x
          RPUSH l a; EXPIREAT l 33000000000; RPOPLPUSH l l                      | EXPIRETIME l
          RPUSH l a; EXPIREAT l 33000000000; LMOVE l l LEFT RIGHT; LPOP l       | EXPIRETIME l
          SADD s p; EXPIREAT s 33000000000; SMOVE s s p                         | EXPIRETIME s
          SET x 1; SET x 2 PXAT 1                                               | GET x
          SET x 1; SET x 2 EXAT 1 NX                                            | GET x
          SET x 1; EXPIRE x 0                                                   | GET x
          SET x 1; EXPIREAT x 1; SET x 1                                        | GET x
          SET x 1; EXPIREAT x 1                                                 | EXISTS x
          SET x 1; GETEX x EXAT 1                                               | GET x
          SET a 1; RENAME a b; RENAME b c; SET a 2                              | GET c
          SET a 1; SET b 2; RENAMENX a b; DEL b; RENAMENX a b                   | GET b
          RPUSH l 3 1 2; SORT l STORE s; LPUSH l 0                              | LRANGE s 0 -1
          RPUSH l 1 2; SET w_1 9; SET w_2 3; SORT l BY w_* STORE s; SET w_1 1   | LRANGE s 0 -1
          RPUSH l 1 2; SET w_1 9; SORT l BY nosort GET w_* GET # STORE s        | LRANGE s 0 -1
          SET s old; RPUSH l 1; LPOP l; SORT l STORE s                          | EXISTS s
          SADD s 3 1 2; SREM s 2                                                | SORT s DESC LIMIT 0 1
          RPUSH l 3 1 2                                                         | SORT l BY nosort DESC LIMIT 0 2
          ZADD z 3 a 1 b 2 c                                                    | SORT z BY nosort DESC LIMIT 1 1
          RPUSH l 3 1 2; RPUSH l 4                                              | SORT l DESC ASC
          SADD s 3; SET w3 9                                                    | SORT s BY nosort GET w* GET #
          GEOADD g 180 38 a; GEOADD g 170 38 b                                  | GEODIST g a b km
          GEOADD g 0 85.05112878 a 180 85.05112878 b                            | ZRANGE g 0 -1 WITHSCORES
          SET x 1                                                               | GEOPOS x
          BITFIELD x SET u8 0 255; BITFIELD x OVERFLOW FAIL INCRBY u8 0 1       | BITFIELD x GET u8 0
          BITFIELD x SET u8 0 255; BITFIELD x OVERFLOW SAT INCRBY u8 0 1; SETBIT x 0 0 | BITFIELD x GET u4 0 GET u4 4
          BITFIELD x SET i5 3 -1; SETBIT x 4 0; SETRANGE x 2 a                  | BITFIELD_RO x GET i5 3
          SETBIT x 7 1; SETBIT y 7 1; BITOP AND z x y; SETBIT x 7 0             | GETBIT z 7
          SET x ab; SETBIT x 1 0; SETBIT x 1 1                                  | BITPOS x 0
          PFADD h a; PFADD h a; PFADD h b                                       | PFCOUNT h
          PFADD h a; PFADD g b; PFMERGE h g; PFADD g c                          | PFCOUNT h
          PFADD h a; DEL h; PFADD h b                                           | PFCOUNT h
          GEOADD g 13.361389 38.115556 a; GEOADD g 15.087269 37.502669 b; ZREM g a | GEOPOS g a b
          GEOADD g 13.361389 38.115556 a; GEOADD g NX 0 0 a; GEOADD g 15.087269 37.502669 b | GEODIST g a b
          GEOADD g 13.361389 38.115556 a; GEOADD g 15.087269 37.502669 b; GEOADD g 50 50 c | GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC
          GEOADD g 13.361389 38.115556 a; GEOSEARCHSTORE h g FROMLONLAT 13 38 BYRADIUS 200 km; DEL g | ZCARD h
          HSET h f 1 g 2; HDEL h f g; HSET h f 3                                | HGETALL h
          HSET h f 1; HINCRBY h f 1; HSETNX h f 9; RENAME h i                   | HGET i f
          RPUSH l a b c; LTRIM l 1 1; LINSERT l BEFORE b x; LREM l 0 b          | LRANGE l 0 -1
          RPUSH l a b; LMPOP 2 k l LEFT COUNT 2; RPUSH l c                      | LLEN l
          SADD s a b; SADD t b c; SINTERSTORE u s t; SREM s b                   | SMEMBERS u
          SADD s a b; SADD t b; SDIFFSTORE u s t; SREM t b                      | SMEMBERS u
          SET x 1; COPY x y; SWAPDB 0 1; SET y 3; SWAPDB 0 1                    | GET y
          SET x 1; MOVE x 1; SET x 2; MOVE x 1                                  | GET x
          SET x ohmytext; SET y mynewtext; SETRANGE x 0 OH                      | LCS x y
          SET x axbyc; SET y bcab; APPEND y c; DEL z                            | LCS y x
          SET x axbyc; SET y abc; SET y bcab                                    | LCS x y LEN
          SET x a; RPUSH y b; SET x b                                           | LCS x y
          SET x a                                                               | LCS x y
          ZADD x 1 ch; ZADD x 2 ch                                              | ZSCORE x ch
          ZADD x 1 nx; ZADD x 2 nx                                              | ZSCORE x nx
          ZADD limit 1 a; ZADD b 1 a                                            | ZINTERCARD 2 b limit
          ZADD withscores 1 a; ZADD b 1 a                                       | ZUNION 2 b withscores
          XADD x 1-1 nomkstream v                                               | XLEN x
          XADD x 1-1 f v; XGROUP CREATE x streams 0; XREADGROUP GROUP streams c STREAMS x > | XPENDING x streams
          XADD x 1-1 f v; XGROUP CREATE x g 0; XREADGROUP COUNT 1 GROUP g c STREAMS x > | XPENDING x g
          GEOADD g 15 37 store; GEORADIUSBYMEMBER g store 100 km STORE h         | ZCARD h
          GEOADD g 15 37 byradius 15.1 37 b                                     | GEOSEARCH g FROMMEMBER byradius BYRADIUS 10 km
          GEOADD g 15 37 a; GEORADIUS g 15 37 9 km STORE h WITHDIST             | EXISTS h
          RPUSH l 2 1; SET store 9; SORT l BY nosort GET store STORE s          | LRANGE s 0 -1
          SET type 1; SET b 1                                                   | SCAN 0 MATCH type
          XGROUP CREATE x g 0 MKSTREAM; XGROUP CREATE x g none                  | XLEN x
          XADD x 1-1 f v                                                        | XRANGE x - + COUNT 0
          XADD x 1-1 f v; DEL x                                                 | XREVRANGE x + - COUNT -1
          PFADD h a; PFADD h e36709                                            | PFCOUNT h
          INCRBYFLOAT x 1e30; INCRBYFLOAT x 0.1                                 | GET x
          INCRBYFLOAT x 3.5; INCRBYFLOAT x 1e2000000000                         | GET x
          SET x 3; INCRBYFLOAT x 1e-2000000000                                  | GET x
          HSET h f 12345678901234567890.5; HINCRBYFLOAT h f 0.25                | HGET h f
          ZADD x 1 a; ZADD x 2d a; ZADD x 1e400 a; ZADD x 1e-400 a              | ZSCORE x a
          ZADD x inf a; ZADD x inf a; ZINCRBY x -inf a                          | ZSCORE x a
          ZADD x inf a; ZADD x inf a; ZADD y -inf a; ZUNIONSTORE z 2 x y        | ZSCORE z a
          ZADD x inf a; ZADD x inf a; ZUNIONSTORE z 1 x WEIGHTS 0               | ZSCORE z a
          ZADD a inf m 1 x 1 y; ZADD b inf m 1 x; ZADD c -inf m; ZUNIONSTORE d 3 a b c | ZSCORE d m
          ZADD a inf m 1 x 1 y; ZADD b inf m 1 x; ZADD c -inf m                 | ZINTER 3 a b c WITHSCORES
          ZADD a 1e16 m 1 x 1 y; ZADD b 1 m; ZADD c -1e16 m 1 x                 | ZUNION 3 a b c WITHSCORES
          ZADD a 5 m; ZADD b inf m 1 n; ZINTERSTORE d 2 a b WEIGHTS 1 0         | ZSCORE d m
          ZADD a 5 m; ZADD b inf m 1 n                                          | ZINTER 2 a b WEIGHTS 1 0 AGGREGATE MIN WITHSCORES
          ZADD a 5 m; ZADD b inf m 1 n                                          | ZUNION 2 a b WEIGHTS 1 0 AGGREGATE MAX WITHSCORES
          ZADD a 2 m; ZADD b 3 m; ZADD c 4 m; ZADD e 5 m                        | ZUNION 4 a b c e WITHSCORES
          ZADD a 2 m; ZADD b 3 m; ZADD c 4 m; ZADD e 5 m; ZADD e 6 n            | ZINTER 4 a b c e AGGREGATE MIN WITHSCORES
          ZADD a 2 m; ZADD b 3 m; ZADD c 4 m; DEL c                             | ZUNION 3 a b c WEIGHTS 1 2 3 WITHSCORES
          ZADD x 0e1 a 1e-300 b                                                 | ZRANGE x 0 -1 WITHSCORES
          SET x a; SETRANGE x 2147483646 b                                      | GET x
          PFADD h MANY; PFADD g b; PFMERGE h g                                  | PFCOUNT h g
          """)
  void explainsHistoriesOfApplications(String steps, String question) {
    var many = IntStream.range(0, 150).mapToObj(i -> "m" + i).collect(Collectors.joining(" "));
    var verdict =
        new Oracle(redis, SPECIFICATION)
            .judge(
                Arrays.stream(steps.replace("MANY", many).split("; ", -1)).map(List::of).toList(),
                question);
    check(verdict, steps + " ; " + question);
  }

  /** What Redis refused has done nothing, whatever the specification thinks of it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "SET x 1; BITOP NOT x a b | GET x",
        "SET x 1; BITOP NOT a x x | GET a",
        "XADD x 1-1 f v; XTRIM x MAXLEN -1 | XLEN x",
        "XADD x 1-1 f v; XADD x MAXLEN -5 2-1 f v | XLEN x",
        "XADD x 1-1 f v; XADD x MAXLEN = 1 LIMIT 5 2-1 f v | XLEN x",
        "XADD x 1-1 f v; XGROUP CREATE x g 0; XACK x none 1 | XLEN x",
        "XADD x 1-1 f v; XACK x none x | XLEN x",
        "XADD x 1-1 f v; XGROUP CREATE x g 0; XCLAIM x g c 0 x | XLEN x",
        "SET x 1; BITFIELD x OVERFLOW FOO SET u8 0 1 | GET x",
        "SET x 1; SWAPDB 0 x | GET x",
        "GEOADD x 13 38 p; GEORADIUS x 13 38 -1 km STORE x | ZCARD x",
        "SET x 9; GEORADIUSBYMEMBER g p -1 km STORE x | GET x",
        "SET x 9; GEOADD g 13 38 p; GEORADIUSBYMEMBER g p -1 km STORE x | GET x",
        "SET x 9; GEOADD g 13 38 p; GEORADIUSBYMEMBER g p 1 xx STORE x | GET x",
        "SET x 1; EXPIRE x 100 FOO | TTL x",
        "SET x 1; COPY x x | GET x",
        "SET x 1; EXPIRE x y | TTL x",
        "ZADD x 1 p; ZUNIONSTORE x 1 x WEIGHTS y | ZCARD x",
        "RPUSH l 1; SORT l LIMIT x 1 STORE s | EXISTS s",
        "SET a 7; DEL a; GETEX a EX 0 | TYPE a",
        "SET a 7; GETEX a PXAT 0 | TYPE a",
        "SET a 7; SET a 8 XX EX 0 | GET a"
      })
  void whatWasRefusedForItsWordsHasDoneNothing(String history) {
    var parts = history.split(" \\| ", -1);
    explainsHistoriesOfApplications(parts[0], parts[1]);
  }

  /** What Redis would refuse has no other reply because it was never sent. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "SADD x p | SINTERCARD 1 x LIMIT -1",
        "SADD x p | SINTERCARD 2 none x LIMIT -1",
        "ZADD x 1 p | ZINTERCARD 1 x LIMIT -1",
        "SET y 1 | ZCOUNT x y 1",
        "SET y 1 | ZLEXCOUNT x - y",
        "SET y 1 | ZRANGEBYSCORE y 1 z",
        "SET y 1 | ZRANGE x a 1",
        "SET y 1 | ZREMRANGEBYRANK y a 1",
        "SET y 1 | LINDEX x y",
        "RPUSH x p | LINDEX x y",
        "SET y 1 | LPOP x -1",
        "SET y 1 | BITPOS x 2",
        "SET y 1 | GETEX x EX 0",
        "SET y 1 | GETEX y EX 0",
        "SET y 1 | SET y 2 NX EX 0"
      })
  void whatIsAskedOfNowIsRefusedAsByRedis(String history) {
    var parts = history.split(" \\| ", -1);
    var verdict = new Oracle(redis, SPECIFICATION).judge(List.of(List.of(parts[0])), parts[1]);
    var sent = verdict.question();
    var now = new Operation(Long.MAX_VALUE, 1, 0, 0, "0", sent.sent(), null, sent.request(), null);
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(now, Why.Wish.ONE);
    assertEquals(SPECIFICATION.reply(sent), answer.reply());
  }

  /** What ends the options is not said again, whatever comes behind it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "SET x 1 PXAT 1 PXAT 33000000000000 | GET x",
        "SET x 1; GETEX x PXAT 1 PXAT 33000000000000 | PEXPIRETIME x",
        "RPUSH l 1; SORT l STORE a STORE b | LRANGE b 0 -1",
        "RPUSH l 2 1; SET w1 1; SET w2 2 | SORT l BY nosort BY w*",
        "RPUSH l 2 1; SET w1 2; SET w2 1 | SORT l BY none* BY w*",
        "SET x 1; COPY x y DB 1 DB 0 | GET y",
        "RPUSH l a b c a | LPOS l a RANK 1 RANK 2",
        "RPUSH l a b a | LPOS l a COUNT 1 COUNT 0",
        "ZADD z 1 a 2 b 3 c | ZRANGEBYSCORE z 1 3 LIMIT 0 1 LIMIT 1 1",
        "ZADD z 1 a; ZADD y 1 a | ZUNION 2 z y WEIGHTS 1 1 WEIGHTS 2 3 WITHSCORES",
        "ZADD z 1 a; ZADD y 2 a | ZUNION 2 z y AGGREGATE SUM AGGREGATE MAX WITHSCORES",
        "SADD s a b | SINTERCARD 1 s LIMIT 1 LIMIT 2",
        "SET a 1; SET b 1 | SCAN 0 MATCH a MATCH b",
        "GEOADD g 13 38 a 15 37 b | GEOSEARCH g FROMLONLAT 13 38 BYRADIUS 900 km COUNT 1 COUNT 2",
        "GEOADD g 13 38 a 15 37 b | GEOSEARCH g FROMLONLAT 13 38 BYRADIUS 900 km COUNT 1 DESC ASC",
        "XADD x 1-1 f v; XADD x 1-2 f v | XREAD COUNT 2 COUNT 1 STREAMS x 0",
        "XADD count 1-1 f v; XADD count 1-2 f v | XREAD COUNT 1 STREAMS count 0",
        "XADD streams 1-1 f v | XREAD STREAMS streams 0"
      })
  void theLastOfRepeatedOptionsCounts(String history) {
    var parts = history.split(" \\| ", -1);
    explainsHistoriesOfApplications(parts[0], parts[1]);
  }

  /** Its reply was lost, was not to come, or is not on record whole. */
  @Test
  void whatWasDrawnWithoutAReplyMayBeAnyMember() {
    for (var reply : Arrays.asList(null, "", "*1\r\n$9\r\na")) {
      var trace = new MemoryTrace(SPECIFICATION);
      trace.add(operation(1, 0, 1, "SADD s a b", ":2\r\n"));
      var drawn = operation(2, 2, 3, "SPOP s 1", "");
      trace.add(answered(drawn, reply));
      var why = new Why(SPECIFICATION, trace);
      for (var question : List.of("SISMEMBER s a", "SISMEMBER s b")) {
        for (var told : List.of(":0\r\n", ":1\r\n")) {
          var answer = why.ask(operation(3, 4, 5, question, told), Why.Wish.ONE);
          assertEquals(List.of(1L, 2L), answer.witnesses().getFirst().rows(), answer::toString);
          assertEquals(
              reply == null ? Answer.Certainty.ONE_OF : Answer.Certainty.CERTAIN,
              answer.certainty(),
              answer::toString);
        }
      }
    }
  }

  private static Operation answered(Operation operation, String reply) {
    return new Operation(
        operation.row(),
        1,
        1,
        1,
        "0",
        operation.sent(),
        reply == null ? null : operation.replied(),
        operation.request(),
        reply == null ? null : Bytes.of(reply));
  }

  @Test
  void nothingIsClaimedOfADrawThatWasNeverMade() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SADD s a b", ":2\r\n"));
    var answer = new Why(SPECIFICATION, trace).ask(now(9, "SPOP s"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
    assertEquals(List.of(1L), answer.witnesses().getFirst().rows());
  }

  @Test
  void writesNumbersTheSameInEveryCountry() {
    var before = Locale.getDefault();
    Locale.setDefault(Locale.GERMANY);
    try {
      explainsHistoriesOfApplications("GEOADD g 13 38 a 15 37 b", "GEODIST g a b km");
    } finally {
      Locale.setDefault(before);
    }
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
      checkMinimal(verdict, answer, name);
    }
  }

  private static void checkMinimal(Oracle.Verdict verdict, Answer answer, String name) {
    var elements = verdict.elements(answer.witnesses().getFirst());
    assertTrue(
        !answer.minimal() || verdict.definition().witnesses().contains(elements),
        () -> name + " is called minimal; so are " + verdict.definition().witnesses());
  }

  /** Of what the model cannot run it cannot tell what is needed. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          XSETID a 9-9 ENTRIESADDED 7 MAXDELETEDID 1-1; FLUSHDB                          | EXISTS a
          XSETID b 9-9 ENTRIESADDED 7 MAXDELETEDID 1-1; ZRANGESTORE b a + - BYLEX REV    | XLEN b
          XADD a 1-1 f v; XTRIM a MAXLEN ~ 0; DEL a                                      | GET a
          """)
  void nothingIsCalledMinimalThatNeedNotBe(String steps, String question) {
    var history = Stream.of(steps.split("; ", -1)).map(List::of).toList();
    var verdict = new Oracle(redis, SPECIFICATION).judge(history, question);
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    var rows = verdict.elements(answer.witnesses().getFirst());
    assertTrue(verdict.definition().isClosed(rows), rows::toString);
    checkMinimal(verdict, answer, steps);
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

  /** Among equal weights members stand as Redis keeps them, which depends on what was there. */
  @Test
  void nothingIsClaimedOfTheOrderOfEqualWeights() {
    var steps = Stream.of("SADD b c a b", "RPUSH b a b a", "SET wa 2").map(List::of).toList();
    var verdict = new Oracle(redis, SPECIFICATION).judge(steps, "SORT b BY w* ALPHA DESC");
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
    assertEquals(Set.of(1L, 3L), verdict.elements(answer.witnesses().getFirst()));
  }

  /** The server's environment says in which language it sorts. */
  @Test
  void textsMayBeSortedAsInSomeLanguage() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "RPUSH l B a", ":2\r\n"));
    trace.add(operation(2, 0, 1, "RPUSH m b a", ":2\r\n"));
    trace.add(operation(3, 2, 3, "SORT l ALPHA STORE n", ":2\r\n"));
    var why = new Why(SPECIFICATION, trace);
    for (var question : List.of("SORT l ALPHA=aB", "SORT l ALPHA=Ba", "SORT m ALPHA=ab")) {
      var answer = why.ask(sorted(question), Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
      assertEquals(List.of(question.contains("m") ? 2L : 1L), answer.witnesses().getFirst().rows());
    }
    for (var question : List.of("SORT m ALPHA=ba", "LRANGE n 0 -1=aB")) {
      var answer = why.ask(sorted(question), Why.Wish.ONE);
      assertEquals(Answer.Certainty.OUTSIDE, answer.certainty(), answer::toString);
    }
  }

  /** A question with a reply of two letters. */
  private static Operation sorted(String question) {
    var parts = question.split("=", -1);
    var reply =
        "*2\r\n$1\r\n%s\r\n$1\r\n%s\r\n".formatted(parts[1].substring(0, 1), parts[1].substring(1));
    return operation(9, 9, 9, parts[0], reply);
  }

  /** A member that is not there any more has changed how the others are kept. */
  @Test
  void nothingIsClaimedOfTheOrderInWhichASetIsKept() {
    var steps = Stream.of("SADD s x", "SADD s 2 1", "SREM s x").map(List::of).toList();
    var verdict = new Oracle(redis, SPECIFICATION).judge(steps, "SORT s BY nosort");
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
    var many = IntStream.range(0, 2 * Why.MOST_RUN).mapToObj(i -> "SADD s m" + i);
    var trace = new MemoryTrace(SPECIFICATION);
    many.forEach(
        step ->
            trace.add(operation(trace.operations().size() + 1L, Instant.EPOCH, step, ":1\r\n")));
    var question = operation(999, Instant.EPOCH, "SORT s BY nosort", "*1\r\n$2\r\nm1\r\n");
    assertEquals(
        Answer.Certainty.NO_SPECIFICATION,
        new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE).certainty());
  }

  /** Members that are not there any more have changed in which step the others come. */
  @ParameterizedTest
  @CsvSource({"SSCAN s 0 COUNT 1", "SSCAN s 1 COUNT 1000", "SCAN 0 COUNT 1", "SCAN 1 COUNT 1"})
  void nothingIsClaimedOfAStepOfSeveral(String question) {
    var many =
        IntStream.range(0, 600)
            .mapToObj(i -> " m" + i)
            .collect(Collectors.joining("", "S%s s", ""));
    var steps =
        Stream.of(
                "SADD s x y z", many.formatted("ADD"), many.formatted("REM"), "SET k v", "SET l w")
            .map(List::of)
            .toList();
    var verdict = new Oracle(redis, SPECIFICATION).judge(steps, question);
    var answer = new Why(SPECIFICATION, verdict.trace()).ask(verdict.question(), Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty(), answer::toString);
    assertTrue(
        verdict.elements(answer.witnesses().getFirst()).contains(question.contains("s ") ? 1L : 4L),
        "who has written what is there is named");
  }

  /** Nobody knows in how many steps it would come. */
  @Test
  void nothingIsClaimedOfAScanThatWasNeverSent() {
    var steps = List.of(List.of("SADD s x"));
    var verdict = new Oracle(redis, SPECIFICATION).judge(steps, "SSCAN s 0");
    var sent = verdict.question();
    var asked =
        new Operation(Long.MAX_VALUE, 1, 0, 0, "0", sent.sent(), null, sent.request(), null);
    var why = new Why(SPECIFICATION, verdict.trace());
    assertEquals(Answer.Certainty.CERTAIN, why.ask(sent, Why.Wish.ONE).certainty());
    var answer = why.ask(asked, Why.Wish.ONE);
    assertEquals(Answer.Certainty.NO_SPECIFICATION, answer.certainty());
    assertEquals(List.of(1L), answer.witnesses().getFirst().rows());
  }

  @Test
  void explainsRandomHistoriesWithDeadlines() throws IOException {
    int batch = 125;
    // Each of up to 2^6 subtraces has a database.
    try (var withDatabases = new Pipeline("--databases", "" + (64 * batch + 1))) {
      var oracle = new Oracle(withDatabases, SPECIFICATION);
      var random = new Random(SEED);
      for (int done = 0; done < HISTORIES / 8; done += batch) {
        var histories =
            IntStream.range(0, batch)
                .mapToObj(i -> Histories.timed(random, 2 + random.nextInt(5)))
                .toList();
        var verdicts = oracle.judge(histories);
        assumeTrue(!verdicts.isEmpty(), "the machine was so slow that deadlines passed too early");
        for (int i = 0; i < histories.size(); i++) {
          check(verdicts.get(i), "deadlines, seed " + SEED + ": " + histories.get(i));
        }
      }
    }
  }

  /** What has expired and is not removed yet is counted: who set it is a cause. */
  @Test
  void explainsACountOfKeysThatHaveExpired() {
    var early = Instant.EPOCH;
    var late = early.plusMillis(9);
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, early, "SET a 1 PX 5", "+OK\r\n"));
    trace.add(operation(2, early, "SET b 1", "+OK\r\n"));
    trace.add(operation(3, early, "SET c 1 PX 7", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    // What Redis counts of the two that have expired.
    for (var counted : List.of(0L, 1L, 2L)) {
      var question = operation(4, late, "DBSIZE", ":" + (1 + counted) + "\r\n");
      var answer = why.ask(question, Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
      assertEquals(1 + counted, answer.reply());
      assertEquals(
          counted == 0 ? List.of(2L) : List.of(1L, 2L, 3L),
          answer.witnesses().getFirst().rows(),
          answer::toString);
    }
    for (var impossible : List.of(0, 4)) {
      var question = operation(4, late, "DBSIZE", ":" + impossible + "\r\n");
      assertEquals(
          Answer.Certainty.OUTSIDE, why.ask(question, Why.Wish.ONE).certainty(), "" + impossible);
    }
  }

  /** Nobody asked now what it has removed already. */
  @Test
  void howManyAreCountedNowIsKnownAsFarAsItIsKnownWhatIsGone() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SET a 1 PX 5", "+OK\r\n"));
    trace.add(operation(2, 0, 1, "MSET b 1 c 1", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    assertEquals("3", "" + why.ask(now(2, "DBSIZE"), Why.Wish.ONE).reply());
    assertEquals("between 2 and 3", "" + why.ask(now(20, "DBSIZE"), Why.Wish.ONE).reply());
    assertEquals("2", "" + why.ask(now(20, "EXISTS a b c"), Why.Wish.ONE).reply());
    trace.add(operation(3, 10, 11, "DEL a", ":0\r\n"));
    assertEquals("2", "" + why.ask(now(20, "DBSIZE"), Why.Wish.ONE).reply());
  }

  /** Until Redis comes by it. */
  @Test
  void whatWasOverAlreadyWhenItWasSetMayBeCounted() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 10, 11, "SET a 1 PXAT 1", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var counted = why.ask(operation(2, 12, 13, "DBSIZE", ":1\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, counted.certainty(), counted::toString);
    assertEquals(List.of(1L), counted.witnesses().getFirst().rows());
    for (var question : List.of("DBSIZE=:0", "EXISTS a=:0", "SET a 2 NX=+OK")) {
      var parts = question.split("=", -1);
      var answer = why.ask(operation(2, 12, 13, parts[0], parts[1] + "\r\n"), Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    }
  }

  /** What is kept was not over when the key was set, if the clock says so. */
  @Test
  void aDeadlineThatIsKeptPassesByTheClockAlone() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 0, "PSETEX a 2000 1", "+OK\r\n"));
    trace.add(operation(2, 2001, 2001, "SET a x KEEPTTL", "+OK\r\n"));
    var question = operation(3, 2001, 2001, "GET a", "$1\r\nx\r\n");
    var answer = new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(1, answer.witnesses().getFirst().elements().size(), answer::toString);
  }

  /** Which of them a count leaves out depends on the fields in which the store finds them. */
  @Test
  void ofTwoPlacesThatAreAsNearEitherMayBeFound() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "GEOADD g 13 38 a 13 38 b", ":2\r\n"));
    var why = new Why(SPECIFICATION, trace);
    for (var found : List.of("a", "b")) {
      var question =
          operation(
              2,
              2,
              3,
              "GEOSEARCH g FROMLONLAT 13 38 BYRADIUS 9 km COUNT 1",
              "*1\r\n$1\r\n" + found + "\r\n");
      var answer = why.ask(question, Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
      assertEquals(List.of(1L), answer.witnesses().getFirst().rows());
    }
  }

  /** Redis may have carried it out at any time up to its reply. */
  @Test
  void aKeyThatMayHaveExpiredIsThereOrNot() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 2000, "SET k v PX 2000", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var there = why.ask(operation(2, 2800, 2801, "GET k", "$1\r\nv\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, there.certainty(), there::toString);
    assertEquals(List.of(1L), there.witnesses().getFirst().rows());
    var gone = why.ask(operation(2, 2800, 2801, "GET k", "$-1\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, gone.certainty(), gone::toString);
    var clock = new Witness.Clock(Moment.between(at(2001), at(4001), 1));
    assertEquals(List.of(clock), gone.witnesses().getFirst().elements());
    for (int time : List.of(2001, 2800, 4000)) {
      var now = why.ask(now(time, "GET k"), Why.Wish.ONE);
      assertEquals(Answer.Certainty.ONE_OF, now.certainty(), now::toString);
      assertEquals(2, now.witnesses().size(), now::toString);
      assertTrue(now.note().contains("possible replies"), now::note);
    }
    assertEquals(Bytes.of("v"), why.ask(now(2000, "GET k"), Why.Wish.ONE).reply());
    var over = why.ask(now(4001, "GET k"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, over.certainty());
    assertEquals(Resp.NIL, over.reply());
    var early = operation(2, 1999, 2000, "GET k", "$-1\r\n");
    assertEquals(Answer.Certainty.OUTSIDE, why.ask(early, Why.Wish.ONE).certainty());
    var late = operation(2, 4001, 4002, "GET k", "$1\r\nv\r\n");
    assertEquals(Answer.Certainty.OUTSIDE, why.ask(late, Why.Wish.ONE).certainty());
  }

  /** The deadline passed between the request and the reply. */
  @Test
  void aKeyMayExpireWhileACommandIsUnderWay() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 0, "SET k v PX 100", "+OK\r\n"));
    trace.add(operation(2, 50, 200, "SETNX k w", ":1\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var answer = why.ask(operation(3, 300, 300, "GET k", "$1\r\nw\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertTrue(answer.witnesses().getFirst().rows().contains(2L));
  }

  /** What the next command finds tells whether its deadline had passed by then. */
  @Test
  void whatCameLaterTellsWhetherAKeyHadExpired() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 100, "SET k v PX 100", "+OK\r\n"));
    trace.add(operation(2, 150, 151, "APPEND k w", ":1\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var gone = why.ask(now(160, "GET k"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, gone.certainty(), gone::toString);
    assertEquals(Bytes.of("w"), gone.reply());
    var other = new MemoryTrace(SPECIFICATION);
    other.add(operation(1, 0, 100, "SET k v PX 100", "+OK\r\n"));
    other.add(operation(2, 150, 151, "APPEND k w", ":2\r\n"));
    var there = new Why(SPECIFICATION, other).ask(now(152, "GET k"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.ONE_OF, there.certainty(), there::toString);
    assertEquals(2, there.witnesses().size(), there::toString);
  }

  /** Which of two keys that were set at once expires first is not known either. */
  @Test
  void deadlinesThatWereSetAtOncePassInAnyOrder() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 10, "SET k v PX 100", "+OK\r\n"));
    trace.add(operation(2, 0, 10, "SET l v PX 100", "+OK\r\n"));
    for (int i = 3; i < 60; i++) {
      trace.add(operation(i, 0, 10, "SET more" + i + " v PX 100", "+OK\r\n"));
    }
    var why = new Why(SPECIFICATION, trace);
    for (var reply : List.of("*2\r\n$1\r\nv\r\n$-1\r\n", "*2\r\n$-1\r\n$1\r\nv\r\n")) {
      var answer = why.ask(operation(99, 105, 106, "MGET k l", reply), Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    }
    assertEquals(Answer.Certainty.ONE_OF, why.ask(now(105, "MGET k l"), Why.Wish.ONE).certainty());
    // When all have passed, their order does not matter.
    var all = why.ask(now(200, "KEYS *"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, all.certainty(), all::toString);
    assertEquals(Set.of(), all.reply());
    assertFalse(all.truncated(), all::toString);
  }

  /** Nobody knows when a command was carried out that is never replied to. */
  @Test
  void aDeadlineOfWhichNobodyHasHeardMayPassAtAnyTime() {
    var trace = new MemoryTrace(SPECIFICATION);
    for (int i = 1; i <= 30; i++) {
      var words = Oracle.words("SET k " + i + " PX 100");
      trace.add(new Operation(i, 1, 1, 1, "0", at(i), null, words, Bytes.EMPTY));
    }
    var why = new Why(SPECIFICATION, trace);
    for (int time : List.of(100, 131, 1_000_000)) {
      var late = why.ask(now(time, "GET k"), Why.Wish.ONE);
      assertEquals(Answer.Certainty.ONE_OF, late.certainty(), late::toString);
    }
    for (var reply : List.of("$2\r\n30\r\n", "$-1\r\n")) {
      var answer = why.ask(operation(31, 9_000, 9_001, "GET k", reply), Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    }
    var one =
        new Why(SPECIFICATION, new MemoryTrace(SPECIFICATION).add(trace.operations().getFirst()));
    var early = one.ask(operation(2, 100, 101, "GET k", "$-1\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.OUTSIDE, early.certainty(), early::toString);
    var left = one.ask(now(31, "PTTL k"), Why.Wish.ONE);
    assertTrue(left.note().contains("at least 70"), left::toString);
  }

  /** A deadline that the command itself names may come while it is under way. */
  @Test
  void aCommandMaySetADeadlineThatIsJustOver() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SET k v", "+OK\r\n"));
    trace.add(operation(2, 5, 20, "PEXPIREAT k 10", ":1\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var between = operation(3, 6, 9, "GET k", "$-1\r\n");
    var other = new Operation(3, 1, 2, 2, "0", at(6), at(10), between.request(), between.reply());
    assertEquals(Answer.Certainty.CERTAIN, why.ask(other, Why.Wish.ONE).certainty());
    var gone = why.ask(now(30, "GET k"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, gone.certainty(), gone::toString);
    assertEquals(Resp.NIL, gone.reply());
  }

  /** What a transaction sets is counted from when it is carried out. */
  @Test
  void aDeadlineOfATransactionBeginsWithItsExec() {
    var exec = operation(3, 5000, 5001, "EXEC", "*1\r\n+OK\r\n");
    var queued = operation(2, 1, 2, "SET k v PX 100", "+QUEUED\r\n");
    var parts =
        new RedisKind()
            .parts(exec, List.of(queued, operation(1, 0, 1, "MULTI", "+OK\r\n")).iterator());
    var why = new Why(SPECIFICATION, new MemoryTrace(SPECIFICATION).add(exec.with(parts)));
    var now = why.ask(now(5050, "GET k"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, now.certainty(), now::toString);
    assertEquals(Bytes.of("v"), now.reply());
  }

  /** Nobody knows which came first, but what became of the transaction. */
  @Test
  void whoHasStoppedATransactionCameBehindItsWatch() {
    var watch = operation(1, 0, 10, "WATCH k", "+OK\r\n");
    var set =
        new Operation(2, 1, 2, 2, "0", at(5), at(6), Oracle.words("SET k 1"), Bytes.of("+OK\r\n"));
    var exec = operation(4, 20, 21, "EXEC", "*-1\r\n");
    var earlier = List.of(operation(3, 11, 12, "MULTI", "+OK\r\n"), watch);
    var stopped = exec.with(new RedisKind().parts(exec, earlier.iterator()));
    var trace = new MemoryTrace(SPECIFICATION).add(watch);
    var nobody = new Why(SPECIFICATION, trace).ask(stopped, Why.Wish.ONE);
    assertEquals(Answer.Certainty.OUTSIDE, nobody.certainty(), nobody::toString);
    var answer = new Why(SPECIFICATION, trace.add(set)).ask(stopped, Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of(1L, 2L), answer.witnesses().getFirst().rows());
  }

  /** Of what one transaction sets for as long, what it sets first is gone no later. */
  @Test
  void deadlinesOfOneTransactionPassInItsOrder() {
    var exec = operation(4, 0, 10, "EXEC", "*2\r\n+OK\r\n+OK\r\n");
    var queued =
        List.of(
            operation(3, 0, 1, "SET l w PX 100", "+QUEUED\r\n"),
            operation(2, 0, 1, "SET k v PX 100", "+QUEUED\r\n"),
            operation(1, 0, 1, "MULTI", "+OK\r\n"));
    var parts = new RedisKind().parts(exec, queued.iterator());
    var why = new Why(SPECIFICATION, new MemoryTrace(SPECIFICATION).add(exec.with(parts)));
    for (var reply : List.of("$1 v $1 w", "$-1 $1 w", "$-1 $-1")) {
      var got = operation(9, 105, 106, "MGET k l", "*2\r\n" + reply.replace(" ", "\r\n") + "\r\n");
      var answer = why.ask(got, Why.Wish.ONE);
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    }
    var turned = operation(9, 105, 106, "MGET k l", "*2\r\n$1\r\nv\r\n$-1\r\n");
    assertEquals(Answer.Certainty.OUTSIDE, why.ask(turned, Why.Wish.ONE).certainty());
  }

  /** Who waits is served by what comes meanwhile, also where that is too much to be tried. */
  @ParameterizedTest
  @CsvSource({
    "3, 0, CERTAIN",
    "70, 0, ONE_OF",
    "3, 70, ONE_OF",
    "70, 70, ONE_OF",
    "130, 130, ONE_OF"
  })
  void whoHasServedWhoWaitsIsNamed(int before, int meanwhile, Answer.Certainty certainty) {
    var trace = new MemoryTrace(SPECIFICATION);
    for (int i = 0; i < before; i++) {
      pass(trace, i, "RPUSH q x", ":1\r\n");
      pass(trace, i, "LPOP q", "$1\r\nx\r\n");
    }
    int end = before + meanwhile + 2;
    var words = Oracle.words("BLPOP q 0");
    var reply = Bytes.of("*2\r\n$1\r\nq\r\n$1\r\nv\r\n");
    var waiting = new Operation(2 * before + 1, 1, 2, 2, "0", at(before), at(end), words, reply);
    trace.add(waiting);
    for (int i = 0; i < meanwhile; i++) {
      pass(trace, before + 1 + i, "RPUSH q x", ":1\r\n");
      pass(trace, before + 1 + i, "LPOP q", "$1\r\nx\r\n");
    }
    pass(trace, end - 1, "RPUSH q v", ":1\r\n");
    long push = trace.operations().getLast().row();
    int most = 200;
    var wish = new Why.Wish(false, 1, most, -1);
    var answer = new Why(SPECIFICATION, trace).ask(waiting, wish);
    assertEquals(certainty, answer.certainty(), answer::note);
    assertEquals(certainty != Answer.Certainty.CERTAIN, answer.truncated());
    var rows = answer.witnesses().getFirst().rows();
    assertTrue(rows.contains(push), rows::toString);
    assertTrue(rows.size() <= most, () -> "" + rows.size());
  }

  private static void pass(MemoryTrace trace, int time, String command, String reply) {
    trace.add(operation(trace.operations().size() + 1L, time, time, command, reply));
  }

  /** Which of two sets of one size comes first does not matter to a sum. */
  @ParameterizedTest
  @ValueSource(strings = {"ZUNIONSTORE", "ZINTERSTORE"})
  void theSumOfTwoSetsOfManyMembersIsKnown(String command) {
    int members = 600;
    var trace = new MemoryTrace(SPECIFICATION);
    for (var key : List.of("a", "b")) {
      var words = new StringBuilder("ZADD " + key);
      for (int i = 0; i < members; i++) {
        words.append(" %d.%d m%d".formatted(trace.operations().size(), i + 1, i));
      }
      long row = trace.operations().size() + 1L;
      trace.add(operation(row, 0, 1, words.toString(), ":" + members + "\r\n"));
    }
    trace.add(operation(3, 2, 3, command + " c 2 a b", ":" + members + "\r\n"));
    var answer = new Why(SPECIFICATION, trace).ask(now(5, "ZSCORE c m4"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals("2", new RedisKind().plain(Objects.requireNonNull(answer.reply())));
  }

  /** Also if the clock of Redis goes faster or slower by a little. */
  @ParameterizedTest
  @CsvSource({"1000, 999, CERTAIN", "999, 1000, OUTSIDE", "1000, 1000, OUTSIDE"})
  void theShorterOfTwoThatOneTransactionSetsIsGoneFirst(
      int first, int second, Answer.Certainty certainty) {
    var exec = operation(4, 0, 10, "EXEC", "*2\r\n+OK\r\n+OK\r\n").with(new Skew(0, 500));
    var queued =
        List.of(
            operation(3, 0, 1, "SET l w PX " + second, "+QUEUED\r\n").with(exec.skew()),
            operation(2, 0, 1, "SET k v PX " + first, "+QUEUED\r\n").with(exec.skew()),
            operation(1, 0, 1, "MULTI", "+OK\r\n"));
    var parts = new RedisKind().parts(exec, queued.iterator());
    var why = new Why(SPECIFICATION, new MemoryTrace(SPECIFICATION).add(exec.with(parts)));
    var got = operation(9, 1004, 1005, "MGET k l", "*2\r\n$-1\r\n$1\r\nw\r\n");
    var turned = operation(9, 1004, 1005, "MGET k l", "*2\r\n$1\r\nv\r\n$-1\r\n");
    assertEquals(Answer.Certainty.CERTAIN, why.ask(got, Why.Wish.ONE).certainty());
    assertEquals(certainty, why.ask(turned, Why.Wish.ONE).certainty());
  }

  /**
   * The clock of another host may have gone faster or slower since, as far as nobody has noticed.
   */
  @ParameterizedTest
  @CsvSource({
    "10, 0, 9998, v, OUTSIDE",
    "10, 500, 9980, v, OUTSIDE",
    "10, 500, 9995, , CERTAIN",
    "10, 500, 10009, , CERTAIN",
    "10, 500, 10030, nil, OUTSIDE",
    "3600, 500, 3599400, v, OUTSIDE",
    "3600, 500, 3599600, , CERTAIN",
    "3600, 500, 3600400, , CERTAIN",
    "3600, 500, 3600600, nil, OUTSIDE",
    "3600, 2, 3599997, v, OUTSIDE",
    "3600, 2, 3599999, , CERTAIN"
  })
  void aDeadlineIsKnownAsFarAsBothClocksGoAlike(
      int seconds, long width, long time, @Nullable String known, Answer.Certainty other) {
    var skew = new Skew(-width, 0);
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 0, "SET k v EX " + seconds, "+OK\r\n").with(skew));
    var why = new Why(SPECIFICATION, trace);
    var now = why.ask(now(time, "GET k"), Why.Wish.ONE);
    assertEquals(
        known == null ? Answer.Certainty.ONE_OF : Answer.Certainty.CERTAIN,
        now.certainty(),
        now::toString);
    var there = why.ask(operation(2, time, time, "GET k", "$1\r\nv\r\n"), Why.Wish.ONE);
    var gone = why.ask(operation(2, time, time, "GET k", "$-1\r\n"), Why.Wish.ONE);
    assertEquals("nil".equals(known) ? other : Answer.Certainty.CERTAIN, there.certainty());
    assertEquals("v".equals(known) ? other : Answer.Certainty.CERTAIN, gone.certainty());
  }

  /** What is left by the clock of Redis is known no better; nor is which of two is later. */
  @Test
  void whatIsLeftIsKnownAsFarAsBothClocksGoAlike() {
    var skew = new Skew(-500, 0);
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 0, "SET k v EX 100", "+OK\r\n").with(skew));
    var why = new Why(SPECIFICATION, trace);
    for (int left : List.of(89_898, 89_899, 90_000, 90_101, 90_102)) {
      boolean possible = left >= 89_899 && left <= 90_101;
      var asked = operation(2, 10_000, 10_000, "PTTL k", ":" + left + "\r\n").with(skew);
      assertEquals(
          possible ? Answer.Certainty.CERTAIN : Answer.Certainty.OUTSIDE,
          why.ask(asked, Why.Wish.ONE).certainty(),
          "" + left);
    }
    for (int done : List.of(0, 1)) {
      var later = operation(2, 10_000, 10_000, "PEXPIRE k 90010 GT", ":" + done + "\r\n");
      assertEquals(Answer.Certainty.CERTAIN, why.ask(later.with(skew), Why.Wish.ONE).certainty());
    }
    var earlier = operation(2, 10_000, 10_000, "PEXPIRE k 89000 GT", ":1\r\n").with(skew);
    assertEquals(Answer.Certainty.OUTSIDE, why.ask(earlier, Why.Wish.ONE).certainty());
  }

  /** A value that is restored may have a deadline, too. */
  @Test
  void whatWasRestoredForSomeTimeGoesByTheClock() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "RESTORE k 100 x", "+OK\r\n"));
    trace.add(operation(2, 0, 1, "RESTORE l 150 x REPLACE ABSTTL", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    for (var key : List.of("k", "l")) {
      var gone = why.ask(operation(3, 200, 201, "GET " + key, "$-1\r\n"), Why.Wish.ONE);
      assertTrue(
          gone.witnesses().getFirst().elements().stream()
              .anyMatch(element -> element instanceof Witness.Clock),
          gone::toString);
    }
  }

  /** That is a time by the clock of the store, which is half a minute ahead, more or less. */
  @ParameterizedTest
  @CsvSource({
    "29900, 30100, 2800, CERTAIN",
    "29900, 30100, 3000, ONE_OF",
    "29900, 30100, 3200, CERTAIN",
    "0, 0, 3200, CERTAIN",
    "-4000000000000000000, 4000000000000000000, 3200, ONE_OF",
    "-4000000000000000000, 4000000000000000000, 40000, ONE_OF"
  })
  void aDeadlineThatIsNamedIsKnownAsFarAsTheClockOfTheStoreIs(
      long least, long most, long time, Answer.Certainty certainty) {
    var skew = new Skew(least, most);
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SET k v PXAT 33000", "+OK\r\n").with(skew));
    var why = new Why(SPECIFICATION, trace);
    var answer = why.ask(now(time, "GET k"), Why.Wish.ONE);
    assertEquals(certainty, answer.certainty(), answer::toString);
    if (certainty == Answer.Certainty.CERTAIN) {
      var there = skew.earliest(33_000) > time ? "v" : null;
      assertEquals(there, new RedisKind().plain(Objects.requireNonNull(answer.reply())));
    }
    var named = why.ask(now(2000, "PEXPIRETIME k").with(skew), Why.Wish.ONE);
    assertEquals(skew.earliest(33_000) > 2000, named.certainty() == Answer.Certainty.CERTAIN);
    for (var reply : List.of("$1\r\nv\r\n", "$-1\r\n")) {
      boolean possible =
          certainty == Answer.Certainty.ONE_OF || reply.contains("v") == (time < 3000);
      var recorded = why.ask(operation(2, time, time, "GET k", reply).with(skew), Why.Wish.ONE);
      if (most > 0) {
        assertEquals(
            possible ? Answer.Certainty.CERTAIN : Answer.Certainty.OUTSIDE, recorded.certainty());
      }
    }
  }

  /** Two times that are named may be as well known, and be others. */
  @ParameterizedTest
  @CsvSource({"33000, 33500", "33500, 33000", "33000, 33000"})
  void deadlinesThatAreKnownAsWellNeedNotBeTheSame(long one, long other) {
    var trace = new MemoryTrace(SPECIFICATION);
    long least = 30_000;
    for (var set : List.of("SET k v PXAT " + one, "SET l w PXAT " + other)) {
      long ahead = least + Long.parseLong(set.substring(13)) - 33_000;
      trace.add(
          operation(trace.operations().size() + 1L, 0, 1, set, "+OK\r\n")
              .with(new Skew(ahead, ahead + 100)));
    }
    var why = new Why(SPECIFICATION, trace);
    for (var reply : List.of("*2\r\n$-1\r\n$1\r\nw\r\n", "*2\r\n$1\r\nv\r\n$-1\r\n")) {
      var answer = why.ask(operation(3, 2950, 2950, "MGET k l", reply), Why.Wish.ONE);
      assertEquals(
          one == other ? Answer.Certainty.OUTSIDE : Answer.Certainty.CERTAIN,
          answer.certainty(),
          answer::toString);
    }
  }

  /** It may have been over when it was set; then nothing was left. */
  @ParameterizedTest
  @CsvSource({"30050, 10, ONE_OF", "30050, 200, CERTAIN", "29000, 10, CERTAIN"})
  void aDeadlineThatIsNamedMayBeOverWhenItIsSet(long named, long time, Answer.Certainty certainty) {
    var skew = new Skew(29_900, 30_100);
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 0, "SET k v", "+OK\r\n").with(skew));
    trace.add(operation(2, 0, 1, "PEXPIREAT k " + named, ":1\r\n").with(skew));
    var answer = new Why(SPECIFICATION, trace).ask(now(time, "GET k"), Why.Wish.ONE);
    assertEquals(certainty, answer.certainty(), answer::toString);
  }

  /** Of a question of now it may be known only between which times that is. */
  @ParameterizedTest
  @CsvSource({"3, 5, CERTAIN", "3, 50, ONE_OF", "20, 50, CERTAIN"})
  void aDeadlineMayHavePassedAtAQuestionOfWhichTheTimeIsNotKnown(
      long from, long until, Answer.Certainty certainty) {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SET k v PX 10", "+OK\r\n"));
    var words = Oracle.words("GET k");
    var asked = new Operation(Long.MAX_VALUE, 1, 0, 0, "0", at(from), at(until), words, null);
    var answer = new Why(SPECIFICATION, trace).ask(asked, Why.Wish.ONE);
    assertEquals(certainty, answer.certainty(), answer::toString);
  }

  /** What would be told of a deadline now is known as far as the deadline is. */
  @ParameterizedTest
  @CsvSource({
    "PTTL k, between 3950 and 3960",
    "TTL k, 4",
    "PEXPIRETIME k, between 5000 and 5010",
    "EXPIRETIME k, 5"
  })
  void whatIsLeftNowIsToldAsFarAsItIsKnown(String command, String reply) {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 10, "SET k v PX 5000", "+OK\r\n"));
    var answer = new Why(SPECIFICATION, trace).ask(now(1050, command), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(reply, "" + new RedisKind().plain(Objects.requireNonNull(answer.reply())));
  }

  private static Operation now(long time, String command) {
    return new Operation(Long.MAX_VALUE, 1, 0, 0, "0", at(time), null, Oracle.words(command), null);
  }

  /** Whether the second is later depends on the milliseconds in which Redis carried them out. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void ofTwoDeadlinesAtOnceEitherMayBeLater(int done) {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 1, "SET k v EX 60", "+OK\r\n"));
    var second = operation(2, 1, 2, "EXPIRE k 60 GT", ":" + done + "\r\n");
    trace.add(second);
    var why = new Why(SPECIFICATION, trace);
    assertEquals(Answer.Certainty.CERTAIN, why.ask(second, Why.Wish.ONE).certainty());
    var get = why.ask(operation(3, 9, 9, "GET k", "$1\r\nv\r\n"), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, get.certainty(), get::toString);
    var now = why.ask(now(9, "PEXPIRETIME k"), Why.Wish.ONE);
    assertEquals("between 6000%d and 6000%d".formatted(done, done + 1), "" + now.reply());
    assertEquals(done == 1, now.witnesses().getFirst().rows().contains(2L), now::toString);
  }

  /** What is left tells when Redis has set it. */
  @Test
  void whatIsLeftOfADeadlineIsExplainedOrNot() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, 0, 10, "SET k v PX 5000", "+OK\r\n"));
    var why = new Why(SPECIFICATION, trace);
    for (int left : List.of(4987, 4989, 4990, 5000, 5008, 5009)) {
      boolean possible = left >= 4988 && left <= 5008;
      assertEquals(
          possible ? Answer.Certainty.CERTAIN : Answer.Certainty.OUTSIDE,
          why.ask(operation(2, 2, 12, "PTTL k", ":" + left + "\r\n"), Why.Wish.ONE).certainty(),
          "" + left);
    }
  }

  /** Sets of one size come in the order of the store's own sorting, which nobody tells. */
  @ParameterizedTest
  @ValueSource(strings = {"0", "inf", "-inf"})
  void aSumThatDependsOnTheOrderOfSetsMayBeAnyOfThem(String score) {
    var trace = new MemoryTrace(SPECIFICATION);
    int row = 0;
    for (var one : List.of("inf", "-inf", "inf", "-inf")) {
      trace.add(operation(++row, row, row, "ZADD s%d %s m".formatted(row, one), ":1\r\n"));
    }
    trace.add(operation(5, 5, 5, "ZUNIONSTORE d 4 s1 s2 s3 s4", ":1\r\n"));
    var why = new Why(SPECIFICATION, trace);
    var told = why.ask(operation(6, 6, 6, "ZSCORE d m", bulk(score)), Why.Wish.ONE);
    assertEquals(Answer.Certainty.CERTAIN, told.certainty(), told::toString);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L), told.witnesses().getFirst().rows());
    assertNull(why.ask(now(9, "ZSCORE d m"), Why.Wish.ONE).reply());
  }

  /** Whole numbers are added exactly in any order; of others no more are tried than a bound. */
  @ParameterizedTest
  @CsvSource({"1, 10, 55", "0.5, 4, 5", "0.5, 10, -", "0.1, 4, -"})
  void aSumThatDependsOnNoOrderIsKnown(double score, int sets, String sum) {
    var trace = new MemoryTrace(SPECIFICATION);
    var store = new StringBuilder("ZUNIONSTORE d " + sets);
    for (int i = 1; i <= sets; i++) {
      trace.add(operation(i, i, i, "ZADD s" + i + " " + score * i + " m", ":1\r\n"));
      store.append(" s" + i);
    }
    trace.add(operation(sets + 1, 50, 50, store.toString(), ":1\r\n"));
    var reply = new Why(SPECIFICATION, trace).ask(now(90, "ZSCORE d m"), Why.Wish.ONE).reply();
    assertEquals(sum, reply == null ? "-" : ((Bytes) reply).text());
  }

  private static String bulk(String text) {
    return "$" + text.length() + "\r\n" + text + "\r\n";
  }

  private static Instant at(long milliseconds) {
    return Instant.EPOCH.plusMillis(milliseconds);
  }

  private static Operation operation(
      long row, long sent, long replied, String command, String reply) {
    return new Operation(
        row, 1, 1, 1, "0", at(sent), at(replied), Oracle.words(command), Bytes.of(reply));
  }

  /**
   * What was under way together is asked of the whole set, which is at hand, not of each member.
   */
  @Test
  void aQuestionAboutASetDoesNotLookForEachMember() {
    var memory = new MemoryTrace(SPECIFICATION);
    for (int i = 1; i <= 200; i++) {
      memory.add(operation(i, Instant.EPOCH, "SADD s m" + i, ":1\r\n"));
    }
    var asked = new HashSet<Cell>();
    var trace =
        new Trace() {
          @Override
          public Writers writers(Cell cell, long before) {
            return memory.writers(cell, before);
          }

          @Override
          public Iterator<Operation> beside(Cell cell, Operation operation) {
            asked.add(cell);
            return memory.beside(cell, operation);
          }

          @Override
          public long end(Operation operation) {
            return memory.end(operation);
          }

          @Override
          public Optional<Break> lastBreak(Cell cell, long before) {
            return memory.lastBreak(cell, before);
          }
        };
    var question = operation(201, Instant.EPOCH, "SRANDMEMBER s", "$2\r\nm1\r\n");
    var answer = new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE);
    assertEquals(200, answer.witnesses().getFirst().rows().size());
    assertTrue(asked.size() < 20, asked::toString);
  }

  private static Operation operation(long row, Instant time, String command, String reply) {
    return new Operation(row, 1, 1, 1, "0", time, time, Oracle.words(command), Bytes.of(reply));
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
