package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Touch;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Whatever a command of Redis has changed, the specification says of it that it may have changed
 * it: so nothing that it does is missing in an answer. Tried with each command that this Redis
 * knows, with words of many forms.
 */
@Timeout(300)
class EffectsAreToldTest {
  private static final Pattern NAME = Pattern.compile("\\$[0-9]+\r\n([a-z|_-]+)\r\n");
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();
  private static final long SEED = Long.getLong("evergreen.effects.seed", 1);

  /** How many keys are the first one of each form; chosen by the seed. */
  private static final int FIRST_KEYS = Integer.getInteger("evergreen.effects.keys", 3);

  /** They end the server, or the connection, or make it another one, or wait. */
  private static final Set<String> APART =
      Set.of(
          "shutdown",
          "replicaof",
          "slaveof",
          "failover",
          "sync",
          "psync",
          "replconf",
          "monitor",
          "quit",
          "reset",
          "hello",
          "auth",
          "multi",
          "exec",
          "discard",
          "watch",
          "unwatch",
          "select",
          "debug",
          "save",
          "bgsave",
          "bgrewriteaof",
          "pfselftest",
          "pfdebug",
          "script|debug",
          "migrate",
          "subscribe",
          "psubscribe",
          "ssubscribe",
          "unsubscribe",
          "punsubscribe",
          "sunsubscribe");

  private static final List<String> BLOCKING =
      List.of("blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzmpop", "bzpopmin", "bzpopmax");

  private static final List<String> KEYS = List.of("s", "t", "l", "h", "u", "z", "x", "p", "n");

  private static final List<List<String>> CONTENT =
      List.of(
          List.of("SET", "s", "12"),
          List.of("SET", "t", "abc", "EX", "999"),
          List.of("RPUSH", "l", "1", "2", "1"),
          List.of("HSET", "h", "f", "1", "m", "2"),
          List.of("SADD", "u", "1", "m"),
          List.of("GEOADD", "z", "13", "38", "m", "13.1", "38", "1"),
          List.of("XADD", "x", "1-1", "f", "v"),
          List.of("XADD", "x", "1-2", "f", "v"),
          List.of("XGROUP", "CREATE", "x", "g", "0"),
          List.of("PFADD", "p", "m"));

  private static final List<String> FORMS =
      List.of(
          "",
          "k",
          "k 1",
          "k m",
          "k f",
          "k 1 2",
          "k 1 1",
          "k f 1",
          "k 1 m",
          "k m 1",
          "k k",
          "k k k",
          "k k m",
          "1 k",
          "2 k k",
          "k 1 k",
          "k 2 k k",
          "AND k k k",
          "NOT k k",
          "k LEFT",
          "k k LEFT RIGHT",
          "1 k LEFT",
          "1 k MIN",
          "2 k k MAX COUNT 1",
          "k k 0.01",
          "k 0.01",
          "0.01 1 k LEFT",
          "0.01 1 k MIN",
          "k k LEFT RIGHT 0.01",
          "k BEFORE 1 2",
          "GROUP g c STREAMS k >",
          "GROUP g c NOACK STREAMS k >",
          "k g 0",
          "k g c",
          "k g $ MKSTREAM",
          "k g",
          "k * f v",
          "k 5-5 f v",
          "k MAXLEN 1",
          "k MINID 1-2",
          "k g 1-1",
          "k g d 0 1-1",
          "k g d 0 0",
          "k 0 -1",
          "k 0 0",
          "k 1 -1",
          "k 13 38 q",
          "k 13 38 100 km STORE k",
          "k m 100 km STORE k",
          "k 13 38 100 km STOREDIST k",
          "k k FROMLONLAT 13 38 BYRADIUS 200 km",
          "k k FROMMEMBER m BYBOX 200 200 km STOREDIST",
          "k STORE k",
          "k ALPHA STORE k",
          "k BY none STORE k",
          "k SET u8 0 1",
          "k INCRBY u8 0 1",
          "k EX 100",
          "k PERSIST",
          "k 100",
          "k 100 v",
          "0 1",
          "k 0 v",
          "k 1-1",
          "k 9-9",
          "k v",
          "k v k v",
          "k v XX",
          "k v NX",
          "k v GET",
          "k v KEEPTTL",
          "k v EX 100",
          "k k REPLACE",
          "k k DB 1 REPLACE",
          "k k DB 1",
          "k 0 dump",
          "k 0 dump REPLACE",
          "k 999 dump",
          "k k 0 1 BYSCORE",
          "k k 0 -1",
          "k - +",
          "k [1 [n",
          "k -inf +inf",
          "k -inf inf",
          "k (0 5",
          "k k k WEIGHTS 1",
          "k 1 k WEIGHTS 2",
          "k NX 1 m",
          "k XX 5 m",
          "k GT CH 99 m",
          "k INCR 1 m",
          "k m 1 f 2",
          "k 9 1",
          "k 0 1",
          "k 32000000000",
          "k 32000000000000",
          "k 1 NX",
          "k 100 XX",
          "k 0",
          "k -1",
          "ASYNC",
          "SYNC",
          "CREATE k g $",
          "return(redis.call('set',KEYS[1],'9')) 1 k",
          "return(redis.call('get',KEYS[1])) 1 k",
          "0");

  private static List<String> names(Pipeline redis) {
    var names = new ArrayList<String>();
    var matcher = NAME.matcher(redis.send(List.of(Oracle.words("COMMAND LIST"))).latin1());
    while (matcher.find()) {
      names.add(matcher.group(1));
    }
    return names;
  }

  private static boolean isApart(String name) {
    return APART.contains(name)
        || List.of("client", "config", "acl", "module", "cluster")
            .contains(name.split("\\|", 2)[0]);
  }

  @Test
  void whateverACommandHasChangedIsSaidOfIt() throws IOException {
    var random = new Random(SEED);
    var changing = new TreeSet<String>();
    try (var redis = new Pipeline("--enable-debug-command", "yes")) {
      redis.send(List.of(Oracle.words("SET s 7")));
      var dump = (Bytes) Resp.read(redis.send(List.of(Oracle.words("DUMP s"))));
      var names = names(redis);
      assertTrue(names.size() > 300, names::toString);
      names.removeIf(EffectsAreToldTest::isApart);
      for (var name : names) {
        for (var form : FORMS) {
          int times = form.matches("(.* )?k( .*)?") ? FIRST_KEYS : 1;
          int first = random.nextInt(KEYS.size());
          for (int i = 0; i < times && !mayWait(name, form); i++) {
            var key = KEYS.get((first + i) % KEYS.size());
            if (isTold(redis, words(name, form, key, random, dump))) {
              changing.add(name);
            }
          }
        }
      }
    }
    assertTrue(changing.size() > 70, () -> "only these have changed anything: " + changing);
  }

  private static boolean mayWait(String name, String form) {
    return BLOCKING.contains(name) && !form.contains("0.01");
  }

  /** The first key is that one, and others are chosen at random. */
  private static List<Bytes> words(
      String name, String form, String key, Random random, Bytes dump) {
    var words = new ArrayList<Bytes>();
    for (var word : name.split("\\|", -1)) {
      words.add(Bytes.of(word));
    }
    boolean first = true;
    for (var word : form.isEmpty() ? new String[0] : form.split(" ", -1)) {
      if (word.equals("k")) {
        words.add(Bytes.of(first ? key : Histories.pick(random, KEYS)));
        first = false;
      } else {
        words.add(word.equals("dump") ? dump : Bytes.of(word));
      }
    }
    return words;
  }

  /** Answers whether it has changed anything. */
  private static boolean isTold(Pipeline redis, List<Bytes> words) {
    var commands = new ArrayList<List<Bytes>>();
    commands.add(Oracle.words("SELECT 0"));
    commands.add(Oracle.words("FLUSHALL"));
    CONTENT.forEach(content -> commands.add(content.stream().map(Bytes::of).toList()));
    int before = looks(commands);
    int asked = commands.size();
    commands.add(words);
    int after = looks(commands);
    var replies = Resp.split(redis.send(commands));
    if (replies.size() != commands.size()) {
      // It is replied to in another way.
      return false;
    }
    var reply = replies.get(asked);
    var operation = new Operation(1, 1, 1, 1, "0", Instant.EPOCH, Instant.EPOCH, words, reply);
    boolean any = false;
    for (int database = 0; database < 2; database++) {
      var old = digests(replies.get(before + 2 * database));
      var now = digests(replies.get(after + 2 * database));
      for (int i = 0; i < KEYS.size(); i++) {
        var key = Call.database("" + database).child(KEYS.get(i));
        if (!old.get(i).equals(now.get(i))) {
          any = true;
          assertTrue(
              mayWrite(operation, key),
              () ->
                  "seed " + SEED + ": " + operation.text() + " has changed " + key + ", " + reply);
        }
      }
    }
    return any;
  }

  private static boolean mayWrite(Operation operation, Cell key) {
    return SPECIFICATION.touches(operation).stream()
        .anyMatch(
            touch ->
                touch.writes() && touch.effect() != Touch.Effect.NO && touch.cell().overlaps(key));
  }

  /** Adds what tells the content of all keys; answers where that is. */
  private static int looks(List<List<Bytes>> commands) {
    int first = commands.size() + 1;
    var digest = Oracle.words("DEBUG DIGEST-VALUE " + String.join(" ", KEYS));
    for (int database = 0; database < 2; database++) {
      commands.add(Oracle.words("SELECT " + database));
      commands.add(digest);
    }
    commands.add(Oracle.words("SELECT 0"));
    return first;
  }

  private static List<Bytes> digests(Bytes reply) {
    var all = new ArrayList<Bytes>();
    for (var digest : (List<?>) Resp.read(reply)) {
      all.add((Bytes) digest);
    }
    assertEquals(KEYS.size(), all.size());
    return all;
  }
}
