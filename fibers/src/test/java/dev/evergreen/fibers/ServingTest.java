package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Connections that are accepted when it is too late. No client can choose that order of events, so
 * here the end comes first.
 */
@Timeout(120)
class ServingTest {
  private static final int CLIENTS = 3;

  /** Lets clients come, one after the other, each of which finds the end; the limit is of one. */
  private static void serve(Kind kind, Served served, Serving.Starter starter) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var limit = new ConnectionLimit(1);
      var refused = new AtomicInteger();
      var serving =
          new Serving(
              fibers, listener, served, starter, _ -> {}, limit, _ -> refused.incrementAndGet());
      var acceptor = fibers.spawn(serving::serve);
      for (int i = 0; i < CLIENTS; i++) {
        try (var client = fibers.connect(listener.address())) {
          assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        }
      }
      listener.close();
      acceptor.join();
      assertEquals(0, limit.served());
      assertEquals(0, refused.get(), "one that was not served has kept its place");
      // Nobody is left whom this would wait for.
      served.drain(System.nanoTime() + Nanos.FOREVER);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoComesAfterTheEndIsNotServedAndTakesNobodysPlace(Kind kind) throws Exception {
    var served = new Served();
    served.drain(System.nanoTime());
    var started = new AtomicInteger();
    serve(
        kind,
        served,
        (connection, _) -> {
          started.incrementAndGet();
          connection.close();
        });
    assertEquals(0, started.get());
  }

  @ParameterizedTest
  @EnumSource
  void whoseFiberCannotBeStartedTakesNobodysPlace(Kind kind) throws Exception {
    serve(
        kind,
        new Served(),
        (_, _) -> {
          throw new IllegalStateException("as if the runtime was being closed");
        });
  }
}
