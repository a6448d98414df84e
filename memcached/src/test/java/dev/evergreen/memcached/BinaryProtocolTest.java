package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The binary protocol, against what memcached itself answers. */
@Timeout(120)
class BinaryProtocolTest {
  private static final int NOOP = 0x0a;
  private static final int LAST = 0x7a57;
  private static final int ROUNDS = Integer.getInteger("evergreen.memcached.rounds", 400);

  /** Extras of a set: client flags and expiry. */
  static String stored(int flags, int expiry) {
    return numbers(8).putInt(flags).putInt(expiry).text();
  }

  static String touched(int expiry) {
    return numbers(4).putInt(expiry).text();
  }

  static String added(long delta, long initial, int expiry) {
    return numbers(20).putLong(delta).putLong(initial).putInt(expiry).text();
  }

  /** Numbers as the bytes of a request, a character each. */
  private record Numbers(byte[] array, ByteBuffer bytes) {
    Numbers putInt(int number) {
      bytes.putInt(number);
      return this;
    }

    Numbers putLong(long number) {
      bytes.putLong(number);
      return this;
    }

    String text() {
      return new String(array, ISO_8859_1);
    }
  }

  private static Numbers numbers(int bytes) {
    var array = new byte[bytes];
    return new Numbers(array, ByteBuffer.wrap(array));
  }

  static String request(int opcode, String extras, String key, String value, long cas, int opaque) {
    int body = extras.length() + key.length() + value.length();
    return header(opcode, key.length(), extras.length(), body, cas, opaque) + extras + key + value;
  }

  static String request(int opcode, String extras, String key, String value) {
    return request(opcode, extras, key, value, 0, 7);
  }

  private static String header(int opcode, int key, int extras, int body, long cas, int opaque) {
    var header = ByteBuffer.allocate(24);
    header.put((byte) 0x80).put((byte) opcode).putShort((short) key).put((byte) extras);
    header.position(8).putInt(body).putInt(opaque).putLong(cas);
    return new String(header.array(), ISO_8859_1);
  }

  /** Sends requests and a last one; answers the responses before its own, in hexadecimal. */
  static List<String> exchange(Client client, String requests) throws IOException {
    client.send(requests + request(NOOP, "", "", "", 0, LAST));
    var responses = new ArrayList<String>();
    while (true) {
      var header = client.read(24);
      if (header.length() < 24) {
        responses.add("end");
        return responses;
      }
      var fields = ByteBuffer.wrap(header.getBytes(ISO_8859_1));
      if (fields.getInt(12) == LAST && fields.get(1) == NOOP) {
        return responses;
      }
      responses.add(hex(header + client.read(fields.getInt(8))));
    }
  }

  static String hex(String bytes) {
    return HexFormat.of().formatHex(bytes.getBytes(ISO_8859_1));
  }

  /** The first response that differs says more than all of them. */
  private static void assertSame(List<String> theirs, List<String> ours, String what) {
    for (int i = 0; i < Math.min(theirs.size(), ours.size()); i++) {
      assertEquals(theirs.get(i), ours.get(i), what + ", response " + i);
    }
    assertEquals(theirs, ours, what);
  }

  @Test
  void detailsAreCountedAndShown() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      var fixed =
          List.of(
              request(0x10, "", "detail on", ""),
              request(0x01, stored(5, 0), "a:1", "abc"),
              request(0x00, "", "a:1", ""),
              request(0x04, "", "a:1", ""),
              request(0x10, "", "detail dump", ""));
      var last = List.<String>of();
      for (var request : fixed) {
        last = exchange(client, request);
      }
      var dump = new String(HexFormat.of().parseHex(last.getFirst()), ISO_8859_1);
      assertTrue(dump.endsWith("detailedPREFIX a get 1 hit 1 set 1 del 1\r\nEND\r\n"), dump);
      assertEquals(2, last.size());
      for (var name : List.of("settings", "items", "slabs", "conns", "detail off")) {
        for (var response : exchange(client, request(0x10, "", name, ""))) {
          assertEquals("0000", response.substring(12, 16), name);
        }
      }
      var refused = exchange(client, request(0x10, "", "detail", "")).getFirst();
      assertEquals("0001", refused.substring(12, 16));
    }
  }

  /** Seen: what was longer than a buffer broke the connection. */
  @Test
  void manyDetailsAreShownWhole() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      exchange(client, request(0x10, "", "detail on", ""));
      for (int i = 0; i < 1000; i++) {
        exchange(client, request(0x09, "", "\u00e4".repeat(100) + i + ":k", ""));
      }
      var responses = exchange(client, request(0x10, "", "detail dump", ""));
      assertEquals(2, responses.size());
      var dump = new String(HexFormat.of().parseHex(responses.getFirst()), ISO_8859_1);
      assertTrue(dump.length() > 100_000 && dump.endsWith("\r\nEND\r\n"), dump);
      for (int i = 0; i < 1000; i++) {
        var line = "PREFIX " + "\u00e4".repeat(100) + i + " get 1 hit 0 set 0 del 0\r\n";
        assertTrue(dump.contains(line), line);
      }
    }
  }

  @Test
  void watchersSeeItsRequests() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect();
        var watcher = server.connect()) {
      assertEquals("OK", watcher.ask("watch fetchers mutations deletions"));
      exchange(client, request(0x00, "", "k", "") + request(0x02, stored(5, 0), "k", "abc"));
      exchange(client, request(0x0d, "", "k", "") + request(0x04, "", "k", ""));
      assertTrue(watcher.line().contains("type=item_get key=k status=not_found"));
      assertTrue(watcher.line().contains("type=item_get key=k status=not_found"));
      assertTrue(watcher.line().contains("type=item_store key=k status=stored cmd=add ttl=0"));
      assertTrue(watcher.line().contains("type=item_get key=k status=found"));
      assertTrue(watcher.line().contains("type=item_get key=k status=found"));
      assertTrue(watcher.line().contains("type=deleted key=k cmd=delete"));
    }
  }

  @Test
  void repliesAreMemcachedsOwn() throws Exception {
    var fixed =
        List.of(
            request(0x00, "", "a", ""),
            request(0x0c, "", "a", ""),
            request(0x09, "", "a", "") + request(0x0d, "", "a", ""),
            request(0x01, stored(5, 0), "a", "abc"),
            request(0x00, "", "a", "") + request(0x09, "", "a", ""),
            request(0x0c, "", "a", "") + request(0x0d, "", "a", ""),
            request(0x02, stored(5, 0), "a", "new"),
            request(0x03, stored(6, 0), "b", "new"),
            request(0x01, stored(5, 0), "a", "x", 99_999, 1),
            request(0x02, stored(5, 0), "c", "x", 99_999, 1),
            request(0x0e, "", "a", "de") + request(0x0f, "", "a", "01"),
            request(0x0e, "", "none", "de") + request(0x19, "", "none", "de"),
            request(0x00, "", "a", ""),
            request(0x05, added(5, 10, 0), "n", "") + request(0x05, added(5, 10, 0), "n", ""),
            request(0x06, added(100, 10, 0), "n", "") + request(0x00, "", "n", ""),
            request(0x05, added(1, 1, -1), "none", "") + request(0x15, added(1, 1, -1), "none", ""),
            request(0x05, added(1, 1, 0), "a", ""),
            request(0x1c, touched(100), "a", "") + request(0x1c, touched(100), "none", ""),
            request(0x1d, touched(0), "a", "") + request(0x23, touched(0), "a", ""),
            request(0x1d, touched(0), "none", "") + request(0x23, touched(0), "none", ""),
            request(0x1e, touched(0), "none", "") + request(0x24, touched(0), "none", ""),
            request(0x11, stored(1, 0), "q", "quiet") + request(0x00, "", "q", ""),
            request(0x12, stored(1, 0), "q", "quiet") + request(0x13, stored(1, 0), "r", "quiet"),
            request(0x14, "", "q", "") + request(0x14, "", "q", "") + request(0x04, "", "q", ""),
            request(0x04, "", "a", "", 99_999, 3) + request(0x04, "", "a", ""),
            request(0x01, stored(1, -1), "gone", "x") + request(0x00, "", "gone", ""),
            request(0x01, stored(1, 0), "large", "x".repeat(2 << 20))
                + request(0x00, "", "large", ""),
            request(0x01, stored(1, 0), "long", "y".repeat(300_000))
                + request(0x00, "", "long", ""),
            request(0x77, "", "", "") + request(0x77, "", "", "value"),
            request(0x20, "", "", "") + request(0x21, "", "PLAIN", "x"),
            request(NOOP, "", "", ""),
            request(0x10, "", "nothing", ""));
    var fatal =
        List.of(
            request(0x00, "", "", ""),
            request(0x00, "x", "key", ""),
            request(0x00, "", "key", "value"),
            request(0x01, "", "key", "value"),
            request(0x01, stored(1, 1), "", "value"),
            request(0x05, "", "key", ""),
            request(0x0a, "", "key", ""),
            request(0x0b, "", "key", ""),
            request(0x08, "", "key", ""),
            request(0x08, stored(1, 1), "", ""),
            request(0x07, "", "", ""),
            request(0x17, "", "", ""),
            request(0x07, "", "key", ""),
            request(0x00, "", "k".repeat(251), ""),
            request(0x01, stored(0, 0), "k".repeat(300), "x"),
            header(0x00, 10, 0, 5, 0, 3),
            "get a\r\n");
    try (var memcached = Reference.startIfInstalled();
        var server = TestServer.start(Mode.JDK)) {
      try (var theirs = memcached.connect();
          var ours = server.connect()) {
        for (var requests : fixed) {
          assertSame(exchange(theirs, requests), exchange(ours, requests), hex(requests));
        }
      }
      for (var requests : fatal) {
        try (var theirs = memcached.connect();
            var ours = server.connect()) {
          exchange(theirs, "");
          exchange(ours, "");
          assertSame(exchange(theirs, requests), exchange(ours, requests), hex(requests));
        }
      }
    }
  }

  /** Who may renew a stale item only a reader by mg learns, so nobody else may take that right. */
  @Test
  void nobodyTakesTheRightToRenewAStaleItem() throws Exception {
    try (var memcached = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var text = memcached.connect();
        var binary = memcached.connect();
        var ourText = server.connect();
        var ourBinary = server.connect()) {
      for (int opcode : List.of(0x00, 0x09, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x23, 0x24)) {
        var request = request(opcode, opcode < 0x10 ? "" : touched(100), "k", "");
        var expected = readStale(text, binary, request);
        assertTrue(expected.contains(" W"), expected);
        assertEquals(expected, readStale(ourText, ourBinary, request), request);
      }
    }
  }

  private static String readStale(Client text, Client binary, String request) throws Exception {
    text.exchange("set k 0 0 1\r\nv\r\nmd k I T100\r\n");
    exchange(binary, request);
    return text.exchange("mg k v\r\nmg k v\r\n");
  }

  /** Random requests on few keys, many in one piece, cut anywhere. */
  @ParameterizedTest
  @EnumSource
  void randomRequestsAreAnsweredAsMemcachedAnswers(Mode mode) throws Exception {
    long seed = Long.getLong("evergreen.memcached.seed", new Random().nextLong());
    System.out.println("binary requests: seed " + seed);
    var random = new Random(seed);
    try (var memcached = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var server = TestServer.start(mode);
        var theirs = memcached.connect();
        var ours = server.connect();
        var theirText = memcached.connect();
        var ourText = server.connect()) {
      var numbers = new ArrayList<Long>();
      for (int i = 0; i < ROUNDS; i++) {
        var stale = stale(random);
        assertEquals(theirText.exchange(stale), ourText.exchange(stale), "round " + i + stale);
        var requests = new StringBuilder(arithmetic(random, numbers));
        for (int n = 1 + random.nextInt(20); n > 0; n--) {
          requests.append(random(random, numbers));
        }
        var expected = exchange(theirs, requests.toString());
        int cut = random.nextInt(requests.length());
        ours.send(requests.substring(0, cut));
        assertSame(expected, exchange(ours, requests.substring(cut)), "round " + i);
        for (var response : expected) {
          numbers.add(Long.parseUnsignedLong(response.substring(32, 48), 16));
        }
        numbers.subList(0, Math.max(0, numbers.size() - 20)).clear();
      }
    }
  }

  /**
   * Comes first or not at all: a number that becomes shorter is padded with blanks, by memcached
   * only if nothing else refers to the item: no reply that it has not done with, and not its thread
   * that moves items between lists, which is why that is switched off.
   */
  private static String arithmetic(Random random, List<Long> numbers) {
    int opcode = List.of(0x05, 0x06, 0x15, 0x16).get(random.nextInt(4));
    var extras = added(random.nextInt(300), 7, expiry(random));
    return random.nextInt(3) == 0
        ? ""
        : request(opcode, extras, key(random), "", number(random, numbers), 1);
  }

  /** Makes an item stale, or has a reader win it, or nothing: only the text protocol can. */
  private static String stale(Random random) {
    var key = "key" + random.nextInt(5);
    return switch (random.nextInt(8)) {
      case 0 -> "md " + key + " I\r\n";
      case 1 -> "md " + key + " I T100\r\n";
      case 2 -> "ms " + key + " 5 I\r\nstale\r\n";
      case 3, 4 -> "mg " + key + " v h f\r\n";
      default -> "";
    };
  }

  private static int expiry(Random random) {
    return random.nextInt(6) == 0 ? -1 : 0;
  }

  /** One of the CAS numbers that were seen lately, or none. */
  private static long number(Random random, List<Long> numbers) {
    boolean compares = !numbers.isEmpty() && random.nextInt(4) == 0;
    return compares ? numbers.get(random.nextInt(numbers.size())) : 0;
  }

  private static String key(Random random) {
    return random.nextInt(5) == 0 ? "\0\r\n \u00ff" : "key" + random.nextInt(5);
  }

  /** A random request, but no arithmetic. */
  private static String random(Random random, List<Long> numbers) {
    var key = key(random);
    var value =
        switch (random.nextInt(40)) {
          case 0 -> "large".repeat(random.nextInt(12_000));
          case 1, 2 -> "";
          case 3, 4 -> List.of("+5", "-5", "-0", "5 x", "5\0x").get(random.nextInt(5));
          default ->
              random.nextBoolean()
                  ? Integer.toString(random.nextInt(1000))
                  : "v".repeat(random.nextInt(99));
        };
    long cas = number(random, numbers);
    int expiry = expiry(random);
    int opcode = random.nextInt(0x25);
    return switch (opcode) {
      case 0x01, 0x02, 0x03, 0x11, 0x12, 0x13 ->
          request(opcode, stored(random.nextInt(9), expiry), key, value, cas, random.nextInt());
      case 0x0e, 0x0f, 0x19, 0x1a -> request(opcode, "", key, value, cas, 2);
      case 0x1c, 0x1d, 0x1e, 0x23, 0x24 -> request(opcode, touched(expiry), key, "", 0, 3);
      case 0x04, 0x14 -> request(opcode, "", key, "", cas, 4);
      default -> request(new int[] {0x00, 0x09, 0x0c, 0x0d}[opcode % 4], "", key, "", 0, opcode);
    };
  }

  @ParameterizedTest
  @EnumSource
  void valuesOfAllLengthsArriveInPieces(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (int length = 0; length <= 1_000_000; length = length * 3 + 1) {
        var value = "0123456789abcdef".repeat(length / 16 + 1).substring(0, length);
        var set = request(0x01, stored(3, 0), "key", value);
        for (int at = 0; at < set.length(); at += 1 + set.length() / 3) {
          client.send(set.substring(at, Math.min(set.length(), at + 1 + set.length() / 3)));
        }
        var responses = exchange(client, request(0x00, "", "key", ""));
        assertEquals(2, responses.size());
        assertTrue(responses.get(1).endsWith(hex("\0\0\0\3" + value)));
      }
      assertEquals(0, server.server().store.stats().heldBytes());
    }
  }
}
