package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.fibers.MemoryPair;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a broken connection of HTTP/2 is given to send. */
@Timeout(60)
class Http2OutputTest {

  /**
   * Seen: who had waited for room when the connection broke took a buffer that nobody gave back.
   */
  @Test
  void whatNobodySendsAnyMoreTakesNoBuffer() throws Exception {
    try (var pair = MemoryPair.of(Talk.FIBERS, MemoryPair.CAPACITY, MemoryPair.CAPACITY)) {
      var out = new Http2Output(pair.near(), Talk.FIBERS, () -> {});
      pair.near().close();
      underLock(out, () -> out.frame(Http2Output.PING, 0, 0, Long.BYTES).putLong(1));
      var sender = Talk.start(() -> send(out));
      assertEquals(0, sender.get());
      underLock(
          out,
          () -> {
            out.frame(Http2Output.WINDOW_UPDATE, 0, 1);
            var head = Http2Heads.response(100, Fields.NONE);
            assertThrows(IOException.class, () -> out.headers(1, head, false));
            assertThrows(IOException.class, () -> out.awaitRoom(head));
            assertThrows(IOException.class, () -> out.frame(Http2Output.DATA, 0, 1, 1));
          });
    }
  }

  private static int send(Http2Output out) {
    out.send();
    return 0;
  }

  private interface Work {
    void run() throws IOException;
  }

  private static void underLock(Http2Output out, Work what) throws IOException {
    out.lock.lock();
    try {
      what.run();
    } finally {
      out.lock.unlock();
    }
  }
}
