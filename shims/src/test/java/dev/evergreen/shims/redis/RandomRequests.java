package dev.evergreen.shims.redis;

import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Random;

/** What a client may say, at random: much of it about its connection, some of it wrong. */
final class RandomRequests {
  /** Redis refuses them with as many words. */
  private static final List<String> ALONE =
      List.of("SELECT", "MULTI", "EXEC", "DISCARD", "UNWATCH", "RESET", "MONITOR");

  private final Random random;
  private final String prefix;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  RandomRequests(long seed, String prefix) {
    random = new Random(seed);
    this.prefix = prefix;
  }

  byte[] some(int count) {
    return some(count, 0);
  }

  /** Some, with so many echoes after each, of which no two are alike. */
  byte[] some(int count, int echoes) {
    out.reset();
    for (int i = 0; i < count; i++) {
      one();
      for (int j = 0; j < echoes; j++) {
        add("ECHO", prefix + i + "-" + j);
      }
      if (random.nextInt(12) == 0) {
        add("RESET");
      }
    }
    // Back to where replies come, one for each.
    add("EXEC");
    add("CLIENT", "REPLY", "ON");
    return out.toByteArray();
  }

  private String key() {
    return prefix + random.nextInt(4);
  }

  private String value() {
    return switch (random.nextInt(12)) {
      case 0 -> "";
      case 1 -> "x".repeat(random.nextInt(3000));
      case 2 -> "y".repeat(60_000 + random.nextInt(20_000));
      case 3 -> "a\r\nb\0c";
      default -> "" + random.nextInt(100);
    };
  }

  private void add(String... words) {
    out.writeBytes(Identity.request(words));
  }

  private void line(String text) {
    out.writeBytes(Inline.ascii(text));
  }

  private void one() {
    switch (random.nextInt(67)) {
      case 0, 1, 2, 3 -> add("SET", key(), value());
      case 4, 5, 6 -> add("get", key());
      case 7 -> add("INCR", key());
      case 8 -> add("RPUSH", prefix + "list", value(), value());
      case 9 -> add("LRANGE", prefix + "list", "0", "-1");
      case 10 -> add("HSET", prefix + "hash", "f" + random.nextInt(3), value());
      case 11 -> add("HGETALL", prefix + "hash");
      case 12 -> add("ZADD", prefix + "zset", "" + random.nextInt(9), "m" + random.nextInt(3));
      case 13 -> add("ZRANGE", prefix + "zset", "0", "-1", "WITHSCORES");
      case 14 -> add("SADD", prefix + "set", "" + random.nextInt(9));
      case 15 -> add("DEL", key(), prefix + "list");
      case 16 -> add("SELECT", "" + random.nextInt(4));
      case 17 -> add("SELECT", random.nextBoolean() ? "99" : "no");
      case 18, 19 -> add("MULTI");
      case 20, 21 -> add("EXEC");
      case 22 -> add("DISCARD");
      case 23 -> add("WATCH", key());
      case 24 -> add("UNWATCH");
      case 25 -> block();
      case 26 -> add("CLIENT", "SETNAME", "n" + random.nextInt(3));
      case 27 -> add("CLIENT", "GETNAME");
      case 28 -> add("CLIENT", "SETNAME", "not a name");
      case 29 -> add("HELLO", "" + (2 + random.nextInt(3)));
      case 30 -> add("HELLO", "3", "SETNAME", "h" + random.nextInt(3));
      case 31 -> add("RESET");
      case 32 -> add("CLIENT", "REPLY", random.nextBoolean() ? "OFF" : "SKIP");
      case 33 -> add("CLIENT", "REPLY", "ON");
      case 34 -> add("SUBSCRIBE", prefix + "a", prefix + "b");
      case 35 -> add("UNSUBSCRIBE");
      case 36 -> add("UNSUBSCRIBE", prefix + "a", prefix + "zz");
      case 37 -> add("PSUBSCRIBE", prefix + "*");
      case 38 -> add("PUNSUBSCRIBE");
      case 39 -> add("PUBLISH", prefix + "a", value());
      case 40 -> add("AUTH", "nobody", "wrong");
      case 41 -> add("GET");
      case 42 -> add("nonsense", value());
      case 43 -> add("BLPOP", prefix + "list", "0.001");
      case 44 -> add("BLPOP", prefix + "none", "0.001");
      case 45 -> add("XADD", prefix + "stream", "1-" + (1 + random.nextInt(30)), "f", value());
      case 46 -> add("XREAD", "COUNT", "2", "STREAMS", prefix + "stream", "0");
      case 47 -> add("XREAD", "BLOCK", "1", "STREAMS", prefix + "stream", "$");
      case 48 ->
          add("EVAL", "return {KEYS[1], ARGV[1], redis.call('GET', KEYS[1])}", "1", key(), "7");
      case 49 -> line("SET " + key() + " \"a\\x41 b\" \r\n");
      case 50 -> line("get " + key() + "\n");
      case 51 -> line("\r\n*0\r\n*-1\r\n  \r\n");
      case 52 -> line("echo 'it''s'\r\n".replace("''", "\\'"));
      case 53 -> add("SSUBSCRIBE", prefix + "s");
      case 54 -> add("SUNSUBSCRIBE");
      case 55 -> add("PING", value());
      case 56 -> add("EXPIRE", key(), "1000");
      case 57 -> add("OBJECT", "ENCODING", key());
      case 58 -> add("COPY", key(), key());
      case 59 -> oddBlock();
      case 60 -> line("*-" + (1 + random.nextInt(30)) + "\r\n");
      case 61 -> line("PING \t" + random.nextInt(9) + "\n");
      case 62 -> add("MONITORS");
      case 65 -> add("CLIENT", "UNPAUSE");
      case 63, 64 -> add(ALONE.get(random.nextInt(ALONE.size())), "x", "y");
      default -> add("CLIENT", "TRACKING", random.nextBoolean() ? "ON" : "OFF");
    }
  }

  /** A transaction that does more to the connection than its replies tell. */
  private void oddBlock() {
    add("MULTI");
    for (int i = random.nextInt(4); i >= 0; i--) {
      switch (random.nextInt(9)) {
        case 0 -> add("CLIENT", "REPLY", random.nextBoolean() ? "OFF" : "SKIP");
        case 1 -> add("CLIENT", "REPLY", "ON");
        case 2 -> add("SUBSCRIBE", prefix + "a", prefix + "b");
        case 3 -> add("UNSUBSCRIBE");
        case 4 -> add("SELECT", "" + random.nextInt(4));
        case 5 -> add("SELECT", "no");
        case 6 -> add("HELLO", "" + (2 + random.nextInt(2)));
        case 7 -> add("CLIENT", "SETNAME", "q" + random.nextInt(3));
        default -> add("SET", key(), value());
      }
    }
    add(random.nextInt(5) == 0 ? "DISCARD" : "EXEC");
  }

  private void block() {
    add("MULTI");
    for (int i = random.nextInt(4); i >= 0; i--) {
      add("SET", key(), value());
      add("GET", key());
    }
    add("EXEC");
  }
}
