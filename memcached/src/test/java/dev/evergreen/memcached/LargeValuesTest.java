package dev.evergreen.memcached;

import static dev.evergreen.memcached.BinaryProtocolTest.request;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Values of many megabytes, where {@code -I} allows them. */
@Timeout(120)
class LargeValuesTest {
  private static final int HEADER = 24;
  private static final String EXTRAS_OF_SET = "\0\0\0\5\0\0\0\0";

  private static TestServer start(Mode mode) throws IOException {
    return TestServer.start(TestServer.settings(mode).withMemory(1 << 30).withItemLimit(64 << 20));
  }

  /** A value in which no part can stand for another one. */
  private static String value(int length) {
    var value = new StringBuilder(length + 8);
    for (int i = 0; value.length() < length; i++) {
      value.append(i).append(' ');
    }
    value.setLength(length);
    return value.toString();
  }

  /** Seen: the room for client flags was forgotten, but only where values are joined. */
  @ParameterizedTest
  @CsvSource({"0, 0", "5, 4"})
  void whatIsJoinedIsAsLargeAsWhatIsSet(int flags, int less) throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var client = server.connect()) {
      int most = server.server().store.maxValueLength(1) - less;
      for (int length : new int[] {most, most + 1}) {
        var head = "k " + flags + " 0 ";
        var set = client.exchange("set " + head + length + "\r\n" + "x".repeat(length) + "\r\n");
        var rest = "x".repeat(length - 10);
        for (var command : List.of("append ", "prepend ")) {
          client.exchange("set " + head + "10\r\n" + "x".repeat(10) + "\r\n");
          var joined = client.exchange(command + head + rest.length() + "\r\n" + rest + "\r\n");
          assertEquals(length == most ? "STORED\r\n" : "NOT_STORED\r\n", joined);
        }
        assertEquals(length == most, set.equals("STORED\r\n"), set);
      }
    }
  }

  /** Without printing megabytes if they differ. */
  private static void assertReads(String expected, Client client) throws IOException {
    var actual = client.read(expected.length());
    assertEquals(expected.length(), actual.length());
    assertTrue(expected.equals(actual), "the value has changed");
  }

  private static String found(String value) {
    return "VALUE k 5 " + value.length() + "\r\n" + value + "\r\nEND\r\n";
  }

  private static void assertNothingHeld(TestServer server, Client client) throws IOException {
    assertEquals("", client.exchange(""));
    assertEquals(0, server.server().store.stats().heldBytes());
  }

  @ParameterizedTest
  @CsvSource({
    "PROCESSORS, 3000000",
    "PROCESSORS, 20000000",
    "PROCESSORS, 60000000",
    "JDK, 3000000",
    "JDK, 20000000"
  })
  void theyAreSetReadAndJoinedByText(Mode mode, int length) throws IOException {
    try (var server = start(mode);
        var client = server.connect()) {
      var value = value(length);
      client.send("set k 5 0 " + length + "\r\n" + value + "\r\nget k\r\n");
      assertReads("STORED\r\n" + found(value), client);
      client.send("append k 0 0 4\r\ntail\r\nprepend k 0 0 4\r\nhead\r\nget k\r\n");
      assertReads("STORED\r\nSTORED\r\n" + found("head" + value + "tail"), client);
      client.send("mg k s v\r\n");
      assertReads("VA " + (length + 8) + " s" + (length + 8) + "\r\nhead", client);
      assertReads(value + "tail\r\n", client);
      assertNothingHeld(server, client);
    }
  }

  @ParameterizedTest
  @CsvSource({"PROCESSORS, 3000000", "PROCESSORS, 20000000", "JDK, 20000000"})
  void theyAreSetReadAndJoinedByTheBinaryProtocol(Mode mode, int length) throws IOException {
    try (var server = start(mode);
        var client = server.connect();
        var text = server.connect()) {
      var value = value(length);
      client.send(request(0x01, EXTRAS_OF_SET, "k", value));
      assertEquals("", body(client));
      client.send(request(0x0e, "", "k", value.substring(0, 3_000_000)));
      assertEquals("", body(client));
      client.send(request(0x00, "", "k", ""));
      var joined = "\0\0\0\5" + value + value.substring(0, 3_000_000);
      assertTrue(joined.equals(body(client)), "the value has changed");
      assertNothingHeld(server, text);
    }
  }

  private static String body(Client client) throws IOException {
    var header = ByteBuffer.wrap(client.read(HEADER).getBytes(ISO_8859_1));
    assertEquals(0, header.getShort(6));
    return client.read(header.getInt(8));
  }

  @ParameterizedTest
  @EnumSource
  void oneThatIsReadSlowlyStaysAsItWas(Mode mode) throws IOException {
    try (var server = start(mode);
        var slow = server.connect();
        var other = server.connect()) {
      var value = value(20_000_000);
      slow.send("set k 5 0 20000000\r\n" + value + "\r\nget k\r\n");
      // It is being sent by now, and cannot be all sent before it is read.
      assertEquals("STORED", slow.line());
      assertReads("VALUE k 5 20000000\r\n", slow);
      assertTrue(server.server().store.stats().heldBytes() >= 20_000_000);
      assertEquals("DELETED\r\n", other.exchange("delete k\r\n"));
      for (int i = 0; i < 20; i++) {
        other.send("set other" + i + " 0 0 30000000\r\n" + "x".repeat(30_000_000) + "\r\n");
        assertEquals("STORED", other.line());
      }
      assertReads(value + "\r\nEND\r\n", slow);
      assertNothingHeld(server, slow);
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneByteMoreThanAllowedIsRefused(Mode mode) throws IOException {
    try (var server = start(mode);
        var client = server.connect()) {
      int most = server.server().store.maxValueLength(1);
      client.send("set k 0 0 " + most + "\r\n" + "x".repeat(most) + "\r\n");
      assertEquals("STORED", client.line());
      client.send("set k 0 0 " + (most + 1) + "\r\n" + "x".repeat(most + 1) + "\r\n");
      assertEquals("SERVER_ERROR object too large for cache", client.line());
      assertEquals("END\r\n", client.exchange("get k\r\n"));
      assertNothingHeld(server, client);
    }
  }
}
