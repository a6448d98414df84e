package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import dev.evergreen.fibers.MemoryPair;
import dev.evergreen.fibers.Pace;
import java.io.IOException;
import java.lang.Thread.State;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that are broken or mean ill, beside one that is served all the while. */
@Timeout(120)
class HostileClientsTest {
  private static final int SEEDS = Integer.getInteger("evergreen.memcached.seeds", 300);

  private static void await(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(1);
    }
  }

  private static void checkServes(TestServer server) throws IOException {
    try (var client = server.connect()) {
      assertEquals("STORED\r\n", client.exchange("set healthy 0 0 3\r\nyes\r\n"));
      assertEquals("VALUE healthy 0 3\r\nyes\r\nEND\r\n", client.exchange("get healthy\r\n"));
    }
  }

  /** That the server serves others, and that nothing is left of those who are gone. */
  private static void checkHealth(TestServer server, int connections)
      throws IOException, InterruptedException {
    checkServes(server);
    await(() -> server.server().limit.served() == connections);
    await(() -> server.server().sessions.size() == connections);
    await(() -> server.server().store.stats().heldBytes() == 0);
  }

  @ParameterizedTest
  @EnumSource
  void mutatedBytesHarmNobody(Mode mode) throws Exception {
    var escaped = new AtomicReference<Throwable>();
    Thread.setDefaultUncaughtExceptionHandler((_, thrown) -> escaped.set(thrown));
    try (var server = TestServer.start(mode)) {
      for (int seed = 0; seed < SEEDS; seed++) {
        var random = new Random(seed);
        try (var client = server.connect()) {
          var bytes = new StringBuilder();
          for (int i = 0; i < 20; i++) {
            RandomCommands.pipeline(random).forEach(bytes::append);
          }
          for (int i = random.nextInt(30); i > 0; i--) {
            bytes.setCharAt(random.nextInt(bytes.length()), (char) random.nextInt(256));
          }
          client.send(bytes.toString());
          client.socket.shutdownOutput();
          client.rest();
        } catch (SocketException e) {
          // The server has cut it off while it still sent.
          assertNotNull(e.getMessage());
        }
      }
      checkHealth(server, 0);
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(null);
    }
    assertNull(escaped.get());
  }

  @ParameterizedTest
  @EnumSource
  void aLineWithoutEndIsCutOff(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.send("x".repeat(2049));
      assertEquals("", client.rest());
      checkHealth(server, 0);
    }
  }

  /** memcached's own testapp sends it. */
  @ParameterizedTest
  @EnumSource
  void soIsAGetBehindMoreThanAHundredBlanks(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.send(" ".repeat(101) + "gets foo" + " ".repeat(3000));
      assertEquals("", client.rest());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aKeyWithoutEndIsCutOff(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.send("get a b " + "x".repeat(3000));
      assertEquals("", client.rest());
      checkHealth(server, 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aValueThatIsNeverSentIsForgottenWithItsClient(Mode mode) throws Exception {
    try (var server = TestServer.start(mode)) {
      try (var client = server.connect()) {
        client.send("set k 0 0 500000\r\n" + "v".repeat(100_000));
        await(() -> server.server().store.stats().heldBytes() > 0);
        checkHeld(server);
      }
      checkHealth(server, 0);
    }
  }

  /** What is said of it is not its value, which nobody may hold at present. */
  @ParameterizedTest
  @EnumSource
  void aLargeItemIsDescribedThoughOthersHoldAllThatMayBeHeld(Mode mode) throws Exception {
    try (var server = TestServer.start(mode, 8 << 20);
        var client = server.connect();
        var sender = server.connect()) {
      client.exchange("set k 0 0 500000\r\n" + "v".repeat(500_000) + "\r\n");
      sender.send("set half 0 0 700000\r\n" + "v".repeat(5_000));
      await(() -> server.server().store.stats().heldBytes() > 0);
      long held = server.server().store.stats().heldBytes();
      var described = client.ask("me k");
      assertTrue(described.startsWith("ME k exp=-1 "), described);
      assertEquals(held, server.server().store.stats().heldBytes());
    }
  }

  private static void checkHeld(TestServer server) {
    var stats = server.server().store.stats();
    assertTrue(stats.heldBytes() <= stats.limit() / 10, () -> "held " + stats);
  }

  @ParameterizedTest
  @EnumSource
  void halfReceivedValuesTogetherHoldATenthOfTheMemory(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withMemory(16 << 20).withGrace(Duration.ofMillis(50));
    try (var server = TestServer.start(settings)) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < 20; i++) {
        var client = server.connect();
        clients.add(client);
        client.send("set k" + i + " 0 0 400000\r\n" + "v".repeat(10_000));
      }
      await(() -> server.server().statistics.totalConnections.sum() == 20);
      // The slowest go, until those that are left have room.
      await(() -> server.server().limit.served() < 10);
      checkHeld(server);
      int stored = 0;
      for (var client : clients) {
        stored += completes(client, "v".repeat(390_000) + "\r\n") ? 1 : 0;
        client.close();
      }
      assertTrue(stored < 10, "stored " + stored);
      checkHealth(server, 0);
    }
  }

  /** Sends the rest of a value; false if the server has hung up. */
  private static boolean completes(Client client, String rest) throws IOException {
    try {
      client.send(rest);
      return client.line().equals("STORED");
    } catch (SocketException e) {
      return false;
    }
  }

  /** Each sends a byte now and then, so that none is ever silent for long. */
  @ParameterizedTest
  @EnumSource
  void clientsThatSendAByteNowAndThenStopNobody(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withMemory(16 << 20).withGrace(Duration.ofMillis(200));
    try (var server = TestServer.start(settings);
        var healthy = server.connect()) {
      var value = "v".repeat(200_000);
      healthy.send("set mid 0 0 200000\r\n" + value + "\r\n");
      assertEquals("STORED", healthy.line());
      var slow = new ArrayList<Client>();
      for (int i = 0; i < 16; i++) {
        var client = server.connect();
        slow.add(client);
        client.send("set s" + i + " 0 0 " + (i < 8 ? 500_000 : 50_000) + "\r\n" + "v".repeat(5000));
      }
      await(() -> server.server().store.stats().heldBytes() > 1_000_000);
      for (int round = 0; round < 5; round++) {
        for (var client : slow) {
          dribble(client);
        }
        assertEquals("VALUE mid 0 200000", healthy.ask("get mid"));
        healthy.read(value.length() + "\r\nEND\r\n".length());
        // In pieces, so that it needs memory while it comes.
        healthy.send("set mid 0 0 200000\r\n" + value.substring(100_000));
        healthy.send(value.substring(100_000) + "\r\n");
        assertEquals("STORED", healthy.line());
      }
      for (var client : slow) {
        client.close();
      }
      checkHealth(server, 1);
    }
  }

  private static void dribble(Client client) {
    try {
      client.send("v");
    } catch (IOException e) {
      // The server may have hung up.
      assertNotNull(e.getMessage());
    }
  }

  @ParameterizedTest
  @EnumSource
  void clientsThatTakeAByteNowAndThenStopNobody(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withMemory(16 << 20).withGrace(Duration.ofMillis(200));
    try (var server = TestServer.start(settings);
        var healthy = server.connect()) {
      var value = "v".repeat(1_000_000);
      healthy.send("set big 0 0 1000000\r\n" + value + "\r\n");
      assertEquals("STORED", healthy.line());
      var slow = new ArrayList<Client>();
      for (int i = 0; i < 4; i++) {
        var client = server.connectWithSmallBuffer();
        slow.add(client);
        client.send("get big\r\n".repeat(10));
      }
      await(() -> server.server().store.stats().heldBytes() > 1_000_000);
      for (int round = 0; round < 3; round++) {
        for (var client : slow) {
          sip(client);
        }
        healthy.send("get big\r\n");
        assertEquals("VALUE big 0 1000000", healthy.line());
        healthy.read(value.length() + "\r\nEND\r\n".length());
      }
      for (var client : slow) {
        client.close();
      }
      checkHealth(server, 1);
    }
  }

  private static void sip(Client client) {
    try {
      client.read(1);
    } catch (IOException e) {
      // The server may have hung up.
      assertNotNull(e.getMessage());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aValueThatIsNotGoneOnWithIsGivenUp(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withWriteTimeout(Duration.ofMillis(200));
    try (var server = TestServer.start(settings);
        var client = server.connect();
        var binary = server.connect()) {
      client.send("set k 0 0 500000\r\n" + "v".repeat(10_000));
      binary.send(request(0x01, "\0\0\0\0\0\0\0\0", "k", "v".repeat(500_000)).substring(0, 9_000));
      assertEquals("", client.rest());
      assertEquals("", binary.rest());
      checkHealth(server, 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aValueThatComesByteForByteIsGivenUpAsWell(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withWriteTimeout(Duration.ofMillis(200));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      client.send("set k 0 0 500000\r\n" + "v".repeat(3_000));
      await(() -> server.server().store.stats().heldBytes() > 0);
      while (server.server().limit.served() > 0) {
        dribble(client);
        Thread.sleep(1);
      }
      checkHealth(server, 0);
    }
  }

  /** Many more than may keep buffers, each of them slow only since the others are served, too. */
  @ParameterizedTest
  @EnumSource
  void clientsThatPipelineAndReadAreNotHungUpOn(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withMemory(8 << 20).withProcessors(1);
    int commands = 4_000;
    try (var server = TestServer.start(settings)) {
      var readers = new ArrayList<Client>();
      for (int i = 0; i < 30; i++) {
        readers.add(server.connect());
      }
      readers.getFirst().exchange("set k 0 0 5000\r\n" + "x".repeat(5000) + "\r\n");
      for (var client : readers) {
        client.send("get k\r\n".repeat(commands));
      }
      int length = ("VALUE k 0 5000\r\n" + "x".repeat(5000) + "\r\nEND\r\n").length() * commands;
      var piece = new byte[1 << 16];
      for (int left = length; left > 0; left -= piece.length) {
        for (var client : readers) {
          int expected = Math.min(left, piece.length);
          assertEquals(expected, client.socket.getInputStream().readNBytes(piece, 0, expected));
        }
      }
      for (var client : readers) {
        client.close();
      }
      checkHealth(server, 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aClientThatNeverReadsIsCutOffAndHoldsLittle(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withWriteTimeout(Duration.ofMillis(500));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      client.exchange("set k 0 0 1000000\r\n" + "v".repeat(1_000_000) + "\r\n");
      var watcher = server.connect();
      assertEquals("OK", watcher.ask("watch connevents"));
      client.send("get k\r\n".repeat(100));
      await(() -> server.server().store.stats().heldBytes() > 0);
      checkHeld(server);
      var closed = watcher.upTo("\n");
      assertTrue(closed.contains(" reason=error "), closed);
      watcher.close();
      checkHealth(server, 0);
      assertEquals(0, server.server().statistics.idleKicks.sum());
    }
  }

  /** It always takes something in time, of buffers that others need. */
  @ParameterizedTest
  @EnumSource
  void aClientThatTakesItsRepliesTooSlowlyIsCutOff(Mode mode) throws Exception {
    var settings =
        TestServer.settings(mode).withWriteTimeout(Duration.ofMillis(300)).withLeastRate(1L << 40);
    try (var server = TestServer.start(settings);
        var client = server.connectWithSmallBuffer()) {
      client.exchange("set k 0 0 5000\r\n" + "x".repeat(5000) + "\r\n");
      client.send("get k\r\n".repeat(4_000));
      while (server.server().limit.served() > 0 && takesMore(client)) {
        Thread.sleep(10);
      }
      checkHealth(server, 0);
    }
  }

  /**
   * Of a client that always takes something in time: how much of that a system lets us see depends
   * on its buffers, so the pace is told here.
   */
  @Test
  void whoTakesRepliesTooSlowlyIsHungUpOnThoughItAlwaysTakesSomething() throws Exception {
    var settings =
        TestServer.settings(Mode.PROCESSORS)
            .withWriteTimeout(Duration.ofMillis(100))
            .withLeastRate(1L << 20);
    var hungUp = new CountDownLatch(1);
    try (var server = TestServer.start(settings)) {
      var pace = new Pace();
      try (var _ = server.server().blockedWriters.hold(pace, hungUp::countDown)) {
        for (int i = 0; hungUp.getCount() > 0 && i < 20_000; i++) {
          pace.waits();
          Thread.sleep(1);
          pace.goesOn();
          pace.moved(1);
        }
        assertEquals(0, hungUp.getCount());
      }
    }
  }

  /** Seen: an error ended the clock, and with it all expiry, for as long as the server ran. */
  @Test
  void anErrorDoesNotEndTheMaintenance() throws Exception {
    var settings =
        TestServer.settings(Mode.PROCESSORS)
            .withWriteTimeout(Duration.ofMillis(1))
            .withLeastRate(1);
    var failed = new CountDownLatch(1);
    var hungUp = new CountDownLatch(1);
    Runnable failing =
        () -> {
          failed.countDown();
          throw new OutOfMemoryError("no memory to hang up, says the test");
        };
    try (var server = TestServer.start(settings)) {
      var peers = server.server().blockedWriters;
      var first = new Pace();
      first.waits();
      try (var _ = peers.hold(first, failing)) {
        await(() -> failed.getCount() == 0);
        var second = new Pace();
        second.waits();
        try (var _ = peers.hold(second, hungUp::countDown)) {
          await(() -> hungUp.getCount() == 0);
        }
      }
    }
  }

  @Test
  void whatFailsOfTheMaintenanceKeepsNothingElseFromBeingDone() throws Exception {
    var settings =
        TestServer.settings(Mode.PROCESSORS)
            .withWriteTimeout(Duration.ofMillis(1))
            .withLeastRate(1);
    var failed = new AtomicInteger();
    Runnable failing =
        () -> {
          failed.incrementAndGet();
          throw new OutOfMemoryError("no memory to hang up, says the test");
        };
    try (var server = TestServer.start(settings)) {
      var pace = new Pace();
      pace.waits();
      try (var _ = server.server().blockedWriters.hold(pace, failing)) {
        await(() -> failed.get() > 0);
        long rounds = server.server().store.upkeep().rounds();
        await(() -> failed.get() > 3);
        assertTrue(server.server().store.upkeep().rounds() > rounds);
      }
    }
  }

  /** Seen: what failed for one kind of clients kept those of another kind. */
  @Test
  void whoSendsARefusedValueTooSlowlyIsHungUpOnThoughThatFailsForOthers() throws Exception {
    var settings =
        TestServer.settings(Mode.PROCESSORS)
            .withWriteTimeout(Duration.ofMillis(1))
            .withLeastRate(1);
    var failed = new AtomicInteger();
    Runnable failing =
        () -> {
          failed.incrementAndGet();
          throw new OutOfMemoryError("no memory to hang up, says the test");
        };
    var hungUp = new CountDownLatch(1);
    try (var server = TestServer.start(settings)) {
      var pace = new Pace();
      pace.waits();
      try (var _ = server.server().refusedSenders.hold(pace, hungUp::countDown);
          var _ = server.server().valueHolders.hold(pace, failing)) {
        await(() -> failed.get() > 3);
        assertEquals(0, hungUp.getCount());
      }
    }
  }

  /** Who opens its port again then would find it taken. */
  @Test
  void whoEndsAServerThatIsBeingEndedWaitsForThat() throws Exception {
    var go = new CountDownLatch(1);
    var server = TestServer.start(Mode.PROCESSORS);
    server.server().spawn(() -> awaitThoughInterrupted(go));
    var first = Thread.ofPlatform().start(server::close);
    server.server().awaitEnd();
    var second = Thread.ofPlatform().start(server::close);
    await(() -> second.getState() == State.WAITING || !second.isAlive());
    boolean waits = second.isAlive();
    go.countDown();
    first.join();
    second.join();
    assertTrue(waits);
  }

  private static void awaitThoughInterrupted(CountDownLatch latch) {
    while (latch.getCount() > 0) {
      LockSupport.parkNanos(1_000_000);
      var _ = Thread.interrupted();
    }
  }

  /** Seen: each of them kept a whole report on the heap, which none of the limits counts. */
  @ParameterizedTest
  @ValueSource(strings = {"stats detail dump\r\n", "stats conns\r\n", BINARY})
  void reportsThatAreNotTakenTakeNoMemory(String asked) throws Exception {
    int clients = 40;
    try (var server = TestServer.start(Mode.PROCESSORS);
        var first = server.connect()) {
      assertEquals("OK", first.ask("stats detail on"));
      for (int i = 0; i < 10_000; i++) {
        var prefix = "p".repeat(240) + i;
        server.server().details.count(prefix + ":", Details.Kind.GET);
      }
      first.exchange("");
      fillConnectionList(server.server());
      long before = usedHeap();
      var deaf = new ArrayList<Client>();
      for (int i = 0; i < clients; i++) {
        deaf.add(server.connectWithSmallBuffer());
        deaf.getLast().send(asked.equals(BINARY) ? request(0x10, "", "conns", "") : asked);
      }
      await(() -> server.server().blockedWriters.count() == clients);
      long used = usedHeap() - before;
      assertTrue(used < clients * 1_000_000L, () -> used + " bytes of heap");
      for (var client : deaf) {
        client.close();
      }
      await(() -> server.server().limit.served() == 1);
      checkServes(server);
    }
  }

  private static final String BINARY = "binary";

  /** Lists the only connection so often that the report has some megabytes. */
  private static void fillConnectionList(MemcachedServer server) {
    var session = server.sessions.firstEntry().getValue();
    for (int number = 10_000; number < 30_000; number++) {
      server.sessions.put(number, new Session(server, session.connection, number));
    }
  }

  private static long usedHeap() {
    System.gc();
    var runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** Its length comes first, so it is made whole: by a few at a time. */
  @Test
  void dumpsThatMustBeWholeAreRefusedBeyondSome() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      var dumps = server.server().details.wholeDumps;
      int all = dumps.drainPermits();
      client.send(request(0x10, "", "detail dump", ""));
      assertEquals("\u0081\u0010\0\0\0\0\0\u0082", client.read(24).substring(0, 8));
      assertEquals("Out of memory", client.read(13));
      dumps.release(all);
      client.send(request(0x10, "", "detail dump", ""));
      var dumped = "detailed" + "END\r\n";
      assertEquals(
          dumped, client.read(24 + dumped.length() + 24).substring(24, 24 + dumped.length()));
      await(() -> dumps.availablePermits() == all);
    }
  }

  private static boolean takesMore(Client client) {
    try {
      return !client.read(1 << 12).isEmpty();
    } catch (IOException e) {
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource
  void aByteAtATimeIsEnough(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (char c : "set k 7 0 5\r\nvalue\r\nget k\r\nmg k f v\r\n".toCharArray()) {
        client.send("" + c);
      }
      assertEquals(
          "STORED\r\nVALUE k 7 5\r\nvalue\r\nEND\r\nVA 5 f7\r\nvalue\r\n", client.exchange(""));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anIdleClientIsClosed(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withIdleTimeout(Duration.ofMillis(300));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      client.send("set k 0 0 5\r\nva");
      assertEquals("", client.rest());
      await(() -> server.server().statistics.idleKicks.sum() == 1);
    }
  }

  /** Seen: a byte now and then kept a place for hours. */
  @ParameterizedTest
  @EnumSource
  void aClientThatDribblesALineIsIdle(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withIdleTimeout(Duration.ofSeconds(1));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      await(() -> server.server().statistics.totalConnections.sum() == 1);
      while (server.server().limit.served() == 1) {
        dribble(client);
        Thread.sleep(20);
      }
      await(() -> server.server().statistics.idleKicks.sum() == 1);
    }
  }

  /** Seen: each byte of a value gave it as much time as all of a line has. */
  @ParameterizedTest
  @EnumSource
  void aClientThatDribblesAShortValueIsIdle(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withIdleTimeout(Duration.ofSeconds(1));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      await(() -> server.server().statistics.totalConnections.sum() == 1);
      client.send("set k 0 0 2000\r\n");
      while (server.server().limit.served() == 1) {
        dribble(client);
        Thread.sleep(20);
      }
      await(() -> server.server().statistics.idleKicks.sum() == 1);
      assertEquals(0, server.server().statistics.sets.sum());
    }
  }

  /** As in memcached, whose idle clients are none that owe a value. */
  @ParameterizedTest
  @EnumSource
  void aClientWhoseLongValueTakesLongerIsNotIdle(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withIdleTimeout(Duration.ofSeconds(4));
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      client.send("set k 0 0 3024\r\n" + "v".repeat(3_000));
      long begun = System.nanoTime();
      for (int i = 0; i < 24; i++) {
        Thread.sleep(250);
        client.send("v");
      }
      assertTrue(System.nanoTime() - begun > settings.idleTimeout.toNanos());
      client.send("\r\n");
      assertEquals("STORED", client.line());
    }
  }

  /** Seen: it kept its place as long as it sent a byte now and then. */
  @ParameterizedTest
  @EnumSource
  void aRefusedValueThatComesByteForByteIsGivenUp(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withWriteTimeout(Duration.ofMillis(200));
    try (var server = TestServer.start(settings);
        var text = server.connect();
        var binary = server.connect()) {
      await(() -> server.server().limit.served() == 2);
      text.send("set k 0 0 2000000\r\n");
      var set = request(0x01, "\0\0\0\0\0\0\0\0", "k", "v".repeat(2_000_000));
      binary.send(set.substring(0, 24 + 8 + 1));
      while (server.server().limit.served() > 0) {
        dribble(text);
        dribble(binary);
        Thread.sleep(1);
      }
      checkHealth(server, 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void connectionsBeyondTheLimitAreTurnedAway(Mode mode) throws Exception {
    try (var server = TestServer.start(TestServer.settings(mode).withConnections(5))) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < 5; i++) {
        clients.add(server.connect());
        assertEquals("", clients.getLast().exchange(""));
      }
      for (int i = 0; i < 50; i++) {
        try (var client = server.connect()) {
          assertEquals("ERROR Too many open connections\r\n", client.rest());
        }
      }
      assertEquals(50, server.server().statistics.rejectedConnections.sum());
      clients.removeLast().close();
      await(() -> server.server().limit.served() == 4);
      checkHealth(server, 4);
      for (var client : clients) {
        assertEquals("", client.exchange(""));
        client.close();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneThatFloodsDoesNotStopOthers(Mode mode) throws Exception {
    try (var server =
            TestServer.start(TestServer.settings(mode).withProcessors(1).withRequestsPerTurn(20));
        var flood = server.connect()) {
      var flooder =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      while (true) {
                        flood.send("get a\r\n".repeat(10_000));
                        flood.read(50_000);
                      }
                    } catch (IOException e) {
                      // The test is over.
                      return;
                    }
                  });
      await(() -> server.server().statistics.yields.sum() > 0);
      for (int i = 0; i < 20; i++) {
        checkHealth(server, 1);
      }
      flood.socket.close();
      flooder.join();
    }
  }

  /** Seen: it fills the buffer, so that there is no room for what it waits for. */
  @ParameterizedTest
  @EnumSource
  void aLongLineThatAnnouncesAValueEndsTheConnection(Mode mode) throws Exception {
    try (var server = TestServer.start(TestServer.settings(mode).withProcessors(1))) {
      for (int length : new int[] {2_047, 2_048, 2_049, 65_533, 65_534, 65_535, 65_536, 65_537}) {
        for (var command : List.of("set k 0 0 10", "ms k 10", "set k 0 0 2000")) {
          try (var client = server.connect()) {
            client.send(command + " ".repeat(length - command.length() - 1) + "\n");
            client.send("0123456789\r\n");
            checkServes(server);
          } catch (SocketException e) {
            // It was hung up on while it still sent.
            checkServes(server);
          }
          checkHealth(server, 0);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void manyThatNeverReadAreHungUpOn(Mode mode) throws Exception {
    // Long before the time for a reply is over.
    var settings =
        TestServer.settings(mode)
            .withMemory(8 << 20)
            .withGrace(Duration.ofMillis(100))
            .withWriteTimeout(Duration.ofHours(1));
    try (var server = TestServer.start(settings);
        var first = server.connect()) {
      first.exchange("set k 0 0 7000\r\n" + "x".repeat(7000) + "\r\n");
      var deaf = new ArrayList<Client>();
      for (int i = 0; i < 30; i++) {
        var client = server.connect();
        deaf.add(client);
        client.send("get k\r\n".repeat(5_000));
      }
      await(() -> server.server().statistics.totalConnections.sum() == 31);
      await(() -> server.server().limit.served() <= 7);
      checkServes(server);
      for (var client : deaf) {
        client.close();
      }
      checkHealth(server, 1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void largeValuesWaitForRoomInsteadOfBeingRefused(Mode mode) throws Exception {
    try (var server = TestServer.start(mode, 16 << 20);
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var value = "v".repeat(300_000);
      var replies = new ArrayList<Future<String>>();
      for (int i = 0; i < 16; i++) {
        var key = "k" + i;
        replies.add(
            clients.submit(
                () -> {
                  try (var client = server.connect()) {
                    return client.exchange("set " + key + " 0 0 300000\r\n" + value + "\r\n")
                        + client.exchange("get " + key + "\r\n").length();
                  }
                }));
      }
      for (int i = 0; i < replies.size(); i++) {
        int length = ("VALUE k" + i + " 0 300000\r\n" + value + "\r\nEND\r\n").length();
        assertEquals("STORED\r\n" + length, replies.get(i).get());
      }
      checkHealth(server, 0);
    }
  }

  /** Who holds the room may wait for just that reply. */
  @ParameterizedTest
  @EnumSource
  void repliesLeaveBeforeRoomIsWaitedFor(Mode mode) throws Exception {
    var settings = TestServer.settings(mode).withMemory(8 << 20).withGrace(Duration.ofHours(1));
    try (var server = TestServer.start(settings);
        var holder = server.connect();
        var client = server.connect()) {
      holder.send("set half 0 0 700000\r\n" + "v".repeat(5_000));
      await(() -> server.server().store.stats().heldBytes() > 0);
      client.send("mg none\r\nset large 0 0 700000\r\n");
      assertEquals("EN", client.line());
      holder.send("v".repeat(695_000) + "\r\n");
      assertEquals("STORED", holder.line());
      client.send("v".repeat(700_000) + "\r\n");
      assertEquals("STORED", client.line());
    }
  }

  @ParameterizedTest
  @EnumSource
  void watchersThatAreGoneBeforeTheyAreToldLeaveNothing(Mode mode) throws Exception {
    try (var server = TestServer.start(mode)) {
      for (int i = 0; i < 50; i++) {
        try (var client = server.connect()) {
          client.socket.setSoLinger(true, 0);
          client.send("watch fetchers mutations\r\n");
        }
      }
      checkHealth(server, 0);
      await(() -> server.server().watchers.count() == 0);
    }
  }

  /** Seen: the fiber broke down, and printed an exception. */
  @ParameterizedTest
  @EnumSource
  void whoBeginsToWatchWhileTheServerEndsIsNoFault(Mode mode) throws Exception {
    var server = TestServer.start(mode);
    server.close();
    try (var fibers = Fibers.builder().mode(mode).start();
        var pair = MemoryPair.of(fibers)) {
      assertTrue(server.server().watchers.watch(server.server(), pair.far(), Set.of()));
      assertEquals(0, server.server().watchers.count());
    }
  }

  @ParameterizedTest
  @EnumSource
  void othersAreServedWhileAllKeysAreListed(Mode mode) throws Exception {
    try (var server = TestServer.start(TestServer.settings(mode).withProcessors(1));
        var client = server.connect();
        var other = server.connect()) {
      for (int i = 0; i < 50_000; i++) {
        client.send("set key" + i + " 0 0 1 noreply\r\nx\r\n");
      }
      client.exchange("");
      // It reads nothing, so the list cannot end before the other is served.
      client.send("lru_crawler metadump all\r\n");
      assertEquals("VALUE key7 0 1\r\nx\r\nEND\r\n", other.exchange("get key7\r\n"));
      assertTrue(client.exchange("").endsWith("END\r\n"));
    }
  }
}
