package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** What it costs to read heads of HTTP/2. */
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
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    var cookie = String.valueOf(read(heads, many).fields().get("cookie"));
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertEquals(600 * 5 - 2, cookie.length());
    assertTrue(allocated < 100L * cookie.length(), "it took " + allocated + " bytes");
  }
}
