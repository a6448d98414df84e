package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Durability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * How much of the heap clients take that do nothing. Most of it is the stack of a fiber, whose
 * frames are large until they are compiled, and which are compiled by then differs from run to run:
 * so the bounds, for a JVM that has just started, are several times what a warm one takes.
 */
@Timeout(120)
class IdleClientTest {
  private static final int COUNT = Integer.getInteger("evergreen.shim.idle", 500);

  /** As often fifty clients come and go before. */
  private static final int WARM_UP = Integer.getInteger("evergreen.shim.warm", 20);

  @TempDir private Path directory;

  private static List<Talk> clients(int port, int count, String... words) throws IOException {
    var clients = new ArrayList<Talk>();
    for (int i = 0; i < count; i++) {
      var client = Talk.to(port);
      client.ask(words);
      clients.add(client);
    }
    return clients;
  }

  private long bytesEach(String... words) throws IOException {
    try (var redis = RedisServer.start();
        var shim = ShimProcess.start(redis, directory, Durability.NONE)) {
      int withOne;
      try (var _ = clients(shim.port, 1, words).getFirst()) {
        withOne = shim.state().fibers();
      }
      for (int i = 0; i < WARM_UP; i++) {
        for (var client : clients(shim.port, 50, words)) {
          client.close();
        }
      }
      var before = shim.state();
      while (before.fibers() >= withOne) {
        // Clients that have gone are not all forgotten yet.
        before = shim.state();
      }
      var clients = clients(shim.port, COUNT, words);
      var after = shim.state();
      for (var client : clients) {
        client.close();
      }
      long bytes = (after.heap() - before.heap()) / COUNT;
      System.out.println(String.join(" ", words) + ": " + bytes + " bytes");
      return bytes;
    }
  }

  @Test
  void oneThatSharesAnUpstreamTakesFewKibibytes() throws IOException {
    long bytes = bytesEach("PING");
    assertTrue(bytes <= 14 << 10, () -> bytes + " bytes");
  }

  @Test
  void oneWithAnUpstreamOfItsOwnTakesTwiceThat() throws IOException {
    long bytes = bytesEach("CLIENT", "ID");
    assertTrue(bytes <= 22 << 10, () -> bytes + " bytes");
  }
}
