package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Connections whose requests come in pieces. */
@Timeout(60)
class InputTest {

  private static final String LARGE = "0123456789".repeat(2_000);
  private static final String SMALL = "0123456789".repeat(100);

  /** Sends each piece when all before it is waited behind, without a buffer. */
  static void sendInPieces(TestServer server, Client client, String... pieces) throws Exception {
    long sent = server.server().statistics.read.sum();
    for (var piece : pieces) {
      client.send(piece);
      sent += piece.length();
      awaitRest(server, sent);
    }
  }

  private static void awaitRest(TestServer server, long received) throws InterruptedException {
    var sessions = server.server().sessions;
    while (sessions.isEmpty()) {
      Thread.sleep(1); // The client may be connected before it is served.
    }
    var input = sessions.firstEntry().getValue().in;
    while (server.server().statistics.read.sum() < received
        || !input.isWaiting()
        || input.memory != MemorySegment.NULL) {
      Thread.sleep(1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whileACommandOfTextIsWaitedForThereIsNoBuffer(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      assertEquals("", client.exchange(""));
      sendInPieces(server, client, "s", "et k 5", " 0 1000", "\r", "\n", SMALL, "\r", "\n");
      assertEquals("STORED", client.line());
      sendInPieces(server, client, "ms k 20000 k Oopaque c\r\n", LARGE.substring(0, 3_000));
      sendInPieces(server, client, LARGE.substring(3_000), "\r", "\n");
      assertEquals("HD kk Oopaque c2", client.line());
      sendInPieces(server, client, "ms aw== 5 b k Oxyz\r\n", "val", "ue\r\n");
      assertEquals("HD kaw== b Oxyz", client.line());
      sendInPieces(server, client, "get " + "x ".repeat(1_500), "k ", "k", "\r", "\n");
      assertEquals("VALUE k 0 5\r\nvalue\r\n".repeat(2) + "END\r\n", client.read(45));
    }
  }

  /** Seen: half of the line's end was taken for a part of the key. */
  @ParameterizedTest
  @EnumSource
  void theLastKeyOfALongLineIsAsLongAsKeysMayBeThoughTheEndComesInPieces(Mode mode)
      throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("");
      var key = " " + "k".repeat(250);
      sendInPieces(server, client, "get" + key.repeat(10) + "\r", "\n");
      assertEquals("END", client.line());
      sendInPieces(server, client, "get" + key.repeat(10) + "\r", "k\n");
      assertEquals("CLIENT_ERROR bad command line format", client.line());
    }
  }

  /** Seen: who had one key left of those before them was hung up on. */
  @ParameterizedTest
  @EnumSource
  void blanksOfALongLineMayComeInPiecesOfTheirOwn(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("set k 0 0 1\r\nx\r\n");
      var blanks = " ".repeat(2_100);
      var value = value("k", "x");
      for (var command : new String[] {"get", "gat 0"}) {
        for (var end : new String[] {"", " "}) {
          sendInPieces(server, client, command + " k".repeat(1_100) + end, blanks, blanks, "\r\n");
          assertEquals(value.repeat(1_100), client.upTo("END\r\n"));
        }
        sendInPieces(server, client, command + " k" + blanks, blanks, "k\r\n");
        assertEquals(value.repeat(2), client.upTo("END\r\n"));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void blanksWithoutAKeyThatIsWholeAreNoLongGet(Mode mode) throws Exception {
    var blanks = " ".repeat(2_100);
    for (var line : new String[] {"get" + blanks, "get" + blanks + "k", "gat 0" + blanks + "k"}) {
      try (var server = TestServer.start(mode);
          var client = server.connect()) {
        client.send(line);
        assertEquals("", client.rest());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void whileABinaryRequestIsWaitedForThereIsNoBuffer(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (var value : new String[] {SMALL, LARGE}) {
        var set = request(0x01, "\0\0\0\5\0\0\0\0", "key", value);
        client.send(set);
        var reply = client.read(24);
        sendInPieces(server, client, set.substring(0, 1), set.substring(1, 23));
        sendInPieces(server, client, set.substring(23, 30), set.substring(30, 34));
        sendInPieces(server, client, set.substring(34, 35), set.substring(35, 60));
        sendInPieces(server, client, set.substring(60));
        assertEquals(reply.substring(0, 16), client.read(24).substring(0, 16));
        client.send(request(0x00, "", "key", ""));
        assertEquals("\0\0\0\5" + value, client.read(24 + 4 + value.length()).substring(24));
      }
    }
  }

  /** What was answered before has left by then, so that it is the first of its turn. */
  @ParameterizedTest
  @EnumSource
  void aCommandThatWasWaitedForIsNotBehindOthers(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("");
      sendInPieces(server, client, "mg k\r\nlru_crawler meta", "dump all\r\n");
      assertEquals("EN\r\nEND\r\n", client.read(9));
      sendInPieces(server, client, "mg k\r\nlru_crawler metadump all\r\n");
      assertEquals("EN", client.line());
      assertEquals("ERROR cannot pipeline other commands before metadump", client.line());
    }
  }

  /** Else whoever sends long lines is served before all others. */
  @ParameterizedTest
  @EnumSource
  void manyKeysOfOneLineTakeSeveralTurns(Mode mode) throws Exception {
    try (var server = TestServer.start(TestServer.settings(mode).withRequestsPerTurn(20));
        var client = server.connect()) {
      client.exchange("set k 0 0 1\r\nx\r\n");
      long before = server.server().statistics.yields.sum();
      for (var end : new String[] {"", " ", " absent"}) {
        assertEquals(
            "VALUE k 0 1\r\nx\r\n".repeat(10_000) + "END\r\nHD\r\n",
            client.exchange("get" + " k".repeat(10_000) + end + "\r\nmg k\r\n"));
      }
      long turns = 3 * (10_000 / Line.MOST_WORDS / 21);
      long yields = server.server().statistics.yields.sum() - before;
      // Some of them end as more of the line is waited for.
      assertTrue(yields >= turns / 2, () -> yields + " turns");
      // Each has all that a turn may have: one that is not begun anew would end at once.
      assertTrue(yields <= 2 * turns, () -> yields + " turns");
    }
  }

  /** Else whoever is answered would wait for all who have their turn in between. */
  @Test
  void repliesHaveLeftWhenOthersGetTheirTurn() throws Exception {
    var settings = TestServer.settings(Mode.PROCESSORS).withProcessors(1).withRequestsPerTurn(1);
    try (var server = TestServer.start(settings);
        var client = server.connect()) {
      client.exchange("");
      var replies = new CompletableFuture<Integer>();
      var other = new Other(server.server(), client, replies);
      other.start();
      client.send("mg one\r\nmg two\r\n");
      assertEquals("EN\r\n".length(), replies.get());
      assertEquals("EN\r\nEN\r\n", client.read(8));
    }
  }

  /** A fiber that computes all the time, and lets others run until somebody lets it run. */
  private record Other(MemcachedServer server, Client client, CompletableFuture<Integer> replies) {

    private static final long PATIENCE_NANOS = 5_000_000_000L;

    void start() {
      long before = server.statistics.yields.sum();
      server.spawn(() -> run(before));
    }

    private void run(long before) {
      try {
        while (server.statistics.yields.sum() == before) {
          Fibers.letOthersRun();
        }
        // From here on the only processor is ours.
        var input = client.socket.getInputStream();
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (input.available() == 0 && System.nanoTime() - end < 0) {
          Thread.onSpinWait();
        }
        replies.complete(input.available());
      } catch (IOException e) {
        replies.completeExceptionally(e);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReportOfStatisticsIsATurn(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("");
      long before = server.server().statistics.yields.sum();
      client.exchange("stats conns\r\n".repeat(3));
      assertEquals(3, server.server().statistics.yields.sum() - before);
    }
  }

  /** Its reply would else be taken for that of the request behind. */
  @ParameterizedTest
  @EnumSource
  void aRefusedValueIsDroppedAsItComes(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("");
      var value = "x".repeat(2_000_000);
      client.send("set k 0 0 2000000\r\n" + value.substring(0, 1_000_000));
      client.send(value.substring(1_000_000) + "\r\nget k\r\n");
      assertEquals("SERVER_ERROR object too large for cache", client.line());
      assertEquals("END", client.line());
    }
  }

  /** Each piece is answered but for its last key, and goes on as a command of its own. */
  @ParameterizedTest
  @EnumSource
  void aLineOfKeysMayComeInAnyPieces(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var key = "k".repeat(250);
      client.exchange("set k 0 0 1\r\nx\r\nset " + key + " 0 0 1\r\ny\r\n");
      var keys = (" k absent  " + key + "   k").repeat(9);
      // Behind another command, so that the line is moved to the buffer's beginning.
      var values = value("k", "x") + value(key, "y") + value("k", "x");
      var replies = "MN\r\n" + values.repeat(9) + "END\r\n";
      for (var command : new String[] {"get", "gat 0", "  bget", "gat 5000\tx"}) {
        for (var end : new String[] {"\r\n", "\n", " \r\n", " ".repeat(3_000) + "\r\n"}) {
          var line = "mn\r\n" + command + keys + end;
          for (int cut = 2_040; cut < line.length(); cut += 83) {
            sendInPieces(server, client, line.substring(0, cut), line.substring(cut));
            assertEquals(replies, client.read(replies.length()), line + cut);
          }
        }
      }
      assertEquals("", client.exchange(""));
    }
  }

  private static String value(String key, String value) {
    return "VALUE " + key + " 0 " + value.length() + "\r\n" + value + "\r\n";
  }

  /** It is read anew with what comes behind. */
  @ParameterizedTest
  @EnumSource
  void aShortValueMayComeInAnyPieces(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("");
      var request =
          String.join(
                  "\r\n",
                  "set k 7 0 5 ",
                  "value",
                  "ms k 2 Oq k T9",
                  "no",
                  "cas k 0 0 1 5",
                  "x",
                  "mn")
              + "\r\n";
      for (int cut = 1; cut < request.length(); cut++) {
        sendInPieces(server, client, request.substring(0, cut), request.substring(cut));
        assertEquals("STORED\r\nHD Oq kk\r\nEXISTS\r\nMN\r\n", client.read(30));
      }
    }
  }
}
