package dev.evergreen.bench.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The clients of a soak, against Debian's memcached and one that lies. */
@Timeout(120)
class SoakLoadTest {

  @Test
  void allRequestsAreAnsweredAsTheyMustBeAndWhatTheServerTakesIsSeen() throws Exception {
    Assumptions.assumeTrue(
        DebianMemcached.present(), "memcached is not there (Debian: apt-get install memcached)");
    try (var server = ServerProcess.memcached(DebianMemcached.command(64, 200), 0);
        var load = SoakLoad.start(server.address())) {
      while (load.requests() < 5_000) {
        load.check();
        Thread.sleep(1);
      }
      var sample = SoakSample.of(server, 1);
      load.check();
      assertTrue(sample.resident() > 1 << 20, sample::toString);
      assertTrue(sample.descriptors() > sample.connections(), sample::toString);
      assertTrue(sample.connections() > 1 && sample.items() > 0, sample::toString);
      assertEquals(0, sample.liveHeap());
    }
  }

  @Test
  void aWrongReplyIsTold() throws Exception {
    try (var server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> lie(server));
      var address = (InetSocketAddress) server.getLocalSocketAddress();
      try (var client = new SoakClient(address, SoakClient.Kind.TEXT, 1)) {
        assertThrows(
            WrongReplyException.class,
            () -> {
              while (true) {
                client.step();
              }
            });
      }
    }
  }

  /** Says that it has stored whatever it is asked. */
  private static void lie(ServerSocket server) {
    try (var socket = server.accept()) {
      var reply = "STORED\r\n".repeat(1000).getBytes(StandardCharsets.US_ASCII);
      socket.getOutputStream().write(reply);
      socket.getInputStream().transferTo(java.io.OutputStream.nullOutputStream());
    } catch (IOException e) {
      // The client has gone.
    }
  }
}
