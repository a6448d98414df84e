package dev.evergreen.shims.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Random short histories of a family's commands, on few keys, so that they meet. */
final class Histories {
  /**
   * Of each family: what it does, and what it is asked. A name in braces stands for one of its
   * values.
   */
  record Family(String name, List<String> steps, List<String> questions) {}

  private static final Map<String, List<String>> VALUES =
      Map.ofEntries(
          Map.entry("k", List.of("a", "a", "b")),
          Map.entry("v", List.of("1", "2", "x")),
          Map.entry("n", List.of("0", "1", "2", "-1")),
          Map.entry("f", List.of("f", "f", "g")),
          Map.entry("m", List.of("p", "p", "q")),
          Map.entry("i", List.of("0", "1", "-1", "-2")),
          Map.entry("s", List.of("1", "2", "1.5", "-1")),
          Map.entry("o", List.of("0", "1", "3", "9")),
          Map.entry("bit", List.of("0", "1")),
          Map.entry("e", List.of("0", "1", "-1", "-2", "-9", "9")),
          Map.entry("d", List.of("LEFT", "RIGHT")));

  static final List<Family> ALL =
      List.of(
          family(
              "strings",
              """
              SET {k} {v};SET {k} {v};SET {k} {v} NX;SET {k} {v} XX;SET {k} {v} GET;SETNX {k} {v};INCR {k};INCRBY {k} {n};DECRBY {k} {n};APPEND {k} {v};DEL {k}
              SETRANGE {k} 1 {v};MSET a {v} b {v};MSETNX a {v} b {v};GETEX {k} EX 0;SET {k} {v} PX -1;SETEX {k} 0 {v};SETRANGE {k} -1 {v};GETSET {k} {v};GETDEL {k};INCRBYFLOAT {k} 0.5;DECR {k};SETRANGE {k} 0 {v}
              """,
              "GET {k};GET {k};GET {k};MGET a b;STRLEN {k};GETRANGE {k} 0 0;INCR {k};SETNX {k}"
                  + " 7;GETDEL {k};EXISTS {k};SET {k} 1 GET;SET {k} 1 NX"),
          family(
              "keys",
              """
              SET {k} {v};SET {k} {v};DEL {k};DEL {k};DEL a b;RENAME {k} {k};RENAME a b;RENAMENX {k} {k};COPY a b;COPY b a;COPY a b REPLACE;RPUSH {k} {v};SADD {k} {m}
              HSET {k} {f} {v};FLUSHDB;MOVE {k} 1;SWAPDB 0 x;SWAPDB 0 99;COPY a a;MOVE {k} 0;SWAPDB 0 1;FLUSHALL;COPY {k} {k} DB 1;UNLINK {k};APPEND {k} {v}
              """,
              "GET {k};GET {k};EXISTS {k};EXISTS a b;TYPE {k};KEYS *;KEYS a*;DBSIZE;DEL"
                  + " {k};RENAMENX a b;COPY a b;RENAME a b"),
          family(
              "hashes",
              """
              HSET {k} {f} {v};HSET {k} {f} {v};HSET {k} f {v} g {v};HSETNX {k} {f} {v};HDEL {k} {f};HDEL {k} f g;HINCRBY {k} {f} {n};DEL {k};SET {k} {v};HINCRBYFLOAT {k} {f} 1.5
              RENAME {k} {k};HMSET {k} {f} {v};COPY a b
              """,
              "HGET {k} {f};HGET {k} {f};HGETALL {k};HMGET {k} f g;HLEN {k};HEXISTS {k} {f};HKEYS"
                  + " {k};HVALS {k};HSTRLEN {k} {f};HSET {k} {f} 1;HDEL {k} {f};EXISTS {k};TYPE"
                  + " {k}"),
          family(
              "lists",
              """
              RPUSH {k} {v};RPUSH {k} {v};LPUSH {k} {v};RPUSH {k} {v} {v};LPOP {k};RPOP {k};LPOP {k} 2;LPUSHX {k} {v};RPUSHX {k} {v};LSET {k} {i} {v};LREM {k} {n} {v};LTRIM {k} {i} {i}
              LINSERT {k} BEFORE {v} {v};LINSERT {k} AFTER {v} {v};LSET {k} x {v};LSET {k} 9 {v};LREM {k} x {v};LTRIM {k} x 1;LPOP {k} -1;LMOVE {k} {k} UP DOWN;RPOPLPUSH {k} {k};LMOVE {k} {k} {d} {d};DEL {k};SET {k} {v}
              """,
              "LRANGE {k} 0 -1;LRANGE {k} 0 -1;LINDEX {k} {i};LLEN {k};LPOP {k};RPUSH {k} z;LPOS"
                  + " {k} {v};EXISTS {k};RPOPLPUSH {k} {k};LPOS {k} {v} RANK -1 COUNT 0;LPOS {k}"
                  + " {v} RANK 2 MAXLEN 3"),
          family(
              "sets",
              """
              SADD {k} {m};SADD {k} {m};SADD {k} p q;SREM {k} {m};SREM {k} p q;SMOVE {k} {k} {m};SMOVE a b p;SPOP {k};SPOP {k} 2;SUNIONSTORE {k} a b;SINTERSTORE {k} a b
              SDIFFSTORE {k} a b;DEL {k};SET {k} {v}
              """,
              "SISMEMBER {k} {m};SMEMBERS {k};SMEMBERS {k};SCARD {k};SMISMEMBER {k} p q;SUNION a"
                  + " b;SINTER a b;SDIFF a b;SINTERCARD 2 a b;SADD {k} {m};SREM {k} {m};EXISTS"
                  + " {k};SPOP {k} 9;SPOP {k} 9"),
          family(
              "sorted sets",
              """
              ZADD {k} {s} {m};ZADD {k} {s} {m};ZADD {k} {s} p {s} q;ZADD {k} NX {s} {m};ZADD {k} XX {s} {m};ZADD {k} GT CH {s} {m};ZADD {k} LT {s} {m};ZADD {k} INCR {s} {m};DEL {k}
              ZINCRBY {k} {s} {m};ZREM {k} {m};ZPOPMIN {k};ZPOPMAX {k} 2;ZREMRANGEBYSCORE {k} 1 2;ZREMRANGEBYRANK {k} 0 0;ZUNIONSTORE {k} 2 a b;ZINTERSTORE {k} 2 a b WEIGHTS 1 2
              ZDIFFSTORE {k} 2 a b;ZRANGESTORE {k} a 0 0;SADD {k} {m};SET {k} {v}
              ZINCRBY {k} -0 {m};ZADD {k} INCR -0 {m};ZRANGESTORE {k} a -inf +inf BYSCORE LIMIT {i} 1
              """,
              "ZSCORE {k} {m};ZSCORE {k} {m};ZRANGE {k} 0 -1 WITHSCORES;ZRANGE {k} 0 -1;ZRANGE {k}"
                  + " (1 2 BYSCORE;ZRANGEBYSCORE {k} -inf (2 LIMIT 0 1;ZREVRANGE {k} 0 0;ZRANK {k}"
                  + " {m};ZREVRANK {k} {m};ZCARD {k};ZCOUNT {k} 1 2;ZMSCORE {k} p q;ZUNION 2 a b"
                  + " WITHSCORES;ZINTER 2 a b;ZDIFF 2 a b;ZINTERCARD 2 a b;ZADD {k} {s} {m};ZPOPMIN"
                  + " {k};EXISTS {k};ZRANGEBYLEX {k} [p (q;ZRANGE {k} 2 1 BYSCORE REV;ZLEXCOUNT {k}"
                  + " - +;ZRANGEBYSCORE {k} -inf +inf LIMIT {e} {n};ZREVRANGEBYLEX {k} + - LIMIT"
                  + " {e} {n};ZINCRBY {k} -0 {m};ZADD {k} INCR -0 {m}"),
          family(
              "bitmaps",
              """
              SETBIT {k} {o} {bit};SETBIT {k} {o} {bit};SETBIT {k} {o} {bit};SET {k} {v};APPEND {k} {v};SETRANGE {k} 1 {v};BITOP AND {k} a b;BITOP NOT {k} a;BITOP XOR {k} a b;DEL {k}
              BITOP OR {k} a b;SADD {k} {m};BITOP NOT {k} a b;SETBIT {k} x 1;SETBIT {k} 1 2;BITOP FOO {k} a
              """,
              "GETBIT {k} {o};GETBIT {k} {o};BITCOUNT {k};BITCOUNT {k} 0 0;BITCOUNT {k} 0 3"
                  + " BIT;BITPOS {k} {bit};BITPOS {k} {bit} 0 0;BITCOUNT {k} {e} {e};BITCOUNT {k}"
                  + " {e} {e} BIT;BITPOS {k} {bit} {e};BITPOS {k} {bit} {e} {e};BITPOS {k} {bit}"
                  + " {e} {e} BIT;GET {k};STRLEN {k};SETBIT {k} {o} 1;EXISTS {k}"),
          family(
              "streams",
              """
              XADD {k} * {f} {v};XADD {k} * {f} {v};XADD {k} 1-{o} {f} {v};XADD {k} NOMKSTREAM 2-{o} {f} {v};XADD {k} MAXLEN 1 3-{o} {f} {v};XDEL {k} 1-{o};XTRIM {k} MAXLEN 1;DEL {k}
              COPY a b;SET {k} {v};XTRIM {k} MAXLEN -1;XADD {k} MAXLEN -1 9-9 f v;XDEL {k} x;XADD {k} x f v;XADD {k} 0-0 f v;XTRIM {k} MAXLEN = 1 LIMIT 1;XADD {k} MAXLEN x 9-9 f v
              """,
              "XLEN {k};XLEN {k};XRANGE {k} - +;XREVRANGE {k} + -;XRANGE {k} 1 2 COUNT 1;XADD {k}"
                  + " 9-9 f 1;XDEL {k} 1-{o};EXISTS {k}"),
          family(
              "pops of several keys",
              """
              RPUSH {k} {v};RPUSH {k} {v} {v};ZADD {k} {s} {m};ZADD {k} {s} p {s} q;LMPOP 2 a b LEFT;LMPOP 1 {k} RIGHT COUNT 2;ZMPOP 2 a b MIN;ZMPOP 1 {k} MAX COUNT 2;DEL {k};LPOP {k}
              SET {k} {v};DEL {k}
              """,
              "LRANGE {k} 0 -1;ZRANGE {k} 0 -1;LMPOP 2 a b RIGHT;ZMPOP 2 a b MIN;EXISTS {k}"),
          family(
              "bit fields",
              """
              BITFIELD {k} SET u8 0 {o};BITFIELD {k} INCRBY u4 {o} {n};BITFIELD {k} OVERFLOW SAT INCRBY i3 #1 2;BITFIELD {k} OVERFLOW FAIL INCRBY u2 6 2 GET u8 0;SET {k} {v};DEL {k}
              BITFIELD {k} SET i5 3 -1 SET u3 0 9;BITFIELD {k} OVERFLOW FOO SET u8 0 1;BITFIELD {k} SET u64 0 1;BITFIELD {k} SET u8 -1 1;BITFIELD {k} SET u8 0 x;BITFIELD {k} SET u8 0 7 FOO;SETBIT {k} {o} {bit};APPEND {k} {v};SADD {k} {m}
              """,
              "GET {k};BITFIELD_RO {k} GET u8 0 GET i4 {o};BITFIELD {k} GET u63 1;BITFIELD {k}"
                  + " INCRBY i8 0 {n};BITCOUNT {k};STRLEN {k};EXISTS {k}"),
          family(
              "groups of streams",
              """
              XGROUP CREATE {k} g 0 MKSTREAM;XGROUP CREATE {k} g $;XADD {k} 1-{o} f {v};XADD {k} 2-{o} f {v};XREADGROUP GROUP g c COUNT 1 STREAMS {k} >;XREADGROUP GROUP g d STREAMS {k} >
              XREADGROUP GROUP g c NOACK STREAMS a b > >;XREADGROUP GROUP g c STREAMS {k} 0;XACK {k} g 1-{o};XDEL {k} 1-{o};XGROUP SETID {k} g 0;XGROUP DESTROY {k} g;DEL {k}
              XGROUP CREATECONSUMER {k} g c;XGROUP DELCONSUMER {k} g c;XCLAIM {k} g d 0 1-1 1-3;XAUTOCLAIM {k} g c 0 - COUNT 1;XSETID {k} 5-1;XTRIM {k} MINID 1-3;XACK {k} g x;XACK {k} none x;XCLAIM {k} g c x 1-1;XGROUP CREATE {k} g x;XGROUP SETID {k} g x;XAUTOCLAIM {k} g c 0 x;XREADGROUP GROUP g c STREAMS {k} x
              """,
              "XREADGROUP GROUP g c STREAMS {k} >;XREADGROUP GROUP g c COUNT 2 STREAMS {k}"
                  + " 0;XPENDING {k} g;XPENDING {k} g - + 9;XPENDING {k} g (1-0 + 9 c;XACK {k} g"
                  + " 1-1;XLEN {k};XRANGE {k} (1-1 +;XREAD COUNT 1 STREAMS a b 0 1-1;XGROUP CREATE"
                  + " {k} g 0;XGROUP CREATECONSUMER {k} g d;XAUTOCLAIM {k} g d 0 0 JUSTID;XADD {k}"
                  + " 9-9 f 1;EXISTS {k}"),
          family(
              "geo",
              """
              GEOADD {k} 13.361389 38.115556 {m};GEOADD {k} 15.087269 37.502669 {m};GEOADD {k} NX 13 38 {m};GEOADD {k} XX CH -120.5 -33.25 {m};GEOADD {k} 180 38 r;GEORADIUS a 13 38 -1 km STORE b;GEORADIUSBYMEMBER a p -1 km STORE b;GEORADIUS a 13 38 9 xx STORE b;GEOADD {k} 200 38 p;GEOSEARCHSTORE b a FROMLONLAT 13 38 BYRADIUS -1 km;GEOADD {k} -180 85.05112878 r;ZREM {k} {m};DEL {k};SET {k} {v};ZADD {k} 1 {m}
              GEOSEARCHSTORE {k} a FROMLONLAT 13 38 BYRADIUS 90 km;GEORADIUS a 13 38 200 mi STORE b;GEOADD {k} 13 38 p 14.5 38.5 q;GEOSEARCHSTORE b {k} FROMMEMBER p BYBOX 300 300 km
              """,
              "GEOPOS {k} p q;GEOPOS {k};GEOHASH {k} p r;GEODIST {k} p r;GEODIST {k} p q km;GEOHASH"
                  + " {k} {m};GEOSEARCH {k} FROMLONLAT 14 38 BYRADIUS 99 km ASC WITHDIST;GEOSEARCH"
                  + " {k} FROMMEMBER {m} BYBOX 250 120 km WITHCOORD;GEORADIUS_RO {k} 13 38 100 mi"
                  + " WITHHASH COUNT 1;GEORADIUSBYMEMBER {k} p 300 km;EXISTS {k};ZCARD {k};GEOADD"
                  + " {k} 13 38 p;ZSCORE {k} p"),
          family(
              "sorting",
              """
              RPUSH {k} {n};RPUSH {k} {n} {n};SORT {k} STORE {k};SORT a BY w* STORE b;SORT a BY none GET h*->f GET # STORE b;SORT a BY none DESC STORE b;SORT a BY none DESC LIMIT {n} 2 STORE b;SORT {k} DESC ASC STORE b;SET w1 {n};SET w2 {n};DEL {k};SADD {k} {n};ZADD {k} {s} {n}
              HSET h1 f {v};DEL w1;SET {k} {v};LPOP {k}
              """,
              "SORT {k};SORT {k} DESC LIMIT 1 2;LRANGE {k} 0 -1;SORT {k} BY w*;SORT_RO {k} GET w*"
                  + " GET #;SORT {k} ALPHA;SORT {k} BY w* GET h*->f;SORT a BY w* STORE b;EXISTS"
                  + " {k}"),
          family(
              "scans",
              """
              SET {k} {v};HSET {k} {f} {v};SADD {k} {m};ZADD {k} {s} {m};DEL {k};HDEL {k} {f};SREM {k} {m};ZREM {k} {m};RENAME {k} {k};FLUSHDB
              """,
              "SCAN 0;SCAN 0 MATCH a* COUNT 100;SCAN 0 TYPE hash;HSCAN {k} 0;SSCAN {k} 0;SSCAN {k}"
                  + " 0 MATCH p;ZSCAN {k} 0"),
          family(
              "hyperloglog",
              "PFADD {k} {m};PFADD {k} {m};PFADD {k} p q;PFADD {k};PFMERGE {k} a b;DEL {k};SADD {k}"
                  + " {m};RENAME a b",
              "PFCOUNT {k};PFCOUNT a b;PFADD {k} {m};EXISTS {k}"));

  /**
   * All but the counts of distinct elements: the model knows what they count by, not the strings
   * that they are to other commands.
   */
  static final List<Family> MIXED =
      ALL.stream().filter(family -> !family.name().equals("hyperloglog")).toList();

  /** Families without a model, beside commands that have one: their answers need not be minimal. */
  static final List<Family> SKETCHED =
      List.of(
          family(
              "scripts",
              "EVAL return(redis.call('incr',KEYS[1])) 1 {k};EVAL"
                  + " return(redis.call('del',KEYS[1],KEYS[2])) 2 a b;SET {k} {v};INCR {k};DEL"
                  + " {k};EVAL return(redis.call('rename',KEYS[1],KEYS[2])) 2 a b",
              "GET {k};EVAL return(redis.call('get',KEYS[1])) 1 {k};EXISTS {k};EVAL_RO"
                  + " return(redis.call('get',KEYS[1])) 1 {k}"));

  /** Scripts whose effects depend on what they read, which are to be known. */
  static final Family WATCHED =
      family(
          "watched scripts",
          """
          SET {k} {v};SET {k} {v};DEL {k};HSET h {f} {v};RPUSH l {v};EVAL return(redis.call('incr',KEYS[1])) 1 {k};EVAL return(redis.call('del',KEYS[1],KEYS[2])) 2 a b
          EVAL return(redis.call('rename',KEYS[1],KEYS[2])) 2 a b;EVAL if(redis.call('get',KEYS[1])=='1')then\tredis.call('set',KEYS[2],ARGV[1])end 2 {k} {k} {v}
          EVAL if(redis.call('exists',KEYS[1])==1)then\tredis.call('hset',KEYS[2],ARGV[1],'1')else\tredis.call('hdel',KEYS[2],ARGV[1])end 2 {k} h {f}
          EVAL redis.call('set',KEYS[1],'1')redis.call('lpush',KEYS[2],redis.call('get',KEYS[1])) 2 {k} l;EVAL return(redis.pcall('rpoplpush',KEYS[1],KEYS[2])) 2 l {k}
          EVAL return(1) 1 {k};EVAL for\ti=1,2\tdo\tredis.call('append',KEYS[1],'x')end 1 {k};EVAL redis.call('append',KEYS[1],redis.call('strlen',KEYS[2])) 2 {k} {k}
          """,
          "GET {k};GET {k};EXISTS a b;HGETALL h;HGET h {f};LRANGE l 0 -1;TYPE {k};EVAL"
              + " if(redis.call('get',KEYS[1])=='1')then\treturn(redis.call('hget',KEYS[2],'f'))end"
              + " 2 {k} h;EVAL return(redis.call('strlen',KEYS[1])) 1 {k}");

  private static final Family DEADLINES =
      family(
          "deadlines",
          """
          SET {k} {v};SET {k} {v};SET {k} {v} PX 2000;SET {k} {v} KEEPTTL;PSETEX {k} 2000 {v};PEXPIRE {k} 2000;PEXPIRE {k} 2000;PEXPIRE {k} 2000 NX;PEXPIREAT {k} 32000000000000 XX
          PEXPIREAT {k} 33000000000000 GT;PEXPIREAT {k} 32000000000000 LT;EXPIREAT {k} 32000000000;PEXPIRE {k} 2000 LT;PEXPIRE {k} -1;PERSIST {k};GETEX {k} PX 2000;GETEX {k} PERSIST;DEL {k};INCR {k};APPEND {k} {v};RENAME a b;COPY a b
          RPUSH {k} {v};LPOP {k};HSET {k} f {v};HDEL {k} f;SADD {k} {m};SREM {k} {m};SETNX {k} {v};RENAMENX b a;EXPIRE {k} 2;GETDEL {k}
          RPUSH {k} {v};RPOPLPUSH {k} {k};LMOVE {k} {k} {d} {d};SMOVE {k} {k} {m};PEXPIRE {k} 9000 FOO;PEXPIRE {k} 9000 NX XX;PEXPIRE {k} x;GETEX {k} PX x;SET {k} {v} PX x
          """,
          "GET {k};GET {k};TTL {k};PTTL {k};TTL {k};PEXPIRETIME {k};EXPIRETIME {k};EXISTS"
              + " {k};EXISTS a b;TYPE {k};HGET {k} f;LRANGE {k} 0 -1;SMEMBERS {k};PERSIST"
              + " {k};PEXPIRE {k} 2000 NX;SETNX {k} 1;INCR {k};DBSIZE;KEYS *");

  private Histories() {}

  /**
   * A history with deadlines and one tick. Deadlines that are set behind it are longer, so that
   * what is left of them tells them from the others.
   */
  static Oracle.Timed timed(Random random, int length) {
    var steps = new ArrayList<String>();
    while (steps.size() < length) {
      steps.add(filled(random, pick(random, DEADLINES.steps())));
    }
    int tick = random.nextInt(length + 1);
    steps.subList(tick, length).replaceAll(Histories::longer);
    steps.add(tick, Oracle.TICK);
    return new Oracle.Timed(steps, filled(random, pick(random, DEADLINES.questions())));
  }

  private static String longer(String step) {
    return step.replaceAll("\\b2000\\b", "" + Oracle.LONGER).replaceAll("^(EXPIRE .) 2$", "$1 20");
  }

  private static Family family(String name, String steps, String questions) {
    return new Family(
        name, List.of(steps.strip().split("[;\n]", -1)), List.of(questions.split(";", -1)));
  }

  /** Steps of a family, or of several; some are transactions. */
  static List<List<String>> steps(
      Random random, List<Family> families, int length, boolean transactions) {
    var steps = new ArrayList<List<String>>();
    while (steps.size() < length) {
      var step = new ArrayList<String>();
      int commands = transactions && random.nextInt(4) == 0 ? 2 + random.nextInt(2) : 1;
      while (step.size() < commands) {
        step.add(filled(random, pick(random, pick(random, families).steps())));
      }
      steps.add(step);
    }
    return steps;
  }

  static String question(Random random, List<Family> families) {
    return filled(random, pick(random, pick(random, families).questions()));
  }

  static String filled(Random random, String template) {
    var filled = new StringBuilder(template);
    for (int at = filled.indexOf("{"); at >= 0; at = filled.indexOf("{")) {
      int end = filled.indexOf("}", at);
      filled.replace(
          at,
          end + 1,
          pick(
              random, java.util.Objects.requireNonNull(VALUES.get(filled.substring(at + 1, end)))));
    }
    return filled.toString();
  }

  static <T> T pick(Random random, List<T> list) {
    return list.get(random.nextInt(list.size()));
  }
}
