package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What lies unread is read as it came, whatever it came in, and takes no more than it must. */
class UnreadTest {
  private final Unread unread = new Unread();

  @Test
  void whatIsReadIsWhatWasAdded() {
    var random = new Random(1);
    var all = new byte[200_000];
    random.nextBytes(all);
    var read = ByteBuffer.allocate(all.length);
    int added = 0;
    while (read.hasRemaining()) {
      if (added < all.length && random.nextInt(3) > 0) {
        int most = random.nextInt(10) == 0 ? 5000 : 20;
        int length = Math.min(random.nextInt(most), all.length - added);
        unread.add(ByteBuffer.wrap(Arrays.copyOfRange(all, added, added + length)));
        added += length;
      } else {
        var into = ByteBuffer.allocate(random.nextInt(300));
        int n = unread.read(into);
        assertEquals(n, into.position());
        read.put(into.flip());
      }
      assertEquals(added - read.position(), unread.bytes());
      assertEquals(unread.bytes() == 0, unread.isEmpty());
    }
    assertArrayEquals(all, read.array());
  }

  @Test
  void manySmallPartsTakeFewBuffers() {
    for (int i = 0; i < 1 << 16; i++) {
      unread.add(ByteBuffer.wrap(new byte[1]));
    }
    assertEquals(1 << 16, unread.bytes());
    assertTrue(unread.parts() <= 66, "parts: " + unread.parts());
    unread.clear();
    assertTrue(unread.isEmpty());
  }
}
