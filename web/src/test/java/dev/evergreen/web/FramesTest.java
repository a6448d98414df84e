package dev.evergreen.web;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.live.HandNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What frames of a WebSocket a client may send, and how it is told what is wrong (RFC 6455). */
final class FramesTest {

  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;
  private static final int FIN = 0x80;
  private static final String BEAT = "{\"type\":\"heartbeat\"}";

  /** No code in a close frame. */
  private static final int NONE = 1005;

  private final HandNode node = new HandNode();
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .settings(WebSettings.DEFAULT.withMaxMessageBytes(1000))
          .start();

  @AfterEach
  void close() {
    server.close();
    node.close();
  }

  private RawClient connect() throws IOException {
    var client = new RawClient(server);
    client.send(RawClient.UPGRADE);
    assertEquals(101, client.status());
    return client;
  }

  private static byte[] frame(int first, String payload) {
    return RawClient.frame(first, payload.getBytes(ISO_8859_1));
  }

  private static byte[] closing(int code, String reason) {
    return frame(FIN | CLOSE, "" + (char) (code >> 8) + (char) (code & 0xff) + reason);
  }

  private static byte[] joined(byte[]... frames) {
    var all = new ByteArrayOutputStream();
    for (var frame : frames) {
      all.writeBytes(frame);
    }
    return all.toByteArray();
  }

  private static Arguments row(String what, int code, byte[]... frames) {
    return Arguments.of(what, code, joined(frames));
  }

  static Stream<Arguments> closes() {
    var umlaut = "\"\u00e4\"".getBytes(UTF_8);
    return Stream.of(
        row("without a mask", 1002, new byte[] {(byte) (FIN | TEXT), 2, '{', '}'}),
        row("opcode 3", 1002, frame(FIN | 3, "")),
        row("opcode 11", 1002, frame(FIN | 11, "")),
        row("opcode 15", 1002, frame(FIN | 15, "")),
        row("RSV1 of no extension", 1002, frame(FIN | 0x40 | TEXT, BEAT)),
        row("RSV2", 1002, frame(FIN | 0x20 | TEXT, BEAT)),
        row("RSV3", 1002, frame(FIN | 0x10 | TEXT, BEAT)),
        row("RSV1 of a ping", 1002, frame(FIN | 0x40 | PING, "")),
        row("a ping in pieces", 1002, frame(PING, "")),
        row("a close in pieces", 1002, frame(CLOSE, "")),
        row("a ping of 126 bytes", 1002, frame(FIN | PING, "x".repeat(126))),
        row("continues nothing", 1002, frame(FIN | CONTINUATION, BEAT)),
        row("continues nothing, more to come", 1002, frame(CONTINUATION, BEAT)),
        row("a text amid another", 1002, frame(TEXT, "{"), frame(FIN | TEXT, BEAT)),
        row("binary amid a text", 1002, frame(TEXT, "{"), frame(FIN | BINARY, "")),
        row("a length beyond all", 1009, length(-1)),
        row("a length beyond what is taken", 1009, length(Long.MAX_VALUE)),
        row("a length of 64 bits", 1009, length(1 << 20), new byte[2_000]),
        row("binary", 1003, frame(FIN | BINARY, "x")),
        row("no UTF-8", 1007, frame(FIN | TEXT, "\"\u00ff\"")),
        row("a surrogate", 1007, frame(FIN | TEXT, "\"\u00ed\u00a0\u0080\"")),
        row("longer than need be", 1007, frame(FIN | TEXT, "\"\u00c0\u00af\"")),
        row("half a letter", 1007, RawClient.frame(FIN | TEXT, Arrays.copyOf(umlaut, 2))),
        row("no UTF-8 in pieces", 1007, frame(TEXT, "\"\u00c3"), frame(FIN | 0, "\"")),
        row("an empty message in pieces", 1008, frame(TEXT, ""), frame(FIN | CONTINUATION, "")),
        row("goodbye", 1000, closing(1000, "")),
        row("goodbye, and why", 1001, closing(1001, "leaving")),
        row("goodbye of an application", 4999, closing(4999, "")),
        row("goodbye of a library", 3000, closing(3000, "")),
        row("goodbye without a code", NONE, frame(FIN | CLOSE, "")),
        row("half a code", 1002, frame(FIN | CLOSE, "\u0003")),
        row("code 0", 1002, closing(0, "")),
        row("code 999", 1002, closing(999, "")),
        row("code 1004", 1002, closing(1004, "")),
        row("code 1005", 1002, closing(1005, "")),
        row("code 1006", 1002, closing(1006, "")),
        row("code 1015", 1002, closing(1015, "")),
        row("code 1016", 1002, closing(1016, "")),
        row("code 2999", 1002, closing(2999, "")),
        row("code 5000", 1002, closing(5000, "")),
        row("a reason that is no UTF-8", 1007, closing(1000, "\u00ff")));
  }

  private static byte[] length(long length) {
    var head = new byte[14];
    head[0] = (byte) (FIN | TEXT);
    head[1] = (byte) 0xff;
    for (int i = 0; i < Long.BYTES; i++) {
      head[2 + i] = (byte) (length >> (56 - 8 * i));
    }
    return head;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("closes")
  void closesWithTheCodeThatSaysWhy(String what, int code, byte[] frames) throws Exception {
    try (var client = connect()) {
      client.send(frames);
      var last = client.frame();
      while (last != null && (last.firstByte() & 15) != CLOSE) {
        last = client.frame();
      }
      assertEquals(code, last == null ? 0 : code(last.payload()), what);
    }
    Await.until("nothing left", () -> server.counts().liveConnections() == 0);
  }

  private static int code(byte[] payload) {
    return payload.length == 0 ? NONE : (payload[0] & 0xff) << 8 | (payload[1] & 0xff);
  }

  private static RawClient.Received next(RawClient client, int opcode) throws IOException {
    var frame = client.frame();
    while (frame != null && (frame.firstByte() & 15) != opcode) {
      frame = client.frame();
    }
    if (frame == null) {
      throw new IOException("the connection has ended");
    }
    return frame;
  }

  /** Seen: now and then it was cut off without a word, as there was something else to be said. */
  @Test
  void aGoodbyeIsAnsweredHoweverEarlyItComes() throws Exception {
    for (int i = 0; i < 300; i++) {
      try (var client = new RawClient(server)) {
        client.send(joined(RawClient.UPGRADE.getBytes(UTF_8), closing(4999, "")));
        assertEquals(101, client.status());
        assertEquals(4999, code(next(client, CLOSE).payload()));
      }
    }
  }

  @Test
  void pingsAreAnsweredAlsoAmidAMessageInPieces() throws Exception {
    try (var client = connect()) {
      var most = "p".repeat(125);
      client.send(frame(TEXT, "{\"type\":"));
      client.send(frame(FIN | PING, most));
      assertArrayEquals(most.getBytes(UTF_8), next(client, PONG).payload());
      client.send(frame(FIN | PONG, "unasked"));
      client.send(frame(CONTINUATION, ""));
      client.send(frame(FIN | CONTINUATION, "\"ping\"}"));
      client.send(frame(FIN | PING, ""));
      assertEquals(0, next(client, PONG).payload().length);
      client.send(closing(1000, ""));
      assertEquals(1000, code(next(client, CLOSE).payload()));
      assertEquals(0, server.counts().malformed());
    }
  }

  @Test
  void aLetterMayBeCutByTheEndOfAFrame() throws Exception {
    try (var client = connect()) {
      var text = "{\"type\":\"heartbeat\",\"x\":\"\u00e4\ud83c\udf32\"}".getBytes(UTF_8);
      for (int i = 0; i < text.length; i++) {
        boolean last = i == text.length - 1;
        int first = (i == 0 ? TEXT : CONTINUATION) | (last ? FIN : 0);
        client.send(RawClient.frame(first, new byte[] {text[i]}));
      }
      client.send(closing(1000, ""));
      assertEquals(1000, code(next(client, CLOSE).payload()));
    }
  }
}
