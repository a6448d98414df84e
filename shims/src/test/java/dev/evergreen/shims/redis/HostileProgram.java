package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * What several clients do at once, at random and on few keys: commands of all families, in
 * transactions and out of them, with deadlines that pass meanwhile, without replies, in several
 * databases, and with connections that end in the middle. Much of it may be refused: for the rights
 * of a user, for want of memory, by a busy script, or for its words; and some of it is no request
 * to anybody but Redis.
 */
final class HostileProgram {
  /** What no family of histories has, or what depends on the connection and on the time. */
  private static final List<String> MORE =
      List.of(
          "SET {k} {v} PX 3",
          "SET {k} {v} PX 30",
          "PEXPIRE {k} 5",
          "PEXPIRE {k} 40 GT",
          "PEXPIRE {k} 20 LT",
          "PSETEX {k} 8 {v}",
          "GETEX {k} PX 10",
          "GETEX {k} PERSIST",
          "PERSIST {k}",
          "SET {k} {v} KEEPTTL",
          "PTTL {k}",
          "OBJECT ENCODING {k}",
          "OBJECT FREQ {k}",
          "BLPOP a b 0.01",
          "BRPOPLPUSH {k} {k} 0.01",
          "BLMOVE a b LEFT RIGHT 0.01",
          "BLMPOP 0.01 2 a b LEFT",
          "BZPOPMIN a b 0.01",
          "BZMPOP 0.01 2 a b MAX",
          "XREAD BLOCK 5 STREAMS {k} $",
          "XREADGROUP GROUP g c BLOCK 5 STREAMS {k} >",
          "SELECT {n}",
          "SELECT 0",
          "SELECT 1",
          "SWAPDB 0 1",
          "MOVE {k} 1",
          "FLUSHDB",
          "FLUSHALL ASYNC",
          "EVAL return(redis.call('incr',KEYS[1])) 1 {k}",
          "EVAL return(redis.call('set',KEYS[1],ARGV[1],'PX','9')) 1 {k} {v}",
          "EVAL_RO return(redis.call('get',KEYS[1])) 1 {k}",
          "COPY {k} {k} DB 1",
          "DEBUG SLEEP 0.004",
          "WAIT 0 0",
          "CLIENT SETNAME n",
          "RESTORE {k} 0 @dump REPLACE",
          "RESTORE {k} 7 @dump",
          "SUBSTR {k} 0 0",
          "TOUCH {k}",
          "EXPIRETIME {k}",
          "RANDOMKEY",
          "PUBLISH c m");

  /** What Redis may refuse, or what makes it refuse other things. */
  private static final List<String> TROUBLE =
      List.of(
          "SELECT 9",
          "SELECT 1 x",
          "SELECT 1",
          "SELECT 0",
          "MULTI",
          "MULTI x",
          "EXEC",
          "EXEC x",
          "DISCARD",
          "DISCARD x",
          "UNWATCH x",
          "WATCH {k}",
          "RESET",
          "RESET x",
          "AUTH bob x",
          "AUTH default x",
          "AUTH nobody x",
          "HELLO 3",
          "HELLO 3 AUTH nobody x",
          "HELLO 2 AUTH bob x",
          "CLIENT REPLY ON",
          "CLIENT REPLY OFF",
          "CLIENT REPLY SKIP",
          "SWAPDB 0 1",
          "CONFIG SET maxmemory 1",
          "CONFIG SET maxmemory 0",
          "EVAL for\ti=1,300000\tdo\tend 0",
          "SET {k} {v}",
          "SET {k} {v}",
          "SET {k} {v}",
          "GET {k}",
          "RPUSH {k} {v}");

  /** A user who may not do all of it; who is as whom else nobody asks for a password. */
  static final List<String> BOB =
      List.of(
          "ACL SETUSER bob on nopass ~* &* +@all -select",
          "ACL SETUSER bob on nopass ~* &* +@all -set -rpush",
          "ACL SETUSER bob on nopass ~* &* +@all -multi",
          "ACL SETUSER bob on nopass ~* &* +@all -client|reply",
          "ACL SETUSER bob on nopass ~a &* +@all");

  /** What a string is to RESTORE; of a version that the server takes. */
  private final byte[] dump;

  private final Random random;

  HostileProgram(Random random, byte[] dump) {
    this.random = random;
    this.dump = dump;
  }

  /** What a client does, a piece after the other; some pieces are followed by a look at replies. */
  List<byte[]> pieces() {
    var pieces = new ArrayList<byte[]>();
    int count = 2 + random.nextInt(8);
    for (int i = 0; i < count; i++) {
      pieces.add(piece());
    }
    return pieces;
  }

  private byte[] piece() {
    var out = new ByteArrayOutputStream();
    switch (random.nextInt(20)) {
      case 0 -> {
        out.writeBytes(request("MULTI"));
        commands(out, 1 + random.nextInt(4));
        out.writeBytes(request(random.nextInt(6) == 0 ? "DISCARD" : "EXEC"));
      }
      case 1 -> {
        out.writeBytes(request("WATCH " + Histories.filled(random, "{k}")));
        out.writeBytes(request("MULTI"));
        commands(out, 1 + random.nextInt(2));
        out.writeBytes(request("EXEC"));
      }
      case 2 -> {
        out.writeBytes(request("CLIENT REPLY SKIP"));
        commands(out, 1);
      }
      case 3 -> {
        out.writeBytes(request("CLIENT REPLY OFF"));
        commands(out, 1 + random.nextInt(3));
        if (random.nextInt(4) > 0) {
          out.writeBytes(request("CLIENT REPLY ON"));
        }
      }
      case 4 -> out.writeBytes(request("HELLO " + (2 + random.nextInt(2))));
      case 5, 6, 7 -> trouble(out, 1 + random.nextInt(5));
      case 8 -> {
        out.writeBytes(request("CLIENT REPLY " + (random.nextBoolean() ? "OFF" : "SKIP")));
        trouble(out, 1 + random.nextInt(4));
        out.writeBytes(request("CLIENT REPLY ON"));
      }
      case 9 -> {
        if (random.nextInt(4) == 0) {
          out.writeBytes(odd(request(Histories.filled(random, "SET {k} {v}"))));
        }
      }
      default -> commands(out, 1 + random.nextInt(4));
    }
    return out.toByteArray();
  }

  private void commands(ByteArrayOutputStream out, int count) {
    for (int i = 0; i < count; i++) {
      out.writeBytes(request(command()));
    }
  }

  private void trouble(ByteArrayOutputStream out, int count) {
    for (int i = 0; i < count; i++) {
      out.writeBytes(request(Histories.filled(random, Histories.pick(random, TROUBLE))));
    }
  }

  /** The same to Redis, which does not look at what ends a line. */
  private static byte[] odd(byte[] request) {
    for (int i = 0; i < request.length; i++) {
      request[i] = request[i] == '\n' ? (byte) 'X' : request[i];
    }
    return request;
  }

  private String command() {
    var template =
        switch (random.nextInt(5)) {
          case 0, 1 -> Histories.pick(random, MORE);
          case 2 -> Histories.pick(random, Histories.pick(random, Histories.ALL).questions());
          default -> Histories.pick(random, Histories.pick(random, Histories.ALL).steps());
        };
    return Histories.filled(random, template);
  }

  /** Words, of which one may stand for what DUMP has given. */
  private byte[] request(String command) {
    return Resp.write(
        Stream.of(command.split(" ", -1))
            .map(word -> word.equals("@dump") ? Bytes.of(dump) : Bytes.of(word.replace('\t', ' ')))
            .toList());
  }

  /** So much that a small spool has no room for all of it. */
  byte[] flood() {
    var out = new ByteArrayOutputStream();
    for (int i = 0; i < 1_200; i++) {
      out.writeBytes(request("SET filler " + "v".repeat(1_000)));
      if (random.nextInt(100) == 0) {
        commands(out, 1);
      }
    }
    return out.toByteArray();
  }

  /** Lets a client do that; it may leave before it has heard all. */
  void run(int port, List<byte[]> pieces, boolean leaves) throws IOException, InterruptedException {
    try (var talk = Talk.to(port)) {
      for (var piece : pieces) {
        talk.send(piece);
        if (random.nextInt(3) == 0) {
          Thread.sleep(random.nextInt(4));
        }
      }
      if (!leaves) {
        talk.socket.shutdownOutput();
        talk.rest();
      }
    }
  }
}
