package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.added;
import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What lists, descriptions, watchers and counts show of items and of what is done to them. */
@Timeout(60)
class WhatIsShownTest {
  /** A clock that is shown goes on meanwhile; what is no time at all is farther away. */
  private static final long NEAR = 30;

  private static String value(String line, String name) {
    var found = Pattern.compile("(?:^| )" + name + "=(\\S+)").matcher(line);
    assertTrue(found.find(), name + " in " + line);
    return found.group(1);
  }

  private static String lines(String... lines) {
    return String.join("\r\n", lines) + "\r\n";
  }

  private static void assertNear(long expected, String shown) {
    assertTrue(Math.abs(Long.parseLong(shown) - expected) < NEAR, shown + " is not " + expected);
  }

  /** Of so many seconds, all but a few that have passed. */
  private static void assertLeft(long seconds, String shown) {
    long left = Long.parseLong(shown);
    assertTrue(left <= seconds && left > seconds - NEAR, shown + " of " + seconds);
  }

  private static long now() {
    return System.currentTimeMillis() / 1000;
  }

  /** The lines of a dump by what they are about. */
  private static Map<String, String> dump(Client client, String command) throws IOException {
    var lines = new HashMap<String, String>();
    for (var line : client.exchange(command + "\r\n").lines().toList()) {
      var words = line.split(" ", -1);
      lines.put(words[0].equals("ITEM") ? words[1] : words[0], line);
    }
    return lines;
  }

  private static Map<String, String> stats(Client client, String kind) throws IOException {
    var stats = new HashMap<String, String>();
    for (var line : client.exchange("stats" + kind + "\r\n").lines().toList()) {
      var words = line.split(" ", 3);
      if (words.length == 3) {
        stats.put(words[1], words[2]);
      }
    }
    return stats;
  }

  private static TestServer withItems() throws IOException {
    var server = TestServer.start(Mode.PROCESSORS);
    try (var client = server.connect()) {
      client.exchange(
          lines(
              "set plain 0 0 3",
              "abc",
              "set timed 5 1000 4",
              "abcd",
              "get timed",
              "ms chosen 1 E18446744073709551615",
              "x",
              "set \u00e4 0 0 1",
              "x",
              "set gone 0 -1 1",
              "x"));
    }
    return server;
  }

  /** Those of watchers end with a line feed alone. */
  private static String event(InputStream in) throws IOException {
    var line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      assertTrue(c >= 0, "the end after " + line);
      line.append((char) c);
    }
    return line.toString();
  }

  private static String event(Client watcher) throws IOException {
    return event(watcher.socket.getInputStream());
  }

  @Test
  void aListHasForEachItemWhatIsKnownOfIt() throws IOException {
    try (var server = withItems();
        var client = server.connect()) {
      var lines = dump(client, "lru_crawler metadump all");
      var plain = lines.getOrDefault("key=plain", "");
      assertEquals("-1", value(plain, "exp"));
      assertNear(now(), value(plain, "la"));
      assertEquals("1", value(plain, "cas"));
      assertEquals("no", value(plain, "fetch"));
      assertEquals("1", value(plain, "cls"));
      var timed = lines.getOrDefault("key=timed", "");
      assertNear(now() + 1000, value(timed, "exp"));
      assertEquals("yes", value(timed, "fetch"));
      assertEquals("18446744073709551615", value(lines.getOrDefault("key=chosen", ""), "cas"));
      var names = new TreeSet<>(List.of("key=plain", "key=timed", "key=chosen", "key=%E4", "END"));
      assertEquals(names, new TreeSet<>(lines.keySet()), "and nothing that is over");
      client.exchange("flush_all\r\n");
      assertEquals("END\r\n", client.exchange("lru_crawler metadump all\r\n"));
    }
  }

  /** All are of one. */
  @Test
  void aListOfOtherClassesIsEmpty() throws IOException {
    try (var server = withItems();
        var client = server.connect()) {
      assertEquals(5, dump(client, "lru_crawler metadump 2,1").size());
      assertEquals("END\r\n", client.exchange("lru_crawler metadump 2\r\n"));
      assertEquals("EN\r\n", client.exchange("lru_crawler mgdump 2,3\r\n"));
      assertEquals("END\r\n", client.exchange("stats cachedump 2 0\r\n"));
      assertEquals("END\r\n", client.exchange("stats cachedump 0 0\r\n"));
    }
  }

  @Test
  void aListOfAClassHasLengthsAndTimes() throws IOException {
    try (var server = withItems();
        var client = server.connect()) {
      var lines = dump(client, "stats cachedump 1 0");
      assertEquals(5, lines.size(), "without a limit all, and the end");
      assertEquals("ITEM plain [3 b; 0 s]", lines.getOrDefault("plain", ""));
      var timed = lines.getOrDefault("timed", "");
      assertTrue(timed.matches("ITEM timed \\[4 b; \\d+ s]"), timed);
      assertNear(now() + 1000, timed.replaceAll(".*; | s]", ""));
      assertEquals(2, dump(client, "stats cachedump 1 1").size());
    }
  }

  @Test
  void anItemIsDescribedAndNotReadByThat() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      int before = server.server().clock.second();
      client.exchange("set k 0 1000 3\r\nabc\r\n");
      var line = client.ask("me k");
      assertLeft(1000, value(line, "exp"));
      int passed = server.server().clock.second() - before;
      assertTrue(Long.parseLong(value(line, "la")) <= passed, line);
      assertEquals("1", value(line, "cas"));
      assertEquals("no", value(line, "fetch"));
      assertEquals("HD h0", client.ask("mg k h"));
      assertEquals("yes", value(client.ask("me k"), "fetch"));
      client.exchange("md k I\r\nme k\r\n");
      assertEquals("HD X W", client.ask("mg k"), "nobody has won by the description");
    }
  }

  /** As it was stored, however it is asked for. */
  @Test
  void anItemIsDescribedWithItsKeyAsItWasStored() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      client.exchange("ms YQ== 1 b\r\nx\r\nset b 0 0 1\r\nx\r\n");
      for (var request : List.of("me a", "me YQ== b", "me a more")) {
        assertTrue(client.ask(request).startsWith("ME YQ== exp="), request);
      }
      for (var request : List.of("me b", "me Yg== b")) {
        assertTrue(client.ask(request).startsWith("ME b exp="), request);
      }
    }
  }

  @Test
  void whatIsStoredIsWatchedWithTheTimeThatItHas() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch mutations"));
      client.exchange("set k 0 1000 3\r\nabc\r\nset k 0 0 2\r\nab\r\nadd k 0 5 1\r\nx\r\n");
      var timed = event(watcher);
      assertLeft(1000, value(timed, "ttl"));
      assertEquals("3", value(timed, "size"));
      var plain = event(watcher);
      assertEquals("0", value(plain, "ttl"));
      assertEquals("2", value(plain, "size"));
      var refused = event(watcher);
      assertEquals("not_stored", value(refused, "status"));
      assertEquals("add", value(refused, "cmd"));
    }
  }

  /** With the numbers that any two servers need not share left out. */
  private static String withoutNumbers(String event) {
    return event.replaceAll("(ts|gid|clsid|cfd)=\\S+", "$1=");
  }

  /** memcached's line for a value that it refuses at once has two words that it did not set. */
  private static String refusal(String event) {
    return event.contains("too_large") ? event.replaceAll("ttl=\\S+", "ttl=") : event;
  }

  @Test
  void whatIsDoneWithValuesIsWatchedAsInMemcached() throws Exception {
    var commands =
        lines(
            "set k 0 0 3",
            "abc",
            "add k 0 0 4",
            "abcd",
            "replace k 0 0 2",
            "xy",
            "append k 0 0 1",
            "z",
            "prepend none 0 0 1",
            "z",
            "cas none 0 0 1 5",
            "x",
            "cas k 0 0 2 999999",
            "xy",
            "ms k 1",
            "x",
            "ms k 2 C999999",
            "xy",
            "ms none 1 C5",
            "x",
            "ms k 1 ME",
            "x",
            "ms k 1 MA",
            "y",
            "ms k 1 MP",
            "y",
            "ms k 1 MR",
            "x",
            "ms k 1 MR C999999",
            "x",
            "ms k 1 MS q",
            "x",
            "set k 0 0 1048577 noreply",
            "x".repeat(1_048_577),
            "cas k 0 0 1048577 5",
            "x".repeat(1_048_577),
            "incr k 1",
            "touch k 0",
            "md k I");
    assertWatchedAsInMemcached("watch mutations", commands + "set last 0 0 1\r\nx\r\n");
  }

  private static void assertWatchedAsInMemcached(String watch, String commands) throws Exception {
    var told = new ArrayList<String>();
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS)) {
      for (int port : new int[] {reference.port(), server.port()}) {
        try (var watcher = new Client(port);
            var client = new Client(port)) {
          assertEquals("OK", watcher.ask(watch));
          client.exchange(commands);
          var lines = new ArrayList<String>();
          do {
            lines.add(refusal(withoutNumbers(event(watcher))));
          } while (!lines.getLast().contains("key=last"));
          told.add(String.join("\n", lines));
        }
      }
    }
    assertEquals(told.getFirst(), told.getLast());
  }

  /** Of an item that is changed, too: memcached looks for it first. */
  @Test
  void whatIsFetchedIsWatchedAsInMemcached() throws Exception {
    assertWatchedAsInMemcached(
        "watch fetchers mutations",
        lines(
            "get k",
            "set k 0 0 3",
            "abc",
            "set k 0 0 1",
            "5",
            "add k 0 0 1",
            "x",
            "get k k none",
            "gat 0 k",
            "touch k 0",
            "touch none 0",
            "incr k 1",
            "decr none 1",
            "append k 0 0 1",
            "7",
            "cas k 0 0 1 999999",
            "y",
            "ms k 2",
            "12",
            "mg k v",
            "mg none",
            "mg made N0",
            "ma k",
            "ma none",
            "me k",
            "md k I",
            "delete k",
            "delete k",
            "md k",
            "get last"));
  }

  /** By memcached's words, and by the number that it has in other lists. */
  @Test
  void connectionsAreWatchedFromTheirBeginToTheirEnd() throws Exception {
    assertEnds("normal", "");
    assertEnds("normal", "get k\r\nquit\r\n");
    assertEnds("normal", "set k 0 0 5\r\nab");
    assertEnds("error", "GET / HTTP/1.1\r\n");
    assertEnds("error", (char) 0x80 + " no request of the binary protocol");
  }

  private static void assertEnds(String reason, String said) throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var watcher = server.connect()) {
      assertEquals("OK", watcher.ask("watch connevents"));
      try (var client = server.connect()) {
        var begun = event(watcher);
        assertEquals("conn_new", value(begun, "type"));
        client.send(said);
        client.socket.shutdownOutput();
        client.rest();
        var ended = event(watcher);
        assertEquals("conn_close", value(ended, "type"));
        assertEquals(reason, value(ended, "reason"), said);
        for (var line : List.of(begun, ended)) {
          assertEquals("127.0.0.1", value(line, "rip"));
          assertEquals("" + client.socket.getLocalPort(), value(line, "rport"));
          assertEquals("tcp", value(line, "transport"));
          assertEquals("3", value(line, "cfd"));
        }
      }
    }
  }

  @Test
  void aConnectionOfAUnixSocketIsWatched() throws Exception {
    var folder = Files.createTempDirectory("socket");
    var path = folder.resolve("s");
    var settings = TestServer.settings(Mode.PROCESSORS).withUnixSocket(path, 0700);
    try (var _ = TestServer.start(settings);
        var watcher = SocketChannel.open(UnixDomainSocketAddress.of(path))) {
      watcher.write(ByteBuffer.wrap("watch connevents\r\n".getBytes(US_ASCII)));
      var in = Channels.newInputStream(watcher);
      assertEquals("OK\r", event(in));
      SocketChannel.open(UnixDomainSocketAddress.of(path)).close();
      var begun = event(in);
      assertEquals("unix", value(begun, "rip"));
      assertEquals("0", value(begun, "rport"));
      assertEquals("local", value(begun, "transport"));
      assertEquals("conn_close", value(event(in), "type"));
    } finally {
      Files.delete(folder);
    }
  }

  /** And not what others asked for. */
  @Test
  void eachWatcherSeesWhatItAskedFor() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var reads = server.connect();
        var writes = server.connect();
        var ends = server.connect();
        var client = server.connect()) {
      assertEquals("OK", reads.ask("watch"));
      assertEquals("OK", writes.ask("watch mutations"));
      assertEquals("OK", ends.ask("watch deletions"));
      client.exchange("delete none\r\nset k 0 0 3\r\nabc\r\nget k\r\ndelete k\r\n");
      assertEquals("item_store", value(event(writes), "type"));
      var read = event(reads);
      while (value(read, "status").equals("not_found")) {
        read = event(reads);
      }
      assertEquals("item_get", value(read, "type"));
      assertEquals("3", value(read, "size"));
      var deleted = event(ends);
      assertEquals("deleted", value(deleted, "type"));
      assertEquals("k", value(deleted, "key"));
    }
  }

  /** Of each line that is missing it is told once. */
  @Test
  void whatAWatcherMissesIsCountedOnce() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var watcher = server.connect();
        var client = server.connect()) {
      var watchers = server.server().watchers;
      assertEquals("OK", watcher.ask("watch fetchers"));
      while (watchers.skipped() == 0) {
        client.exchange("get a\r\n".repeat(5_000));
      }
      long told = watchers.told();
      var in = new BufferedInputStream(watcher.socket.getInputStream());
      long seen = 0;
      while (seen < told) {
        var line = event(in);
        seen += line.startsWith("skipped=") ? Long.parseLong(line.substring(8)) : 1;
      }
      assertEquals(told, seen);
      for (int i = 0; i < 3; i++) {
        client.exchange("get last\r\n");
        assertEquals("last", value(event(in), "key"));
        assertEquals("no-such-key", value(event(in), "key"));
      }
      var before = stats(client, "");
      assertEquals("" + watchers.skipped(), before.get("log_watcher_skipped"));
      client.ask("stats reset");
      // Its own question at the end of each exchange is told as well.
      long asked = Long.parseLong(stats(client, "").get("log_worker_written"));
      assertTrue(asked < 10, "" + asked);
      assertEquals("0", stats(client, "").get("log_watcher_skipped"));
      assertTrue(Long.parseLong(stats(client, "").get("log_watcher_sent")) < 10);
    }
  }

  @Test
  void whatIsCountedByPrefixIsWhatMemcachedCounts() throws Exception {
    try (var reference = Reference.startIfInstalled("-o", "no_lru_maintainer");
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect()) {
      var dumps = new ArrayList<String>();
      for (var client : List.of(theirs, ours)) {
        assertEquals("OK", client.ask("stats detail on"));
        client.exchange(
            lines(
                "set a:1 0 0 1",
                "5",
                "add a:1 0 0 1",
                "x",
                "set b:x 0 0 1",
                "x",
                "get a:1 a:2 b:1 none",
                "gets a:1",
                "gat 0 a:1 b:2",
                "touch a:1 0",
                "incr a:1 1",
                "incr c:1 1",
                "decr a:1 1",
                "append a:1 0 0 1",
                "5",
                "delete a:1",
                "delete a:1",
                "delete b:1",
                "set :x 0 0 1",
                "x",
                "get :x",
                "flush_all",
                "get :x a:1"));
        var lines = client.exchange("stats detail dump\r\n").lines().toList();
        dumps.add(String.join("\n", new TreeSet<>(lines)));
        assertEquals("RESET", client.ask("stats reset"));
        dumps.add(client.exchange("stats detail dump\r\n"));
      }
      assertEquals(dumps.subList(0, 2), dumps.subList(2, 4));
    }
  }

  @Test
  void nobodyLogsMoreThanMemcachedDoes() throws Exception {
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect()) {
      for (var level : List.of("0", "1", "5", "4294967295", "0")) {
        assertEquals(theirs.ask("verbosity " + level), ours.ask("verbosity " + level), level);
        assertEquals(
            stats(theirs, " settings").get("verbosity"),
            stats(ours, " settings").get("verbosity"),
            level);
      }
    }
  }

  /** One that is only marked as stale is none that was deleted. */
  @Test
  void aDeleteThatLeavesATombstoneIsCounted() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      client.exchange("set k 0 0 1\r\nx\r\nmd k I\r\nmd k x\r\nmd none x\r\n");
      var stats = stats(client, "");
      assertEquals("1", stats.get("delete_hits"));
      assertEquals("1", stats.get("delete_misses"));
    }
  }

  @Test
  void whoSaysWhoHeIsIsCounted() throws IOException {
    var file = Files.createTempFile("accounts", "");
    try {
      Files.writeString(file, "anna:secret\n");
      var settings = TestServer.settings(Mode.PROCESSORS).withAuthFile(file);
      try (var server = TestServer.start(settings);
          var client = server.connect()) {
        assertEquals("CLIENT_ERROR authentication failure", client.ask("set x 0 0 3\r\na b"));
        assertEquals("CLIENT_ERROR authentication failure", client.ask("set x 0 0 3\r\na b"));
        assertEquals("STORED", client.ask("set x 0 0 11\r\nanna secret"));
        var stats = stats(client, "");
        assertEquals("3", stats.get("auth_cmds"));
        assertEquals("2", stats.get("auth_errors"));
        try (var wordy = server.connect()) {
          wordy.send("set x 0 0 2049\r\n");
          assertEquals("", wordy.rest());
        }
      }
    } finally {
      Files.delete(file);
    }
  }

  /** The number that is made has its time, whichever protocol asks for it. */
  @Test
  void aNumberThatTheBinaryProtocolMakesExpires() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var binary = server.connect();
        var text = server.connect()) {
      BinaryProtocolTest.exchange(binary, request(0x05, added(1, 5, 1000), "n", ""));
      assertLeft(1000, text.ask("mg n t").substring("HD t".length()));
      // Such a time is far away, and not past.
      BinaryProtocolTest.exchange(binary, request(0x05, added(1, 5, -2), "far", ""));
      assertEquals("VA 1", text.ask("mg far v"));
    }
  }

  /** A refusal says why, and nothing is flushed. */
  @Test
  void aFlushByTheBinaryProtocolMayBeForbiddenOrToCome() throws IOException {
    try (var server = TestServer.start(TestServer.settings(Mode.PROCESSORS).withFlushes(false));
        var binary = server.connect();
        var text = server.connect()) {
      text.exchange("set a 0 0 1\r\nx\r\n");
      var refused = BinaryProtocolTest.exchange(binary, request(0x08, "", "", "")).getFirst();
      assertEquals("0020", refused.substring(12, 16));
      assertEquals("VALUE a 0 1\r\nx\r\nEND\r\n", text.exchange("get a\r\n"));
    }
    try (var server = TestServer.start(Mode.PROCESSORS);
        var binary = server.connect();
        var text = server.connect()) {
      text.exchange("set a 0 0 1\r\nx\r\n");
      BinaryProtocolTest.exchange(binary, request(0x08, "\0\0\4\0", "", ""));
      assertEquals("VALUE a 0 1\r\nx\r\nEND\r\n", text.exchange("get a\r\n"));
      BinaryProtocolTest.exchange(binary, request(0x08, "\0\0\0\0", "", ""));
      assertEquals("END\r\n", text.exchange("get a\r\n"));
    }
  }

  /** In memcached's words. */
  @Test
  void whatIsEvictedIsWatchedWithWhatIsKnownOfIt() throws IOException {
    var timed = firstEviction(1000);
    assertTrue(
        timed.matches(
            "ts=\\d+\\.\\d+ gid=\\d+ type=eviction key=key\\d+ fetch=no ttl=\\d+ la=\\d+"
                + " clsid=1 size=700"),
        timed);
    assertLeft(1000, value(timed, "ttl"));
    assertTrue(Integer.parseInt(value(timed, "la")) < NEAR, timed);
    assertEquals("-1", value(firstEviction(0), "ttl"));
  }

  private static String firstEviction(int exptime) throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS, 2 << 20);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch evictions"));
      var value = "x".repeat(700);
      for (int i = 0; i < 5_000; i++) {
        client.send("set key%d 0 %d 700 noreply\r\n%s\r\n".formatted(i, exptime, value));
      }
      return event(watcher);
    }
  }

  @Test
  void evictionsAreShownWithTheClassToo() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS, 2 << 20);
        var client = server.connect()) {
      for (int i = 0; i < 5_000; i++) {
        client.send("set key" + i + " 0 0 1000 noreply\r\n" + "x".repeat(1_000) + "\r\n");
      }
      client.exchange("");
      Map<String, String> all;
      Map<String, String> items;
      do {
        all = stats(client, "");
        items = stats(client, " items");
        // Memory is made free beforehand, by nobody's request.
      } while (!stats(client, "").getOrDefault("evictions", "").equals(all.get("evictions")));
      assertTrue(Long.parseLong(all.getOrDefault("evictions", "")) > 0);
      assertEquals(all.get("evictions"), items.get("items:1:evicted"));
      assertEquals(all.get("evicted_unfetched"), items.get("items:1:evicted_unfetched"));
      assertEquals(all.get("curr_items"), items.get("items:1:number"));
      long buckets = server.server().store.buckets();
      assertEquals("" + (63 - Long.numberOfLeadingZeros(buckets)), all.get("hash_power_level"));
    }
  }

  private static void logAll(MemcachedSettings settings) throws Exception {
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      // Read anew when its value has come, and logged once.
      InputTest.sendInPieces(server, client, lines("set a 0 0 1"));
      client.exchange(
          lines("7", "get a b", "get \u001bx", "mg a v", "mg b v", "mn", "incr a 1", "ma a v")
              + lines("set c 0 0 1 noreply", "x", "touch c 0", "stats items"));
      try (var binary = server.connect()) {
        binary.send(request(0x01, "\0".repeat(8), "k", "secret", 0, 0));
        binary.send(request(0x00, "", "k\n", ""));
        binary.send(request(0x0c, "", "k", ""));
        binary.send(request(0x07, "", "", "", 0, 0));
        binary.rest();
      }
    }
  }

  /** Requests, and replies up to what is of items: the log of a cache is no copy of it. */
  @Test
  void withTwoVsRequestsAndRepliesAreLoggedWithoutValues() throws Exception {
    var settings = TestServer.settings(Mode.PROCESSORS).withVerbosity(2);
    var logger = Logger.getLogger(MemcachedServer.class.getName());
    var logged = new CopyOnWriteArrayList<String>();
    logger.setFilter(
        record -> {
          logged.add(record.getMessage());
          return false;
        });
    try {
      logAll(settings);
      while (logged.stream().filter(line -> line.endsWith("connection closed.")).count() < 2) {
        Thread.onSpinWait();
      }
    } finally {
      logger.setFilter(null);
    }
    assertEquals(
        List.of(
            "<2 new client connection",
            "<2 set a 0 0 1",
            ">2 STORED",
            "<2 get a b",
            ">2 VALUE a 0 1",
            ">2 END",
            "<2 get ?x",
            ">2 END",
            "<2 mg a v",
            ">2 VA 1",
            "<2 mg b v",
            ">2 EN",
            "<2 mn",
            ">2 MN",
            "<2 incr a 1",
            ">2 8",
            "<2 ma a v",
            ">2 VA 1",
            "<2 set c 0 0 1 noreply",
            ">2 NOREPLY STORED",
            "<2 touch c 0",
            ">2 TOUCHED",
            "<2 stats items"),
        logged.stream().filter(line -> line.matches("[<>]2 .*")).limit(23).toList());
    assertEquals(
        List.of(
            "<3 new client connection",
            "<3 binary request 0x01 k",
            ">3 binary response 0x01 status 0x0000",
            "<3 binary request 0x00 k?",
            ">3 binary response 0x00 status 0x0001",
            "<3 binary request 0x0c k",
            ">3 binary response 0x0c status 0x0000",
            "<3 binary request 0x07 ",
            ">3 binary response 0x07 status 0x0000",
            "<3 connection closed."),
        logged.stream().filter(line -> line.matches("[<>]3 .*")).toList());
  }
}
