package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.added;
import static dev.evergreen.memcached.BinaryProtocolTest.stored;
import static dev.evergreen.memcached.BinaryProtocolTest.touched;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.util.ArrayList;
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

  /**
   * All kinds of binary requests: quiet and loud, that hit and miss, with CAS numbers and without.
   */
  private static List<BinaryRequest> binaryRequests() {
    var requests = new ArrayList<BinaryRequest>();
    for (var key : List.of("a", "none")) {
      for (int opcode : new int[] {0x00, 0x09, 0x0c, 0x0d}) {
        requests.add(new BinaryRequest(opcode, "", key, "", 0));
      }
      for (int opcode : new int[] {0x1c, 0x1d, 0x1e, 0x23, 0x24}) {
        requests.add(new BinaryRequest(opcode, touched(100), key, "", 0));
      }
      for (long cas : new long[] {0, 1, BinaryRequest.OF_A}) {
        for (int opcode : new int[] {0x01, 0x11, 0x02, 0x12, 0x03, 0x13}) {
          requests.add(new BinaryRequest(opcode, stored(0, 0), key, "7", cas));
          requests.add(new BinaryRequest(opcode, stored(0, 0), key, "x".repeat(2_000_000), cas));
        }
        for (int opcode : new int[] {0x0e, 0x19, 0x0f, 0x1a}) {
          requests.add(new BinaryRequest(opcode, "", key, "7", cas));
        }
        for (int opcode : new int[] {0x04, 0x14}) {
          requests.add(new BinaryRequest(opcode, "", key, "", cas));
        }
        for (int opcode : new int[] {0x05, 0x15, 0x06, 0x16}) {
          requests.add(new BinaryRequest(opcode, added(1, 1, 0), key, "", cas));
          requests.add(new BinaryRequest(opcode, added(1, 1, -1), key, "", cas));
        }
      }
    }
    for (int opcode : new int[] {0x0b, 0x30, 0x08, 0x18}) {
      requests.add(new BinaryRequest(opcode, "", "", "", 0));
    }
    return requests;
  }

  /** A request, whose CAS number may be that of an item. */
  private record BinaryRequest(int opcode, String extras, String key, String value, long cas) {
    static final long OF_A = -1;

    String bytes(long casOfA) {
      long number = cas == OF_A ? casOfA : cas;
      return BinaryProtocolTest.request(opcode, extras, key, value, number, 7);
    }

    boolean flushes() {
      return opcode == 0x08 || opcode == 0x18;
    }

    String name() {
      return "0x%02x %s, %d bytes, CAS %d"
          .formatted(opcode, extras.length() + key, value.length(), cas);
    }
  }

  @Test
  void binaryRequestsAreCountedAsByMemcached() throws Exception {
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect();
        var theirBinary = reference.connect();
        var ourBinary = server.connect()) {
      assertAll(
          binaryRequests().stream()
              .map(
                  request ->
                      () ->
                          assertEquals(
                              counted(theirs, theirBinary, request),
                              counted(ours, ourBinary, request),
                              request.name())));
    }
  }

  private static Map<String, Long> counted(Client text, Client binary, BinaryRequest request)
      throws IOException {
    var counted =
        counted(
            text,
            cas -> {
              var bytes = request.bytes(Long.parseLong(cas));
              BinaryProtocolTest.exchange(binary, bytes + bytes);
            });
    if (request.flushes()) {
      // By the second in which it comes, memcached takes items out at once or when they are asked
      // for.
      counted.remove("curr_items");
    }
    return counted;
  }

  private static void compare(List<String> commands, Client theirs, Client ours)
      throws IOException {
    var text = String.join("\r\n", commands) + "\r\n";
    assertEquals(counted(theirs, text), counted(ours, text), commands.getFirst());
  }

  /** By how much which numbers grow. */
  private static Map<String, Long> counted(Client client, String commands) throws IOException {
    return counted(client, cas -> client.exchange(commands.replace("<cas>", cas)));
  }

  /** What is done to a server whose item has a CAS number. */
  private interface Deed {
    void with(String cas) throws IOException;
  }

  private static Map<String, Long> counted(Client client, Deed deed) throws IOException {
    client.exchange("delete a\r\ndelete none\r\n" + SET_A);
    var shown = client.exchange("gets a\r\n");
    var cas = shown.substring("VALUE a 0 1 ".length(), shown.indexOf("\r\n"));
    var before = numbers(client);
    deed.with(cas);
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
