package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.kernel.Errno;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SocketsTest {

  /** Seen: now and then none, as Linux begins to note it a moment after it was first asked. */
  @Test
  void whatComesRightAfterTheFirstConnectionHasATime() throws Exception {
    var into = Arena.ofAuto().allocate(16);
    try (var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      var address = new InetSocketAddress(server.getInetAddress(), server.getLocalPort());
      for (int i = 0; i < 100; i++) {
        Thread.sleep(10); // Linux ends it a moment after the last such connection, too.
        try (var sockets = new Sockets()) {
          int fd = sockets.connect(address, 0, true);
          try (var accepted = server.accept()) {
            long before = System.nanoTime();
            accepted.getOutputStream().write(1);
            int received = sockets.receiveStamped(fd, into);
            while (received == -Errno.EAGAIN) {
              received = sockets.receiveStamped(fd, into);
            }
            assertEquals(1, received);
            // The clocks are read one after the other.
            assertTrue(sockets.arrival() - before > -1_000_000);
          } finally {
            sockets.close(fd);
          }
        }
      }
    }
  }
}
