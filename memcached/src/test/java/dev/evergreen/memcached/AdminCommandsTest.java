package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What operators ask and set. */
@Timeout(120)
class AdminCommandsTest {
  @TempDir private Path folder;

  private static Map<String, String> stats(Client client, String kind) throws IOException {
    client.send("stats" + kind + "\r\n");
    var stats = new HashMap<String, String>();
    for (var line = client.line(); !line.equals("END"); line = client.line()) {
      var words = line.split(" ", 3);
      assertEquals("STAT", words[0], line);
      stats.put(words[1], words[2]);
    }
    return stats;
  }

  @ParameterizedTest
  @EnumSource
  void statisticsHaveWhatExportersRead(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("set a 0 0 3\r\nabc\r\nget a b\r\ndelete b\r\nincr b 1\r\ntouch a 0\r\n");
      var stats = stats(client, "");
      for (var name :
          "pid uptime time version pointer_size rusage_user rusage_system bytes_read bytes_written"
              .split(" ", -1)) {
        assertTrue(stats.containsKey(name), name);
      }
      assertEquals("1", stats.get("curr_items"));
      assertEquals("1", stats.get("total_items"));
      assertEquals("1", stats.get("curr_connections"));
      assertEquals("3", stats.get("cmd_get"), "with the question that ended the exchange");
      assertEquals("1", stats.get("get_hits"));
      assertEquals("2", stats.get("get_misses"));
      assertEquals("1", stats.get("cmd_set"));
      assertEquals("1", stats.get("delete_misses"));
      assertEquals("1", stats.get("incr_misses"));
      assertEquals("1", stats.get("cmd_touch"));
      assertEquals("0", stats.get("evictions"));
      assertNotEquals("0", stats.get("bytes_read"));
      assertNotEquals("0", stats.get("bytes_written"));
      assertEquals("67108864", stats.get("limit_maxbytes"));
      assertEquals("2", stats.get("threads"));
      assertEquals("RESET", client.ask("stats reset"));
      assertEquals("0", stats(client, "").get("cmd_get"));
      assertEquals("1048576", stats(client, " settings").get("item_size_max"));
      assertEquals("1", stats(client, " items").get("items:1:number"));
      assertEquals("1", stats(client, " slabs").get("active_slabs"));
      assertEquals("disabled", stats(client, " sizes").get("sizes_status"));
      assertTrue(stats(client, " conns").toString().contains(":addr=tcp:127.0.0.1:"));
      assertEquals("ERROR", client.ask("stats nothing"));
    }
  }

  /** Its statistics have what exporters of memcached's read, by its names. */
  @ParameterizedTest
  @ValueSource(strings = {"", " items", " slabs", " settings"})
  void statisticsHaveAllOfMemcachedsNames(String report) throws Exception {
    // As it is by default, for exporters read what that has.
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect()) {
      theirs.ask("set a 0 0 1\r\n5");
      ours.ask("set a 0 0 1\r\n5");
      var missing = new TreeSet<>(stats(theirs, report).keySet());
      missing.removeAll(stats(ours, report).keySet());
      missing.removeIf(name -> report.equals(" settings") && isOfWhatThereIsNot(name));
      assertEquals(Set.of(), missing);
    }
  }

  /** Settings of slabs, of items on disks, of a TLS that is not spoken, of hashes and of logs. */
  private static boolean isOfWhatThereIsNot(String setting) {
    return setting.matches("(ext|slab|ssl|hash)_.*|growth_factor|chunk_size|hashpower_init")
        || setting.endsWith("_logbuf_size");
  }

  /** What prometheus/memcached_exporter asks for when lru_crawler is yes. */
  @Test
  void settingsOfUpkeepAreWhatTheStoreDoes() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      var settings = stats(client, " settings");
      settings
          .keySet()
          .retainAll(
              Set.of(
                  "lru_crawler",
                  "lru_crawler_sleep",
                  "lru_crawler_tocrawl",
                  "lru_maintainer_thread",
                  "hot_lru_pct",
                  "warm_lru_pct",
                  "hot_max_factor",
                  "warm_max_factor"));
      assertEquals(
          Map.of(
              "lru_crawler", "yes",
              "lru_crawler_sleep", "0",
              "lru_crawler_tocrawl", "0",
              "lru_maintainer_thread", "yes",
              "hot_lru_pct", "10",
              "warm_lru_pct", "90",
              "hot_max_factor", "0.00",
              "warm_max_factor", "0.00"),
          settings);
    }
  }

  /** Hot items are those that nobody has read since they came, or not for long. */
  @Test
  void statisticsOfItemsTellOfHotAndWarmOnesAndOfTheirAges() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS, 2 << 20);
        var client = server.connect()) {
      client.exchange("set first 0 1000 1000\r\n" + "x".repeat(1000) + "\r\nget first\r\n");
      var before = stats(client, " items");
      assertEquals("1", before.get("items:1:number_hot"));
      assertEquals("0", before.get("items:1:number_warm"));
      assertEquals("1", before.get("items:1:hits_to_hot"));
      // Until something has been there for a second before it was evicted.
      Map<String, String> items;
      int count = 0;
      do {
        for (int i = 0; i < 100; i++) {
          client.send("set k" + count++ + " 0 1000 1000 noreply\r\n" + "x".repeat(1000));
          client.send("\r\nget first\r\n");
        }
        client.exchange("");
        items = stats(client, " items");
      } while ("0".equals(items.get("items:1:age_warm"))
          || "0".equals(items.get("items:1:evicted_nonzero")));
      assertEquals(
          Integer.parseInt(items.get("items:1:number")),
          Integer.parseInt(items.get("items:1:number_hot"))
              + Integer.parseInt(items.get("items:1:number_warm")));
      assertEquals("0", items.get("items:1:number_cold"));
      assertEquals(items.get("items:1:evicted"), items.get("items:1:evicted_nonzero"));
      assertNotEquals("0", items.get("items:1:hits_to_warm"));
      assertNotEquals("0", items.get("items:1:moves_to_warm"));
      assertNotEquals("0", stats(client, " slabs").get("1:total_pages"));
    }
  }

  /** What memcached begins to count anew is 0 here, too. */
  @Test
  void allCountsAreResetThatMemcachedResets() throws Exception {
    try (var reference = Reference.startIfInstalled("-m", "3", "-o", "no_lru_maintainer");
        var server = TestServer.start(Mode.PROCESSORS, 3 << 20);
        var theirs = reference.connect();
        var ours = server.connect()) {
      for (var client : List.of(theirs, ours)) {
        for (int i = 0; i < 100; i++) {
          client.exchange("set k" + i + " 0 0 60000\r\n" + "x".repeat(60_000) + "\r\n");
        }
        client.exchange("set e 0 0 1\r\nx\r\ntouch e -1\r\nget e\r\nset e 0 0 1\r\nx\r\n");
        client.exchange("flush_all\r\nget e\r\nincr none 1\r\nset e 0 0 1\r\nx\r\n");
      }
      var counted = new TreeSet<>(stats(ours, "").keySet());
      counted.removeAll(zeros(ours));
      assertTrue(counted.containsAll(List.of("evictions", "total_items", "get_flushed")));
      assertEquals("RESET", theirs.ask("stats reset"));
      counted.retainAll(zeros(theirs));
      // Seen: our upkeep had counted again by the time we looked. It does so now and then only.
      for (int i = 0; i < 50 && !counted.isEmpty(); i++) {
        assertEquals("RESET", ours.ask("stats reset"));
        counted.removeAll(zeros(ours));
      }
      assertEquals(Set.of(), counted);
    }
  }

  private static Set<String> zeros(Client client) throws IOException {
    var stats = stats(client, "");
    stats.values().removeIf(value -> !value.equals("0"));
    return stats.keySet();
  }

  @ParameterizedTest
  @CsvSource({"true, true, auto-negotiate", "true, false, ascii", "false, true, binary"})
  void theProtocolsThatAreSpokenAreShown(boolean text, boolean binary, String shown)
      throws Exception {
    var settings = TestServer.settings(Mode.PROCESSORS).withProtocols(text, binary);
    try (var server = TestServer.start(settings)) {
      var report = new HashMap<String, String>();
      assertTrue(StatsReport.tell(server.server(), "settings", report::put));
      assertEquals(shown, report.get("binding_protocol"));
    }
  }

  @Test
  void whereOnlyTextIsSpokenTheFirstByteOfABinaryRequestIsText() throws Exception {
    var settings = TestServer.settings(Mode.PROCESSORS).withProtocols(true, false);
    try (var reference = Reference.startIfInstalled("-B", "ascii");
        var server = TestServer.start(settings);
        var theirs = reference.connect();
        var ours = server.connect()) {
      for (var client : List.of(theirs, ours)) {
        client.send("\u0080\0abc\r\nmn\r\n");
        assertEquals("ERROR", client.line());
        assertEquals("MN", client.line());
      }
    }
  }

  private static String lines(List<String> lines) {
    return String.join("\r\n", lines) + "\r\n";
  }

  private static Set<Map.Entry<String, String>> zeros(List<String> names) {
    return names.stream().map(name -> Map.entry(name, "0")).collect(Collectors.toSet());
  }

  @ParameterizedTest
  @EnumSource
  void statisticsOfUpkeepCount(Mode mode) throws Exception {
    try (var server = TestServer.start(mode, 2 << 20);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch mutations"));
      for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 2000; i++) {
          var key = "key" + round + "-" + i;
          client.send("set " + key + " 0 " + (i % 2) + " 1000 noreply\r\n" + "x".repeat(1000));
          client.send("\r\nget " + key + "\r\n");
        }
        client.exchange("");
        server.server().store.maintain();
      }
      var names =
          List.of(
              "lru_maintainer_juggles",
              "lru_crawler_starts",
              "crawler_items_checked",
              "moves_to_warm",
              "direct_reclaims",
              "log_worker_written",
              "log_watcher_sent",
              "hash_power_level");
      // The clock goes on until something has expired, and the watcher is told.
      while (!Collections.disjoint(stats(client, "").entrySet(), zeros(names))) {
        Thread.onSpinWait();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void withoutCasNumbersNoneIsShownAndNoneIsEqual(Mode mode) throws IOException {
    try (var server = TestServer.start(TestServer.settings(mode).withCas(false));
        var client = server.connect()) {
      assertEquals("no", stats(client, " settings").get("cas_enabled"));
      var replies = List.of("STORED", "VALUE a 0 1 0", "x", "END", "EXISTS", "EXISTS", "VA 1 c0");
      var commands =
          List.of(
              "set a 0 0 1", "x", "gets a", "cas a 0 0 1 0", "y", "cas a 0 0 1 5", "y", "mg a c v");
      assertEquals(lines(replies) + "x\r\n", client.exchange(lines(commands)));
      assertEquals(
          lines(List.of("HD c0", "EX", "HD c0", "EX")),
          client.exchange(lines(List.of("ms a 1 c", "1", "ms a 1 C5", "z", "ma a c", "md a C9"))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void connectionsAreListedWithWhatTheyDo(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect();
        var watcher = server.connect();
        var sender = server.connect();
        var deaf = server.connectWithSmallBuffer()) {
      assertEquals("OK", watcher.ask("watch"));
      client.exchange("set k 0 0 1000000\r\n" + "x".repeat(1_000_000) + "\r\n");
      sender.send("set half 0 0 100000\r\n" + "x".repeat(5_000));
      deaf.send("get k\r\n".repeat(20));
      var wanted =
          Set.of("conn_listening", "conn_parse_cmd", "conn_watch", "conn_nread", "conn_mwrite");
      Map<String, String> conns;
      do {
        conns = stats(client, " conns");
      } while (!Set.copyOf(conns.values()).containsAll(wanted));
      assertEquals("conn_listening", conns.get("1:state"));
      assertEquals("tcp:127.0.0.1:" + server.port(), conns.get("1:addr"));
    }
  }

  /** The last one is the one that asks, if no other came after it. */
  @Test
  void connectionsAreListedInTheOrderInWhichTheyCame() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS)) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < 30; i++) {
        clients.add(server.connect());
        clients.getLast().exchange("");
      }
      var numbers =
          clients
              .getLast()
              .exchange("stats conns\r\n")
              .lines()
              .filter(line -> line.contains(":addr "))
              .map(line -> Integer.parseInt(line.replaceAll("STAT |:.*", "")))
              .toList();
      assertEquals(numbers.stream().sorted().toList(), numbers);
      assertEquals(31, numbers.size());
      for (var client : clients) {
        client.close();
      }
    }
  }

  /** Of however few bytes. */
  @ParameterizedTest
  @ValueSource(strings = {"set k 0 0 6\r\n", "set k 0 0 6\r\nabcdef", "ms k 3000\r\nab"})
  void aConnectionThatOwesAValueIsListedSo(String said) throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect();
        var sender = server.connect()) {
      sender.send(said);
      while (!stats(client, " conns").containsValue("conn_nread")) {
        Thread.onSpinWait();
      }
      sender.send("x".repeat(3000) + "\r\n");
      while (stats(client, " conns").containsValue("conn_nread")) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void aConnectionIsListedWithTheTimeSinceItsLastCommand() throws Exception {
    try (var server = TestServer.start(Mode.JDK);
        var idle = server.connect()) {
      idle.exchange("");
      try (var client = server.connect()) {
        var conns = stats(client, " conns");
        while (Integer.parseInt(conns.get("2:secs_since_last_cmd")) < 3) {
          Thread.sleep(10);
          conns = stats(client, " conns");
        }
        assertTrue(Integer.parseInt(conns.get("3:secs_since_last_cmd")) < 3, conns.toString());
      }
      // One that has not said anything yet counts from when it came.
      try (var silent = server.connect()) {
        var conns = stats(idle, " conns");
        while (!conns.containsKey("4:secs_since_last_cmd")) {
          conns = stats(idle, " conns");
        }
        assertTrue(Integer.parseInt(conns.get("4:secs_since_last_cmd")) < 3, conns.toString());
        assertEquals("END", silent.ask("get k"));
      }
    }
  }

  /** As memcached does, which sends what it has answered only after a get of keys and after mn. */
  @ParameterizedTest
  @CsvSource({
    "PROCESSORS, mg a, EN, false",
    "PROCESSORS, get a, END, true",
    "PROCESSORS, mn, MN, true",
    "PROCESSORS, touch a 0, NOT_FOUND, false",
    "PROCESSORS, delete a noreply, '', false",
    "JDK, mg a, EN, false",
    "JDK, get a, END, true"
  })
  void keysAreNotListedBehindOtherCommands(Mode mode, String first, String reply, boolean allowed)
      throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var before = reply.isEmpty() ? "" : reply + "\r\n";
      for (var last : List.of("lru_crawler metadump", "lru_crawler mgdump", "watch")) {
        var refusal = "ERROR cannot pipeline other commands before " + last.replaceAll(".* ", "");
        boolean lists = !last.equals("watch");
        if (!allowed || lists) {
          var end = last.endsWith("mgdump") ? "EN\r\n" : "END\r\n";
          assertEquals(
              before + (allowed ? end : refusal + "\r\n"),
              client.exchange(first + "\r\n" + last + (lists ? " all" : "") + "\r\n"));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWatcherThatMissesLinesIsToldAsByMemcached(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch fetchers"));
      while (server.server().watchers.skipped() == 0) {
        client.exchange("get a\r\n".repeat(5000));
      }
      var lines =
          new BufferedReader(
              new InputStreamReader(watcher.socket.getInputStream(), StandardCharsets.US_ASCII));
      var line = lines.readLine();
      while (line != null && line.startsWith("ts=")) {
        line = lines.readLine();
      }
      assertTrue(String.valueOf(line).matches("skipped=[0-9]+"), line);
    }
  }

  /** As memcached reads them. It is asked by hand: while it crawls it is too busy to answer so. */
  @ParameterizedTest
  @ValueSource(strings = {"1,", ",1", "1,,2", "all"})
  void classesToBeCrawledMayHaveNothingBetweenCommas(String classes) throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      assertEquals("OK", client.ask("lru_crawler crawl " + classes));
    }
  }

  /** Seen: each took some 50 ms, for which all others waited. */
  @ParameterizedTest
  @ValueSource(strings = {"slabs automove ratio ", "lru tune 10 20 1 "})
  @Timeout(10)
  void digitsWithoutEndThatAreNoNumberCostNoMoreThanOthers(String command) throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      var line = command + "1".repeat(2000) + "x";
      for (int i = 0; i < 500; i++) {
        assertEquals("ERROR", client.ask(line));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void detailsAreCountedByPrefix(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      assertEquals("OK", client.ask("stats detail on"));
      client.exchange("set a:1 0 0 1\r\nx\r\nget a:1 a:2 b\r\ndelete a:1\r\n");
      assertEquals(
          "PREFIX a get 2 hit 1 set 1 del 1\r\nEND\r\n", client.exchange("stats detail dump\r\n"));
      assertEquals("OK", client.ask("stats detail off"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void allKeysAreListed(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (int i = 0; i < 5000; i++) {
        client.send("set key" + i + " 0 0 1 noreply\r\nx\r\n");
      }
      client.exchange("ms AAE= 1 b T100\r\nx\r\n");
      for (var dump : new String[] {"lru_crawler metadump all", "lru_crawler metadump hash"}) {
        var keys =
            client
                .exchange(dump + "\r\n")
                .lines()
                .map(line -> line.split(" ", 2)[0])
                .collect(Collectors.toSet());
        assertEquals(5002, keys.size(), "keys and END");
        assertTrue(keys.contains("key=key4999") && keys.contains("key=%00%01"));
      }
      var commands = client.exchange("lru_crawler mgdump all\r\n");
      assertTrue(commands.contains("mg key17\r\n") && commands.contains("mg AAE= b\r\n"));
      assertTrue(commands.endsWith("EN\r\n"));
      assertEquals(3, client.exchange("stats cachedump 1 2\r\n").lines().count());
      assertEquals("BADCLASS invalid class id", client.ask("lru_crawler metadump 99"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void watchersAreToldWhatTheyAskedFor(Mode mode) throws IOException, InterruptedException {
    try (var server = TestServer.start(mode);
        var watcher = server.connect()) {
      assertEquals("ERROR", watcher.ask("watch FETCHERS"));
      assertEquals("OK", watcher.ask("watch fetchers mutations deletions connevents"));
      var client = server.connect();
      assertTrue(watcher.line().contains("type=conn_new rip=127.0.0.1"));
      client.exchange("");
      assertTrue(watcher.line().contains("type=item_get key=no-such-key status=not_found"));
      client.exchange("set a%b 0 0 3\r\nabc\r\nget a%b\r\ndelete a%b\r\n");
      assertTrue(watcher.line().contains("type=item_get key=a%25b status=not_found"));
      var line = watcher.line();
      assertTrue(
          line.matches("ts=\\d+\\.\\d{6} gid=\\d+ type=item_store key=a%25b status=stored.*"));
      assertTrue(watcher.line().contains("type=item_get key=a%25b status=found"));
      assertTrue(watcher.line().contains("type=item_get key=a%25b status=found"));
      assertTrue(watcher.line().contains("type=deleted key=a%25b cmd=delete"));
      watcher.line();
      client.socket.close();
      assertTrue(watcher.line().contains("type=conn_close rip=127.0.0.1"));
      watcher.socket.close();
      while (server.server().watchers.count() > 0) {
        Thread.sleep(1);
      }
    }
  }

  /** When it says that it will say no more, it has one writer still. */
  @ParameterizedTest
  @EnumSource
  void aWatcherThatLeavesAmidItsLinesGetsThemWholeAndInOrder(Mode mode) throws Exception {
    var failures = new ConcurrentLinkedQueue<Throwable>();
    var before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((_, failure) -> failures.add(failure));
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (int round = 0; round < 200; round++) {
        try (var watcher = server.connect()) {
          assertEquals("OK", watcher.ask("watch fetchers"));
          client.send("get k\r\n".repeat(100));
          watcher.line();
          watcher.socket.shutdownOutput();
          long last = 0;
          for (var line : watcher.rest().split("\n", 0)) {
            var parts = line.split(" |gid=", 0);
            assertTrue(line.matches("ts=[0-9.]+ gid=\\d+ type=item_get key=k .* size=0|"), line);
            if (!line.isEmpty()) {
              assertTrue(last < Long.parseLong(parts[2]), line);
              last = Long.parseLong(parts[2]);
            }
          }
        }
        client.read("END\r\n".length() * 100);
      }
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    assertEquals(List.of(), List.copyOf(failures));
  }

  @ParameterizedTest
  @EnumSource
  void evictionsCanBeWatched(Mode mode) throws IOException {
    try (var server = TestServer.start(mode, 2 << 20);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch evictions"));
      for (int i = 0; i < 5000; i++) {
        client.send("set key" + i + " 0 0 1000 noreply\r\n" + "x".repeat(1000) + "\r\n");
      }
      assertTrue(watcher.line().contains("type=eviction key=key"));
      watcher.socket.close();
      while (server.server().watchers.count() > 0) {
        Thread.onSpinWait();
      }
      // From now on nobody has to be told anything: what was stored before has been told by then.
      client.exchange("");
      long told = server.server().watchers.told();
      for (int i = 0; i < 5000; i++) {
        client.send("set more" + i + " 0 0 1000 noreply\r\n" + "x".repeat(1000) + "\r\n");
      }
      client.exchange("");
      assertEquals(told, server.server().watchers.told());
    }
  }

  @ParameterizedTest
  @EnumSource
  void onlyAccountsOfTheFileAreServed(Mode mode) throws IOException {
    var file = folder.resolve("accounts");
    Files.writeString(file, "anna:secret\nbert:word\n");
    try (var server = TestServer.start(TestServer.settings(mode).withAuthFile(file));
        var client = server.connect()) {
      assertEquals("CLIENT_ERROR unauthenticated", client.ask("get a"));
      assertEquals("CLIENT_ERROR unauthenticated", client.ask("stats"));
      assertEquals(
          "CLIENT_ERROR authentication failure", client.ask("set auth 0 0 10\r\nanna wrong"));
      assertEquals(
          "CLIENT_ERROR bad authentication token format", client.ask("set auth 0 0 4\r\nanna"));
      assertEquals("STORED", client.ask("set auth 0 0 11\r\nanna secret"));
      assertEquals("END", client.ask("get auth"));
      try (var other = server.connect()) {
        other.send("get " + "a ".repeat(2000));
        assertEquals("", other.rest());
      }
    }
    Files.writeString(file, "no colon\n");
    assertThrows(
        IOException.class, () -> TestServer.start(TestServer.settings(mode).withAuthFile(file)));
  }

  /** Seen: who sent it all at once was let in. */
  @ParameterizedTest
  @EnumSource
  void whatIsTooLongToBeWaitedForIsNoAuthenticationHoweverItComes(Mode mode) throws IOException {
    var file = folder.resolve("accounts");
    var password = "p".repeat(2_000);
    Files.writeString(file, "anna:" + password + "\n");
    try (var server = TestServer.start(TestServer.settings(mode).withAuthFile(file))) {
      var value = "anna " + password + "\r\n";
      int longest = Input.LITTLE - value.length();
      try (var client = server.connect()) {
        client.send(authentication(longest) + value);
        assertEquals("STORED", client.line());
      }
      try (var client = server.connect()) {
        client.send(authentication(longest + 1) + value);
        assertEquals("", client.rest());
      } catch (SocketException e) {
        // It was hung up on before it had taken all.
        assertNotNull(e.getMessage());
      }
    }
  }

  private static String authentication(int length) {
    var end = " 0 0 2005\r\n";
    return "set " + "k".repeat(length - "set ".length() - end.length()) + end;
  }

  /** The first byte chooses the protocol; in the binary one nobody could say who he is. */
  @Test
  void aBinaryRequestIsNoWayAroundTheAccounts() throws IOException {
    var file = folder.resolve("accounts");
    Files.writeString(file, "anna:secret\n");
    var settings = TestServer.settings(Mode.PROCESSORS).withAuthFile(file);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      assertEquals(
          "CLIENT_ERROR unauthenticated", client.ask(BinaryProtocolTest.request(0, "", "k", "")));
    }
  }

  @ParameterizedTest
  @EnumSource
  void onlySoManyMayWatch(Mode mode) throws Exception {
    try (var server = TestServer.start(mode)) {
      var watchers = new ArrayList<Client>();
      for (int i = 0; i < 20; i++) {
        watchers.add(server.connect());
        assertEquals("OK", watchers.getLast().ask("watch"));
      }
      try (var client = server.connect()) {
        assertEquals("WATCHER_TOO_MANY log watcher limit reached", client.ask("watch"));
        assertEquals("", client.rest());
      }
      watchers.removeLast().close();
      while (server.server().watchers.count() == 20) {
        Thread.sleep(1);
      }
      watchers.add(server.connect());
      assertEquals("OK", watchers.getLast().ask("watch"));
      for (var watcher : watchers) {
        watcher.close();
      }
    }
  }

  @Test
  void clientsThatMakeUpPrefixesFillNoMemory() throws IOException {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      assertEquals("OK", client.ask("stats detail on"));
      client.exchange("get p0:k\r\n");
      for (int i = 0; i < 10_010; i++) {
        client.send("get p" + i + ":k\r\n");
      }
      client.exchange("get p0:k\r\n");
      var lines = client.exchange("stats detail dump\r\n").lines().toList();
      assertEquals(10_001, lines.size(), "prefixes and END");
      assertTrue(lines.contains("PREFIX p0 get 3 hit 0 set 0 del 0"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void limitsAndPermissionsAreKept(Mode mode) throws IOException {
    var settings = TestServer.settings(mode).withFlushes(false).withDumps(false).withWatches(false);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      assertEquals("CLIENT_ERROR flush_all not allowed", client.ask("flush_all"));
      assertEquals("ERROR metadump not allowed", client.ask("lru_crawler metadump all"));
      assertEquals("CLIENT_ERROR watch commands not allowed", client.ask("watch"));
      assertEquals("ERROR: shutdown not enabled", client.ask("shutdown"));
      assertEquals("OK", client.ask("cache_memlimit 128"));
      assertEquals("134217728", stats(client, "").get("limit_maxbytes"));
      assertEquals("OK", client.ask("cache_memlimit 8"));
      assertTrue(client.ask("cache_memlimit 5000").startsWith("MEMLIMIT_ADJUST_FAILED"));
      assertTrue(client.ask("cache_memlimit 7").startsWith("MEMLIMIT_TOO_SMALL"));
      assertEquals("CLIENT_ERROR slab reassignment disabled", client.ask("slabs reassign 1 2"));
      assertEquals("OK", client.ask("verbosity 1"));
      assertEquals("1", stats(client, " settings").get("verbosity"));
      assertTrue(client.ask("version").matches("VERSION \\d+\\.\\d+\\.\\d+"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFullServerThatMayNotEvictSaysSo(Mode mode) throws IOException {
    var settings = TestServer.settings(mode).withMemory(2 << 20).withEviction(false);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      String reply;
      int count = 0;
      do {
        reply = client.ask("set k" + count++ + " 0 0 1000\r\n" + "x".repeat(1000));
      } while (reply.equals("STORED"));
      assertEquals("SERVER_ERROR out of memory storing object", reply);
      assertTrue(count > 1500, "stored " + count);
      assertEquals("VALUE k0 0 1000", client.ask("get k0"));
    }
  }

  /** Seen: they waited until all was evicted, which takes seconds if it is much. */
  @Test
  void othersAreServedWhileTheMemoryLimitIsLowered() throws Exception {
    var settings = TestServer.settings(Mode.PROCESSORS).withProcessors(1);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      for (int i = 0; i < 100_000; i++) {
        client.send("set key" + i + " 0 0 400 noreply\r\n" + "x".repeat(400) + "\r\n");
      }
      client.exchange("");
      var turns = new AtomicInteger();
      var over = new AtomicBoolean();
      var meanwhile = new CompletableFuture<Integer>();
      server.server().fibers.spawn(() -> countTurns(turns, over));
      server
          .server()
          .fibers
          .spawn(
              () -> {
                int before = turns.get();
                var lowered = server.server().store.limit(8 << 20);
                meanwhile.complete(lowered ? turns.get() - before : -1);
              });
      int taken = meanwhile.get();
      over.set(true);
      assertTrue(taken > 10, "turns of another one: " + taken);
      var after = stats(client, "");
      assertTrue(Long.parseLong(after.get("bytes")) <= 8 << 20, after::toString);
      assertTrue(Long.parseLong(after.get("memory_in_use")) <= 8 << 20, after::toString);
    }
  }

  private static void countTurns(AtomicInteger turns, AtomicBoolean over) {
    while (!over.get()) {
      turns.incrementAndGet();
      Fibers.letOthersRun();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aMemoryLimitThatIsRefusedChangesNothing(Mode mode) throws IOException {
    var settings = TestServer.settings(mode).withMemory(32 << 20).withEviction(false);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      var item = " 0 0 10000 noreply\r\n" + "x".repeat(10_000) + "\r\n";
      for (int i = 0; i < 2000; i++) {
        client.send("set k" + i + item);
      }
      client.exchange("");
      var before = stats(client, "");
      assertTrue(client.ask("cache_memlimit 8").startsWith("MEMLIMIT_ADJUST_FAILED"));
      var after = stats(client, "");
      assertEquals("33554432", after.get("limit_maxbytes"));
      assertEquals(before.get("curr_items"), after.get("curr_items"));
      for (int i = 0; i < 500; i++) {
        assertEquals("STORED", client.ask("set new" + i + " 0 0 10000\r\n" + "x".repeat(10_000)));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aLongLineIsHungUpOnUnlessItIsAGet(Mode mode) throws IOException {
    try (var server = TestServer.start(mode)) {
      for (var line :
          List.of(
              "lru_crawler crawl 1" + ",1".repeat(30_000),
              "lru_crawler metadump 1" + ",1".repeat(1_100),
              "stats " + "x".repeat(3_000),
              "x".repeat(3_000),
              "mg k" + " t".repeat(1_100))) {
        try (var client = server.connect()) {
          client.send(line + "\r\n");
          assertEquals("", client.rest());
        } catch (SocketException e) {
          // It was hung up on while it still sent.
          assertTrue(line.length() > 2_048);
        }
      }
      try (var client = server.connect()) {
        assertEquals("OK", client.ask("lru_crawler crawl 1" + ",63".repeat(600)));
        assertEquals("BADCLASS invalid class id", client.ask("lru_crawler crawl 1,64"));
        assertEquals("END", client.ask("get" + " key".repeat(15_000)));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1",
        "POST /x HTTP/1.0",
        "PRI * HTTP/2.0",
        "HTTP/1.1",
        "foo HTTP/1.0 bar",
        "get / HTTP/1.1",
        "version HTTP/1.1"
      })
  void aRequestOfHttpEndsTheConnectionAsInMemcached(String line) throws Exception {
    var request = line + "\r\nHost: x\r\n\r\nset injected 0 0 1\r\nx\r\nquit\r\n";
    try (var reference = Reference.startIfInstalled();
        var server = TestServer.start(Mode.PROCESSORS);
        var theirs = reference.connect();
        var ours = server.connect()) {
      theirs.send(request);
      ours.send(request);
      assertEquals(
          theirs.rest().replaceAll("VERSION .*", "VERSION"),
          ours.rest().replaceAll("VERSION .*", "VERSION"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void theSocketOfALaterServerStaysWhenTheFormerOneEnds(Mode mode) throws IOException {
    var path = folder.resolve("socket");
    var settings = TestServer.settings(mode).withUnixSocket(path, 0700);
    var former = MemcachedServer.start(settings);
    try (var later = MemcachedServer.start(settings)) {
      former.close();
      assertTrue(Files.exists(path));
      assertEquals(1, later.addresses().size());
    }
    assertFalse(Files.exists(path));
  }

  @ParameterizedTest
  @EnumSource
  void aValueThatIsTooLargeIsSwallowedAndTheOldOneIsGone(Mode mode) throws IOException {
    try (var server = TestServer.start(TestServer.settings(mode).withItemLimit(2000));
        var client = server.connect()) {
      assertEquals(
          "STORED\r\nSERVER_ERROR object too large for cache\r\nEND\r\n",
          client.exchange(
              "set k 0 0 1\r\nx\r\nset k 0 0 3000\r\n" + "x".repeat(3000) + "\r\nget k\r\n"));
      assertEquals(
          "HD\r\nSERVER_ERROR object too large for cache\r\nEN\r\n",
          client.exchange("ms k 1\r\nx\r\nms k 3000\r\n" + "x".repeat(3000) + "\r\nmg k\r\n"));
      // Who asked for a change of what is there still has that.
      var large = " 0 0 3000\r\n" + "x".repeat(3000) + "\r\n";
      assertEquals(
          "STORED\r\n"
              + "SERVER_ERROR object too large for cache\r\n".repeat(5)
              + "VALUE k 0 1\r\nx\r\nEND\r\n",
          client.exchange(
              "set k 0 0 1\r\nx\r\n"
                  + ("add k" + large + "replace k" + large + "append k" + large)
                  + ("prepend k" + large + "cas k" + large.replace("\r\nx", " 5\r\nx"))
                  + "get k\r\n"));
      assertEquals(
          "CLIENT_ERROR bad command line format\r\n",
          client.exchange("get a " + "k".repeat(251) + "\r\n"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aClientMayEndTheServerIfThatIsAllowed(Mode mode) throws Exception {
    try (var server = TestServer.start(TestServer.settings(mode).withShutdown(true));
        var client = server.connect()) {
      client.send("shutdown\r\n");
      server.server().awaitEnd();
    }
  }

  @Test
  void whatIsNoSocketIsLeftAlone(@TempDir Path directory) throws Exception {
    var fifo = directory.resolve("fifo");
    assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
    var settings = TestServer.settings(Mode.JDK).withUnixSocket(fifo, 0700);
    assertThrows(IOException.class, () -> MemcachedServer.start(settings));
    assertTrue(Files.exists(fifo));
  }

  /** Seen: whoever came before they were changed could connect. */
  @ParameterizedTest
  @EnumSource
  void aUnixSocketHasItsPermissionsWhenItListens(Mode mode) throws Exception {
    var path = folder.resolve("socket");
    var settings = TestServer.settings(mode).withUnixSocket(path, 0707);
    for (int i = 0; i < 50; i++) {
      var seen = new FutureTask<>(() -> permissionsWhenItListens(path));
      Thread.ofPlatform().start(seen);
      try (var _ = MemcachedServer.start(settings)) {
        assertEquals("rwx---rwx", seen.get());
      }
      try (var left = Files.list(folder)) {
        assertEquals(List.of(), left.toList());
      }
    }
  }

  private static String permissionsWhenItListens(Path path) throws IOException {
    while (true) {
      try (var channel = SocketChannel.open(UnixDomainSocketAddress.of(path))) {
        assertTrue(channel.isConnected());
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
      } catch (IOException e) {
        Thread.onSpinWait();
      }
    }
  }

  /** Seen: one that ended took the other off the list. */
  @ParameterizedTest
  @EnumSource
  void oneOfTwoThatHaveTheSameNumberStaysListed(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var first = server.connect()) {
      first.exchange("");
      server.server().lastNumber.decrementAndGet();
      try (var second = server.connect()) {
        second.exchange("");
        var listed = server.server().sessions.firstEntry().getValue();
        first.socket.close();
        while (server.server().limit.served() > 1) {
          Thread.sleep(1);
        }
        assertEquals(List.of(listed), List.copyOf(server.server().sessions.values()));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aUnixSocketIsListenedAt(Mode mode) throws IOException {
    var path = folder.resolve("socket");
    var settings = TestServer.settings(mode).withUnixSocket(path, 0700);
    for (int i = 0; i < 2; i++) {
      try (var server = MemcachedServer.start(settings);
          var fibers = Fibers.builder().mode(mode).start();
          var connection = fibers.connect(server.addresses().getFirst())) {
        assertEquals(
            "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
        connection.write(TextProtocol.bytes("mn\r\n"));
        connection.flush();
        var reply = java.nio.ByteBuffer.allocate(4);
        while (reply.hasRemaining()) {
          connection.read(reply);
        }
        assertEquals('M', reply.get(0));
      }
      assertFalse(Files.exists(path));
    }
  }
}
