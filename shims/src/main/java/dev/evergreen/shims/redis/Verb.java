package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a command has to do with the connection that it comes by. */
enum Verb {
  /** Nothing: it is replied to once, by any connection alike. */
  SHARED,
  /** The same, but it may hold what is not to be recorded. */
  SECRET,
  /** The same, but it runs a script. */
  SCRIPT,
  /** It blocks, or nobody knows what it does with data: it is replied to once. */
  OWN,
  /** Nobody knows it: if Redis does, it may be any command by another name, such as SELECT. */
  STRANGE,
  /** It speaks of or to connections; the database is nothing to it. */
  CONNECTION,
  /** The same, and it holds back what others ask. */
  PAUSES,
  /** The same, and it ends that. */
  UNPAUSES,
  /** Another server's content may come in the place of this one's. */
  REPLACES,
  /** The connection is another one for ever afterwards, in a way that cannot be moved. */
  PINS,
  /** The same, and what comes then need not tell what it replies to. */
  DEBUGS,
  SELECT,
  AUTH,
  HELLO,
  SET_NAME,
  REPLY_ON,
  REPLY_OFF,
  REPLY_SKIP,
  TRACKING,
  MULTI,
  EXEC,
  DISCARD,
  WATCH,
  UNWATCH,
  SUBSCRIBE,
  UNSUBSCRIBE,
  MONITOR,
  QUIT,
  RESET,
  /** No command, which ends CLIENT REPLY SKIP nevertheless. */
  NOTHING,
  /** Bytes that are no request to the shim, and all that comes behind them. */
  UNREAD,
  /** From here on there are no requests and replies, but a stream between servers. */
  STREAM;

  private static final String SHARED_NAMES =
      """
      get mget getrange substr strlen lcs set setnx setex psetex getset getdel getex mset msetnx \
      append setrange incr decr incrby decrby incrbyfloat setbit getbit bitcount bitpos bitfield \
      bitfield_ro bitop hget hmget hset hmset hsetnx hdel hlen hstrlen hkeys hvals hgetall hexists \
      hincrby hincrbyfloat hrandfield hscan lpush rpush lpushx rpushx lpop rpop llen lindex lset \
      linsert lrange lrem ltrim lpos lmove rpoplpush lmpop sadd srem smembers sismember smismember \
      scard smove spop srandmember sinter sintercard sunion sdiff sinterstore sunionstore \
      sdiffstore sscan zadd zrem zcard zcount zlexcount zincrby zscore zmscore zrank zrevrank \
      zrange zrevrange zrangebyscore zrevrangebyscore zrangebylex zrevrangebylex zrangestore \
      zremrangebyrank zremrangebyscore zremrangebylex zpopmin zpopmax zmpop zrandmember zunion \
      zinter zdiff zintercard zunionstore zinterstore zdiffstore zscan geoadd geodist geohash \
      geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch \
      geosearchstore xadd xlen xrange xrevrange xdel xtrim xack xclaim xautoclaim xpending xgroup \
      xinfo xsetid pfadd pfcount pfmerge del unlink exists type rename renamenx copy move touch \
      object dump restore keys randomkey scan sort sort_ro expire pexpire expireat pexpireat \
      expiretime pexpiretime ttl pttl persist publish spublish pubsub flushall flushdb swapdb dbsize ping echo time info \
      memory latency slowlog lastsave save bgsave bgrewriteaof role lolwut cluster module\
      """;

  /** Of newer servers. They write nothing but keys that they name. */
  private static final Set<String> NEWER =
      Set.of(
          """
          hexpire hpexpire hexpireat hpexpireat hpersist httl hpttl hexpiretime hpexpiretime hgetex \
          hgetdel hsetex xdelex xackdel vadd vrem vsetattr vgetattr vcard vdim vemb vinfo vlinks \
          vrandmember vsim delifeq delex digest msetex\
          """
              .split(" "));

  /** Those that do one thing or another. */
  private static final Set<String> BY_ARGUMENTS =
      Set.of("client", "script", "function", "xread", "xreadgroup");

  private static final Table TABLE = new Table();

  static {
    putAll(SHARED, SHARED_NAMES);
    putAll(SECRET, "config acl migrate command");
    putAll(SCRIPT, "eval eval_ro evalsha evalsha_ro fcall fcall_ro");
    putAll(OWN, "blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop");
    putAll(OWN, "debug pfdebug pfselftest");
    putAll(PINS, "wait waitaof readonly readwrite asking restore-asking");
    putAll(STREAM, "sync psync replconf post host:");
    putAll(SUBSCRIBE, "subscribe psubscribe ssubscribe");
    putAll(UNSUBSCRIBE, "unsubscribe punsubscribe sunsubscribe");
    putAll(CONNECTION, "shutdown");
    putAll(REPLACES, "failover replicaof slaveof");
    for (var verb :
        new Verb[] {
          SELECT, AUTH, HELLO, MULTI, EXEC, DISCARD, WATCH, UNWATCH, MONITOR, QUIT, RESET
        }) {
      TABLE.put(verb.name().toLowerCase(Locale.ROOT), verb);
    }
  }

  private static void putAll(Verb verb, String names) {
    Pattern.compile("\\s+").splitAsStream(names).forEach(name -> TABLE.put(name, verb));
  }

  /** Whether the shim knows a command, by its name in small letters. */
  static boolean isKnown(String name) {
    var bytes = ByteBuffer.wrap(Inline.ascii(name));
    return BY_ARGUMENTS.contains(name) || TABLE.get(bytes, 0, bytes.capacity()) != null;
  }

  /**
   * Whether a command that the shim does not know is taken for one that only deals with keys that
   * it names: that of a module, which has a dot in its name, or of a newer server.
   */
  static boolean isOfData(String name) {
    return name.indexOf('.') >= 0 || NEWER.contains(name);
  }

  /** What a request does, whose arguments a scanner has just found. */
  static Verb of(RequestScanner request, ByteBuffer bytes) {
    if (!request.has(0)) {
      return OWN;
    }
    int from = request.began();
    var known = TABLE.get(bytes, from + request.starts[0], from + request.ends[0]);
    return known != null
        ? known.of(request.count)
        : byArguments(text(request, bytes, 0), request, bytes);
  }

  /** The same, if the first of these words is the command's own name; null if nobody knows that. */
  static Verb of(@Nullable List<byte[]> words, RequestScanner request, ByteBuffer bytes) {
    if (words == null) {
      return STRANGE;
    }
    var name = ByteBuffer.wrap(words.getFirst());
    var known = TABLE.get(name, 0, name.capacity());
    return known != null
        ? known.of(request.count)
        : byArguments(Names.small(words.getFirst()), request, bytes);
  }

  /** It, if it has so many words: Redis refuses it with others, though an EXEC as any EXEC. */
  private Verb of(int words) {
    int right =
        switch (this) {
          case SELECT -> 2;
          case MULTI, DISCARD, UNWATCH, MONITOR, RESET -> 1;
          default -> words;
        };
    return words == right ? this : OWN;
  }

  private static Verb byArguments(String name, RequestScanner request, ByteBuffer bytes) {
    return switch (name) {
      case "client" -> ofClient(request, bytes);
      case "script" ->
          switch (text(request, bytes, 1)) {
            case "kill" -> CONNECTION;
            case "debug" -> DEBUGS;
            default -> SHARED;
          };
      case "function" -> text(request, bytes, 1).equals("kill") ? CONNECTION : SHARED;
      case "xread", "xreadgroup" -> blocks(request, bytes) ? OWN : SHARED;
      default -> isOfData(name) ? OWN : STRANGE;
    };
  }

  /** Whether it is replied to once, by any connection alike. */
  boolean isShared() {
    return this == SHARED || this == SECRET;
  }

  /** Whether it leaves the connection as it is, whatever Redis makes of it. */
  boolean leavesConnection() {
    return isShared() || this == SCRIPT || this == OWN;
  }

  /**
   * Whether what its client asks behind it is the same request, whatever becomes of it, and waits
   * for nobody else's.
   */
  boolean leavesLaterOnes() {
    return switch (this) {
      case SHARED, SECRET, SCRIPT, SELECT, SET_NAME, CONNECTION, PAUSES, UNPAUSES -> true;
      case MULTI, EXEC, DISCARD, WATCH, UNWATCH -> true;
      default -> false;
    };
  }

  /** Whether it is replied to otherwise than once. */
  boolean isUneven() {
    return switch (this) {
      case REPLY_ON, REPLY_OFF, REPLY_SKIP, SUBSCRIBE, UNSUBSCRIBE -> true;
      default -> false;
    };
  }

  /** Whether it may lead its connection to another database. */
  boolean mayMove() {
    return this == SELECT || this == RESET || this == STRANGE;
  }

  /**
   * Whether it acts in a database, or keeps Redis from saying whether it has gone to one: what
   * comes behind that would be done in another.
   */
  boolean needsDatabase() {
    return switch (this) {
      case SHARED, SECRET, SCRIPT, OWN, STRANGE, MULTI, EXEC, WATCH, PINS, DEBUGS -> true;
      case REPLY_OFF, REPLY_SKIP, STREAM -> true;
      default -> false;
    };
  }

  /** Whether what comes after it has to wait until it is known what became of it. */
  boolean changes() {
    return switch (this) {
      case SELECT, AUTH, HELLO, RESET, STRANGE -> true;
      default -> false;
    };
  }

  private static Verb ofClient(RequestScanner request, ByteBuffer bytes) {
    int count = request.count;
    return switch (text(request, bytes, 1)) {
      case "setname" -> count == 3 ? SET_NAME : CONNECTION;
      case "setinfo" -> SHARED;
      case "reply" ->
          count != 3
              ? CONNECTION
              : switch (text(request, bytes, 2)) {
                case "on" -> REPLY_ON;
                case "off" -> REPLY_OFF;
                case "skip" -> REPLY_SKIP;
                default -> CONNECTION;
              };
      case "tracking" -> count > 2 ? TRACKING : CONNECTION;
      case "no-touch", "no-evict" -> PINS;
      case "pause" -> PAUSES;
      case "unpause" -> UNPAUSES;
      default -> CONNECTION;
    };
  }

  /** BLOCK comes before STREAMS; where that cannot be seen it may block. */
  private static boolean blocks(RequestScanner request, ByteBuffer bytes) {
    for (int i = 1; i < request.kept(); i++) {
      switch (text(request, bytes, i)) {
        case "block" -> {
          return true;
        }
        // A group and a consumer may be called anything, such as "streams".
        case "group" -> i += 2;
        case "streams" -> {
          return false;
        }
        default -> {}
      }
    }
    return request.count > request.kept();
  }

  /** An argument in small letters; empty if there is none, or it is too long to be of interest. */
  static String text(RequestScanner request, ByteBuffer bytes, int index) {
    return argument(request, bytes, index, 64).toLowerCase(Locale.ROOT);
  }

  /** An argument as it is, a character for each byte; empty if there is none or it is longer. */
  static String argument(RequestScanner request, ByteBuffer bytes, int index, int most) {
    if (!request.has(index)) {
      return "";
    }
    int from = request.began() + request.starts[index];
    int length = request.ends[index] - request.starts[index];
    if (length > most) {
      return "";
    }
    var text = new byte[length];
    bytes.get(from, text);
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** Verbs by name, looked up without making a string. */
  private static final class Table {
    private static final int SIZE = 1024;
    private static final byte[] NOBODY = {};
    private final byte[][] names = new byte[SIZE][];
    private final @Nullable Verb[] verbs = new Verb[SIZE];

    Table() {
      Arrays.fill(names, NOBODY);
    }

    void put(String name, Verb verb) {
      var bytes = name.getBytes(StandardCharsets.US_ASCII);
      int hash = 0;
      for (byte b : bytes) {
        hash = hash * 31 + b;
      }
      int i = spread(hash);
      while (names[i] != NOBODY) {
        i = (i + 1) % SIZE;
      }
      names[i] = bytes;
      verbs[i] = verb;
    }

    @Nullable Verb get(ByteBuffer bytes, int from, int to) {
      int hash = 0;
      for (int i = from; i < to; i++) {
        hash = hash * 31 + small(bytes.get(i));
      }
      for (int i = spread(hash); names[i] != NOBODY; i = (i + 1) % SIZE) {
        if (equal(names[i], bytes, from, to)) {
          return verbs[i];
        }
      }
      return null;
    }

    private static int spread(int hash) {
      return (hash ^ hash >>> 15) & (SIZE - 1);
    }

    private static boolean equal(byte[] name, ByteBuffer bytes, int from, int to) {
      if (name.length != to - from) {
        return false;
      }
      for (int i = 0; i < name.length; i++) {
        if (name[i] != small(bytes.get(from + i))) {
          return false;
        }
      }
      return true;
    }

    private static byte small(byte b) {
      return b >= 'A' && b <= 'Z' ? (byte) (b + 32) : b;
    }
  }
}
