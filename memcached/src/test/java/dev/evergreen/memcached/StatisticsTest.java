package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is counted, beside what Debian's memcached counts for the same commands. */
@Timeout(60)
class StatisticsTest {
  private static final List<String> NAMES =
      List.of(
          "cmd_get",
          "cmd_set",
          "cmd_flush",
          "cmd_touch",
          "cmd_meta",
          "get_hits",
          "get_misses",
          "get_expired",
          "get_flushed",
          "delete_misses",
          "delete_hits",
          "incr_misses",
          "incr_hits",
          "decr_misses",
          "decr_hits",
          "cas_misses",
          "cas_hits",
          "cas_badval",
          "touch_hits",
          "touch_misses",
          "store_too_large",
          "store_no_memory",
          "curr_items",
          "total_items");

  private static final String SET_A = "set a 0 0 1\r\n5\r\n";

  private static List<List<String>> commands() {
    return List.of(
        List.of("set a 0 0 1", "5", "set a 0 0 1", "6"),
        List.of("set a 0 0 1", "too long", "set a 0 0 1 noreply", "x"),
        List.of("set a 0 -1 1", "x", "get a"),
        List.of("add a 0 0 1", "x", "add none 0 0 1", "x"),
        List.of("replace a 0 0 1", "x", "replace none 0 0 1", "x"),
        List.of("append a 0 0 1", "x", "prepend none 0 0 1", "x"),
        List.of("cas a 0 0 1 <cas>", "x", "cas a 0 0 1 <cas>", "x", "cas none 0 0 1 1", "x"),
        List.of("cas none 0 0 1 1", "x"),
        List.of("set a 0 0 2000000", "x".repeat(2_000_000)),
        List.of("cas a 0 0 2000000 <cas>", "x".repeat(2_000_000)),
        List.of("ms a 2000000 C<cas>", "x".repeat(2_000_000)),
        List.of("get a", "get none", "gets a none"),
        List.of("gat 0 a", "gats 100 none"),
        List.of("touch a 100", "touch none 0", "touch none 0"),
        List.of("delete a", "delete none", "delete none"),
        List.of("incr a 1", "decr a 1"),
        List.of("incr a 1", "incr none 1", "incr none 1"),
        List.of("decr a 1", "decr none 1", "decr none 1"),
        List.of("append a 0 0 1", "x", "incr a 1", "decr a 1"),
        List.of("mg a", "mg a v", "mg none", "mg none q"),
        List.of("mg a T100", "mg none T100", "mg none N100", "mg a R1000"),
        List.of("ms a 1 C<cas>", "x", "ms a 1 C<cas>", "x", "ms none 1 C1", "x"),
        List.of("ms a 1 C<cas> MA", "x", "ms a 1 C<cas> MA", "x", "ms none 1 C1 MA", "x"),
        List.of("ms a 1 C<cas> ME", "x", "ms none 1 C1 ME", "x", "ms a 1 C1 I", "x"),
        List.of("ms a 1 C<cas> MR", "x", "ms a 1 C1 MR", "x", "ms none 1 C1 MR", "x"),
        List.of("ms a 1", "too long", "ms none 1 MA", "x", "ms none 1 ME", "x"),
        List.of("md a", "md none", "md a I"),
        List.of("md a I", "mg a", "mg a"),
        List.of("md a C1", "md a C<cas>", "md none C1"),
        List.of("ma a", "ma a MD", "ma none", "ma none MD"),
        List.of("ma none N0", "ma none MD", "ma a C999999"),
        List.of("me a", "me none", "mn"),
        List.of("flush_all", "get a"));
  }

  @Test
  void commandsAreCountedAsByMemcached() throws Exception {
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect()) {
      assertAll(commands().stream().map(some -> () -> compare(some, theirs, ours)));
    }
  }

  private static void compare(List<String> commands, Client theirs, Client ours)
      throws IOException {
    var text = String.join("\r\n", commands) + "\r\n";
    assertEquals(counted(theirs, text), counted(ours, text), commands.getFirst());
  }

  /** By how much which numbers grow. */
  private static Map<String, Long> counted(Client client, String commands) throws IOException {
    client.exchange("delete a\r\ndelete none\r\n" + SET_A);
    var shown = client.exchange("gets a\r\n");
    var cas = shown.substring("VALUE a 0 1 ".length(), shown.indexOf("\r\n"));
    var before = numbers(client);
    client.exchange(commands.replace("<cas>", cas));
    var after = numbers(client);
    after.replaceAll((name, number) -> number - before.getOrDefault(name, 0L));
    after.values().removeIf(number -> number == 0);
    return after;
  }

  private static Map<String, Long> numbers(Client client) throws IOException {
    var numbers = new TreeMap<String, Long>();
    for (var line : client.exchange("stats\r\n").lines().toList()) {
      var words = line.split(" ", 3);
      if (words.length == 3 && NAMES.contains(words[1])) {
        numbers.put(words[1], Long.parseLong(words[2]));
      }
    }
    assertEquals(NAMES.size(), numbers.size());
    return numbers;
  }
}
