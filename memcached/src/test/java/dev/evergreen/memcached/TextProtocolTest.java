package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the protocol answers, and how it is cut into pieces. */
@Timeout(120)
class TextProtocolTest {

  /** Sends the lines of a dialogue that begin with {@code >} and expects the others, in one go. */
  static void dialogue(Client client, String text) throws IOException {
    var request = new StringBuilder();
    var expected = new StringBuilder();
    for (var line : text.lines().toList()) {
      if (line.startsWith("> ")) {
        request.append(line.substring(2)).append("\r\n");
      } else {
        expected.append(line).append("\r\n");
      }
    }
    assertEquals(expected.toString(), client.exchange(request.toString()));
  }

  private static void dialogue(Mode mode, String text) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      dialogue(client, text);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aMissingKeyIsFoundAfterItWasSet(Mode mode) throws IOException {
    dialogue(
        mode,
        """
        > get a
        END
        > set a 5 0 3
        > abc
        STORED
        > gets a b a
        VALUE a 5 3 1
        abc
        VALUE a 5 3 1
        abc
        END""");
  }

  @ParameterizedTest
  @EnumSource
  void commandsMayBeCutAnywhere(Mode mode) throws IOException {
    var commands =
        "set a 0 0 3\r\nabc\r\nget a b\r\nset b 7 0 2 noreply\r\nxy\r\nget b a\r\nincr n 1\r\n";
    var replies =
        "STORED,VALUE a 0 3,abc,END,VALUE b 7 2,xy,VALUE a 0 3,abc,END,NOT_FOUND,"
            .replace(",", "\r\n");
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (int i = 1; i < commands.length(); i++) {
        client.send("flush_all noreply\r\n");
        client.send(commands.substring(0, i));
        assertEquals(replies, client.exchange(commands.substring(i)), "cut at " + i);
      }
    }
  }

  /** Keys may contain such bytes, but no other word is what it is without them. */
  @ParameterizedTest
  @EnumSource
  void aWordWithBytesOfValueZeroIsNoOther(Mode mode) throws IOException {
    dialogue(
        mode,
        """
        > \0get a
        ERROR
        > \0\0mg a
        ERROR
        > \0version
        ERROR
        > touch a 0 \0noreply
        NOT_FOUND
        > delete a \0noreply
        CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]
        > delete a \0000
        CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]""");
  }

  /** The last flush counts; what is stored after its time stays. */
  @ParameterizedTest
  @EnumSource
  void aFlushMayBeToCome(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var hit = "VALUE a 0 1\r\nx\r\nEND\r\n";
      assertEquals(
          "STORED\r\nOK\r\n" + hit,
          client.exchange("set a 0 0 1\r\nx\r\nflush_all 1000\r\nget a\r\n"));
      assertEquals("", client.exchange("flush_all 1 noreply\r\n"));
      while (client.exchange("get a\r\n").equals(hit)) {
        Thread.sleep(1);
      }
      assertEquals("STORED\r\n" + hit, client.exchange("set a 0 0 1\r\nx\r\nget a\r\n"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void largeValuesAreReceivedAndSentWhole(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      for (int length = 1 << 10; length <= 1_000_000; length = length * 3 + 1) {
        var value = "0123456789abcdef".repeat(length / 16 + 1).substring(0, length);
        var set = "set k 0 0 " + length + "\r\n" + value + "\r\n";
        assertEquals("STORED\r\n", client.exchange(set));
        var get = "VALUE k 0 " + length + "\r\n" + value + "\r\nEND\r\n";
        assertEquals(get + get, client.exchange("get k\r\nget k\r\n"));
        assertEquals(
            "HD\r\nVA " + length + "\r\n" + value + "\r\n",
            client.exchange("ms k " + length + "\r\n" + value + "\r\nmg k v\r\n"));
      }
      assertEquals(0, server.server().store.stats().heldBytes());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aLineOfVeryManyKeysIsAnswered(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var keys = new StringBuilder("gets");
      var replies = new StringBuilder();
      for (int i = 0; i < 40_000; i++) {
        keys.append(" key").append(i);
        if (i % 3 == 0) {
          client.send("set key" + i + " 1 0 2 noreply\r\nxy\r\n");
          replies.append("VALUE key" + i + " 1 2 ").append(1 + i / 3).append("\r\nxy\r\n");
        }
      }
      assertTrue(keys.length() > 256 << 10);
      assertEquals("", client.exchange(""));
      assertEquals(replies + "END\r\n", client.exchange(keys + "\r\n"));
    }
  }

  /** Its second word is none of them. */
  @ParameterizedTest
  @EnumSource
  void aLineOfVeryManyKeysMayTouchThem(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("set 1000 0 0 1\r\nx\r\nset k 0 0 1\r\ny\r\n");
      int count = 60_000;
      for (boolean cas : new boolean[] {false, true}) {
        var line = (cas ? "gats" : "gat") + " 1000" + " k".repeat(count) + "\r\n";
        var hit = "VALUE k 0 1" + (cas ? " 2" : "") + "\r\ny\r\n";
        assertTrue(line.length() > 100_000);
        assertTrue(
            (hit.repeat(count) + "END\r\n").equals(client.exchange(line)), line.substring(0, 9));
      }
      assertTrue(client.ask("mg k t").matches("HD t(9[0-9]{2}|1000)"));
    }
  }

  /** It might be the beginning of a longer one, which would end the connection. */
  @ParameterizedTest
  @EnumSource
  void aLongLineMayBeCutBehindAKeyOfTheGreatestLength(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      client.exchange("set hit 0 0 1\r\nx\r\n");
      var hit = "VALUE hit 0 1\r\nx\r\n";
      client.send("get hit" + (" " + "k".repeat(250)).repeat(20));
      assertEquals(hit, client.read(hit.length()), "what was there is answered");
      assertEquals(hit + "END\r\n", client.exchange(" hit\r\n"));
    }
  }

  /** Of the time since 1970, as all times that are far away. */
  @ParameterizedTest
  @EnumSource
  void aFlushMayBeToComeAtATime(Mode mode) throws Exception {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var hit = "VALUE a 0 1\r\nx\r\nEND\r\n";
      long soon = System.currentTimeMillis() / 1000 + 2;
      client.exchange("set a 0 0 1\r\nx\r\nflush_all " + soon + "\r\n");
      while (client.exchange("get a\r\n").equals(hit)) {
        Thread.sleep(1);
      }
      assertEquals("STORED\r\n" + hit, client.exchange("set a 0 0 1\r\nx\r\nget a\r\n"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void inputThatFillsTheBuffersIsAnsweredInOrder(Mode mode) throws IOException {
    try (var server = TestServer.start(mode);
        var client = server.connect()) {
      var large = "v".repeat(1_000_000);
      client.exchange("set a 0 0 2\r\nxy\r\nset large 0 0 1000000\r\n" + large + "\r\n");
      // Nothing is read, so that the server writes no more, and all that is sent now waits for it.
      client.send("get large\r\n".repeat(20));
      client.send("get" + " a b".repeat(50_000) + "\r\nget a\r\n");
      var reply = "VALUE large 0 1000000\r\n" + large + "\r\nEND\r\n";
      for (int i = 0; i < 20; i++) {
        assertEquals(reply, client.read(reply.length()));
      }
      var hit = "VALUE a 0 2\r\nxy\r\n";
      var hits = hit.repeat(50_000) + "END\r\n" + hit + "END\r\n";
      assertEquals(hits, client.read(hits.length()));
      assertEquals("", client.exchange(""));
    }
  }

  /** A session that flushed by itself would send each reply alone. */
  @Test
  void repliesAreLeftToTheProcessorToSendThemTogether() throws IOException {
    try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).start()) {
      assumeTrue(fibers.io() == Fibers.Io.IO_URING, "this system has no io_uring");
    }
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      for (int i = 0; i < 20; i++) {
        client.exchange("get k\r\n");
      }
      var processors = server.server().fibers().processors();
      assertTrue(processors.stream().mapToLong(processor -> processor.posts()).sum() > 0);
    }
  }
}
