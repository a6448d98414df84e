package dev.evergreen.http;

import static dev.evergreen.http.Http2Client.HEADERS;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** RFC 7541 §6.2.3 and §7.1.3. */
class NeverIndexedTest {
  private static final int END = 5;

  private static String text(Random random, char from) {
    var text = new StringBuilder();
    int length = random.nextInt(8) == 0 ? 100 + random.nextInt(500) : 1 + random.nextInt(3);
    for (int i = 0; i < length; i++) {
      text.append((char) (from + random.nextInt(4)));
    }
    return text.toString();
  }

  /** Names and values are mostly short and come again, so that all representations occur. */
  @RepeatedTest(50)
  void itIsFoundWhichFieldsOfABlockCameSo(RepetitionInfo repetition) throws Exception {
    var random = new Random(repetition.getCurrentRepetition());
    var encoder =
        new DefaultHttp2HeadersEncoder(
            (_, value) -> value.charAt(0) == 'A' || value.length() > 300);
    for (int block = 0; block < 30; block++) {
      var fields = new DefaultHttp2Headers(false);
      if (random.nextInt(4) == 0) {
        encoder.maxHeaderTableSize(1_000L * random.nextInt(5));
      }
      for (int i = random.nextInt(20); i >= 0; i--) {
        fields.add(random.nextInt(5) == 0 ? "accept" : text(random, 'a'), text(random, 'A'));
      }
      var expected = new BitSet();
      int number = 0;
      for (var field : fields) {
        expected.set(
            number++, field.getValue().charAt(0) == 'A' || field.getValue().length() > 300);
      }
      var encoded = Unpooled.buffer();
      encoder.encodeHeaders(1, fields, encoded);
      assertEquals(expected, NeverIndexed.in(encoded.array(), encoded.readableBytes()));
    }
  }

  /** A number that fills its first byte, and has so many bytes behind that. */
  private static void number(ByteArrayOutputStream into, int first, int behind) {
    into.write(first);
    for (int i = 1; i < behind; i++) {
      into.write(0x80);
    }
    into.write(0);
  }

  /** Seen: who sent more zeros than a number needs had other fields taken for such ones. */
  @ParameterizedTest
  @ValueSource(ints = {1, 5, 6, 9})
  void numbersMayBeAsLongAsTheDecoderTakesThem(int behind) throws Exception {
    var block = new ByteArrayOutputStream();
    number(block, 0x3f, behind); // The table has 31 bytes.
    block.writeBytes(new byte[] {(byte) 0x82, (byte) 0x86, (byte) 0x84});
    number(block, 0x0f, behind); // Accept-Charset, and its value.
    number(block, 0x7f, behind);
    block.writeBytes("v".repeat(127).getBytes(US_ASCII));
    block.writeBytes(new byte[] {0x10, 1, 'x', 3, 'k', 'e', 'y'});
    number(block, 0x1f, behind);
    block.writeBytes(new byte[] {1, 'c', 0x00, 1, 'y', 1, 'z'});
    var read = new Http2Heads(HttpSettings.DEFAULT).read(1, block.toByteArray(), block.size());
    assertEquals(
        "accept-charset: %s\r\nx: key\r\naccept-charset: c\r\ny: z\r\n".formatted("v".repeat(127)),
        read.fields().toString());
    assertEquals(
        BitSet.valueOf(new long[] {0b110000}), NeverIndexed.in(block.toByteArray(), block.size()));
  }

  @Test
  void aFieldThatCameSoIsSentSo() throws Exception {
    Handler handler =
        exchange -> {
          var fields = exchange.request().fields().copy().remove("host").add("b", "indexed");
          exchange.respond(ResponseHead.of(200, fields), ByteBuffer.allocate(0));
        };
    try (var client = Http2Client.connect(handler)) {
      // A literal with a new name, never indexed.
      var token = new byte[] {0x10, 1, 'x', 3, 'k', 'e', 'y'};
      for (int stream : new int[] {1, 3}) {
        var block = new ByteArrayOutputStream();
        block.writeBytes(client.block(Http2Client.get("/")));
        block.writeBytes(token);
        client.send(HEADERS, END, stream, block.toByteArray());
        var answer = client.next(HEADERS).payload();
        // Behind the status.
        assertEquals(BitSet.valueOf(new long[] {1 << 1}), NeverIndexed.in(answer, answer.length));
      }
    }
  }

  @Test
  void credentialsAreSentSoHoweverTheyCame() throws Exception {
    Handler handler =
        exchange ->
            exchange.respond(
                ResponseHead.of(200, Fields.of("A", "b", "Set-Cookie", "c")),
                ByteBuffer.allocate(0));
    try (var client = Http2Client.connect(handler)) {
      for (int stream : new int[] {1, 3}) {
        client.headers(stream, true, Http2Client.get("/"));
        var answer = client.next(HEADERS).payload();
        assertEquals(BitSet.valueOf(new long[] {1 << 2}), NeverIndexed.in(answer, answer.length));
      }
    }
  }

  /** A path may hold a secret, too. */
  @Test
  void aPseudoFieldThatCameSoIsSentSo() throws Exception {
    var heads = new Http2Heads(HttpSettings.DEFAULT);
    var block = new byte[] {(byte) 0x82, (byte) 0x86, 0x14, 2, '/', 's', 0x01, 1, 'a'};
    var request = heads.read(1, block, block.length).request(false);
    var origin = new Origin(false, "a", 80);
    var sent = Http2Heads.request(RequestHead.of("GET", "/s", request.fields()), origin, -1);
    assertEquals(Set.of(":path"), sent.neverIndexed());
  }
}
