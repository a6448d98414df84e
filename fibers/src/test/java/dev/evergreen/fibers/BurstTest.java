package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many connections that are ready at the same moment. */
@Timeout(120)
class BurstTest {

  @Test
  void aThousandReadersThatTakeTurnsHoldNoThousandBuffers() throws Exception {
    var output = ChildJvm.of(Server.class).with("-XX:MaxDirectMemorySize=16m").run();
    assertEquals("served 1000, then 1", output.strip());
  }

  /** All send and close while the only processor is busy; each then reads once, and once more. */
  static final class Server {
    private static final int CONNECTIONS = 1000;

    /** How many buffers there were at most as one was taken; of the only processor's fibers. */
    private static int most;

    public static void main(String[] args) throws Exception {
      try (var fibers = Kind.ONE_PROCESSOR.start();
          var listener = fibers.listen(Pair.loopback())) {
        var accepted = new CountDownLatch(CONNECTIONS);
        var served = new CountDownLatch(CONNECTIONS);
        fibers.spawn(
            () ->
                listener.serve(
                    connection -> {
                      accepted.countDown();
                      serve(connection);
                      served.countDown();
                    }));
        var peers = new ArrayList<SocketChannel>();
        for (int i = 0; i < CONNECTIONS; i++) {
          peers.add(SocketChannel.open(listener.address()));
        }
        accepted.await();
        var closed = new AtomicBoolean();
        fibers.spawn(
            () -> {
              while (!closed.get()) {
                Thread.onSpinWait();
              }
            });
        for (var peer : peers) {
          peer.write(ByteBuffer.allocate(100));
          peer.shutdownOutput();
        }
        closed.set(true);
        served.await();
        // Those that lie ready, and a few.
        System.out.print(most < 100 ? "served " + CONNECTIONS : "took " + most);
        for (var peer : peers) {
          peer.close();
        }
        try (var last = fibers.connect(listener.address())) {
          last.write(new byte[1]);
          last.flush();
          System.out.println(", then " + last.read(ByteBuffer.allocate(9)));
        }
      }
    }

    private static void serve(Connection connection) throws IOException {
      while (true) {
        connection.awaitInput();
        try (var loan = Buffers.borrow()) {
          most = Math.max(most, Buffers.count());
          var into = loan.buffer();
          int n;
          while ((n = connection.tryRead(into.clear())) > 0) {
            connection.write(into.flip());
          }
          if (n < 0) {
            return;
          }
        }
      }
    }
  }
}
