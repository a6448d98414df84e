package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every command that Redis knows is replied to through the shim as without it. */
@Timeout(120)
class EveryCommandTest {
  private static final Pattern NAME = Pattern.compile("\\$[0-9]+\r\n([a-z|_-]+)\r\n");

  /** What cannot be compared: it replies to nothing, ends all, or tells of the time or chance. */
  private static final Set<String> APART =
      Set.of("shutdown", "sync", "psync", "replconf", "failover", "monitor", "quit", "debug");

  private static final Set<String> OTHER_EACH_TIME =
      Set.of(
          "client|id",
          "client|info",
          "client|list",
          "time",
          "info",
          "lastsave",
          "lolwut",
          "acl|log",
          "acl|genpass",
          "memory|stats",
          "memory|doctor",
          "memory|malloc-stats",
          "latency|doctor",
          "bgsave",
          "bgrewriteaof",
          "save",
          "role",
          "slowlog|get",
          "slowlog|len",
          "hello",
          "command",
          "command|info",
          "command|docs",
          "command|list",
          "latency|histogram",
          "pfselftest",
          "script|debug",
          "function|stats",
          "cluster|myid",
          "client|kill");

  private static final List<List<String>> ARGUMENTS =
      List.of(List.of(), List.of("k"), List.of("k", "1"), List.of("k", "1", "2"));

  /** Their last argument is how many seconds they wait. */
  private static final Set<String> WAITING =
      Set.of("blpop", "brpop", "brpoplpush", "bzpopmin", "bzpopmax");

  private static List<String> names(RedisServer redis) {
    var names = new ArrayList<String>();
    var matcher = NAME.matcher(redis.ask("COMMAND", "LIST"));
    while (matcher.find()) {
      names.add(matcher.group(1));
    }
    return names;
  }

  private static String said(int port, String name) throws IOException {
    try (var client = Talk.to(port)) {
      for (var arguments : ARGUMENTS) {
        var words = new ArrayList<>(List.of(name.split("\\|", -1)));
        words.addAll(arguments);
        if (WAITING.contains(name) && arguments.size() > 1) {
          words.set(words.size() - 1, "0.01");
        }
        client.send(words.toArray(String[]::new));
      }
      client.send("ECHO", "after");
      client.send("QUIT");
      return client.readAll();
    }
  }

  @Test
  void isRepliedToInTheSameWay() throws IOException {
    try (var bare = RedisServer.start();
        var shimmed = Shimmed.start()) {
      var names = names(bare);
      assertTrue(names.size() > 300, "there were only " + names);
      names.removeIf(name -> APART.contains(name) || name.startsWith("module"));
      // A server that follows another one, or asks for another password, is of no use any more.
      names.removeAll(List.of("replicaof", "slaveof"));
      for (var name : names) {
        bare.ask("FLUSHALL");
        shimmed.redis.ask("FLUSHALL");
        var expected = said(bare.port, name);
        var actual = said(shimmed.port(), name);
        if (!OTHER_EACH_TIME.contains(name)) {
          assertEquals(expected, actual, name);
        } else {
          assertEquals(expected.isEmpty(), actual.isEmpty(), name);
        }
      }
    }
  }
}
