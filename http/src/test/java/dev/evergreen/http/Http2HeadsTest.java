package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What it costs to read heads of HTTP/2, and to send them. */
class Http2HeadsTest {
  /**
   * ":method: GET", ":scheme: http", ":path: /", ":authority: a", and a cookie to be remembered.
   */
  private static final byte[] FIRST = {
    (byte) 0x82, (byte) 0x86, (byte) 0x84, 1, 1, 'a', 0x60, 3, 'b', '=', 'c'
  };

  /** The same, with that cookie so many times, which takes a byte each. */
  private static byte[] cookies(int pieces) {
    var block = Arrays.copyOf(FIRST, 6 + pieces);
    Arrays.fill(block, 6, block.length, (byte) 0xbe);
    return block;
  }

  private static RequestHead read(Http2Heads heads, byte[] block) throws IOException {
    return heads.read(1, block, block.length).request(false);
  }

  @Test
  void manyPiecesOfACookieCostLittleMoreThanTheyHaveBytes() throws Exception {
    var heads = new Http2Heads(HttpSettings.DEFAULT);
    assertEquals("b=c", read(heads, FIRST).fields().get("cookie"));
    assertEquals("b=c; b=c; b=c", read(heads, cookies(3)).fields().get("cookie"));
    var many = cookies(600);
    long before = allocated();
    var cookie = String.valueOf(read(heads, many).fields().get("cookie"));
    long allocated = allocated() - before;
    assertEquals(600 * 5 - 2, cookie.length());
    assertTrue(allocated < 100L * cookie.length(), "it took " + allocated + " bytes");
  }

  /** A buffer that is long enough is waited for before a head is encoded. */
  @Test
  void aHeadIsNoLongerThanIsSaidBeforeItIsEncoded() throws Exception {
    var random = new Random(1);
    for (int round = 0; round < 500; round++) {
      var fields = new Fields();
      for (int line = random.nextInt(40); line > 0; line--) {
        fields.add(text(random, 1 + random.nextInt(20)), text(random, random.nextInt(3_000)));
      }
      var head = Http2Heads.response(200, fields);
      var hpack = new DefaultHttp2HeadersEncoder((_, _) -> true);
      hpack.maxHeaderTableSize(0);
      hpack.maxHeaderTableSize(4096);
      var block = Unpooled.buffer();
      hpack.encodeHeaders(1, head, block);
      int frames = 1 + block.readableBytes() / (16 << 10);
      int sent = block.readableBytes() + frames * Http2Output.FRAME_HEAD;
      assertTrue(sent <= head.mostBytes(), sent + " of " + head.mostBytes());
    }
  }

  /** Of letters that take more than a byte each in Huffman's code. */
  private static String text(Random random, int length) {
    return random
        .ints(length, 0, 4)
        .mapToObj(i -> "XZ~^".substring(i, i + 1))
        .collect(Collectors.joining());
  }

  private static long allocated() {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getCurrentThreadAllocatedBytes();
  }

  /** So many fields, each of another name of two letters, that are not to be indexed. */
  private static byte[] neverIndexed(int count) {
    var block = new ByteArrayOutputStream();
    block.write(FIRST, 0, 6);
    for (int i = 0; i < count; i++) {
      block.writeBytes(new byte[] {0x10, 2, (byte) ('a' + i / 26 % 26), (byte) ('a' + i % 26), 0});
    }
    return block.toByteArray();
  }

  /** Seen: those before it were copied for each, also where there were too many of them. */
  @ParameterizedTest
  @ValueSource(ints = {90, 600})
  void manyFieldsThatAreNotToBeIndexedCostLittleMoreThanTheyHaveBytes(int count) throws Exception {
    var heads = new Http2Heads(HttpSettings.DEFAULT);
    var few = neverIndexed(3);
    assertEquals(Set.of("aa", "ab", "ac"), heads.read(1, few, few.length).fields().neverIndexed());
    var many = neverIndexed(count);
    long before = allocated();
    var block = heads.read(1, many, many.length);
    long allocated = allocated() - before;
    int most = HttpSettings.DEFAULT.fieldCount();
    assertEquals(count > most, block.tooLarge());
    assertEquals(Math.min(count, most), block.fields().neverIndexed().size());
    assertTrue(allocated < 100L * many.length, "it took " + allocated + " bytes");
  }
}
