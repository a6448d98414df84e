package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.shims.Tape;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is put on record while it comes, and lost at any time. */
@Timeout(60)
class RepliesOnRecordTest {

  /**
   * The client's fiber may learn that replies are lost while the reader takes what comes of one.
   */
  @Test
  void whatComesAndItsLossWaitForEachOther() throws Exception {
    try (var shimmed = Shimmed.start();
        var client = shimmed.client()) {
      assertEquals("+PONG\r\n", client.ask("PING"));
      var session = shimmed.shim.sessions.iterator().next();
      var scanner = new ReplyScanner();
      var standing = new Standing(session, scanner, 0, "");
      var lock = new ReentrantLock();
      var record =
          new RepliesOnRecord(
              session, new Tape(null), scanner, standing, lock, new ArrayDeque<>(), null);
      var piece = ByteBuffer.wrap(Inline.ascii("$40\r\nxxxx"));
      scanner.scan(piece, piece.capacity());
      for (var doing : List.<Runnable>of(() -> record.add(piece, 0, true, false, 1), record::cut)) {
        var thread = Thread.ofPlatform().daemon().unstarted(doing);
        lock.lock();
        try {
          thread.start();
          while (!lock.hasQueuedThread(thread)) {
            assertTrue(thread.isAlive(), "it has not waited");
            Thread.onSpinWait();
          }
        } finally {
          lock.unlock();
        }
        thread.join();
      }
    }
  }
}
