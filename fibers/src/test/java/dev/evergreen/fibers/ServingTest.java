package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What clients cannot bring about for sure, such as being accepted when it is too late. */
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
          throw new FibersClosedException();
        });
  }

  @ParameterizedTest
  @EnumSource
  void whoseFiberFindsNoMemoryTakesNobodysPlace(Kind kind) throws Exception {
    serve(
        kind,
        new Served(),
        (_, _) -> {
          throw new OutOfMemoryError("as the test wants it");
        });
  }

  /** Nobody would accept any more, and all who connect would wait. */
  @ParameterizedTest
  @EnumSource
  void anAcceptorThatFindsNoMemoryForALogGoesOn(Kind kind) throws Exception {
    var logger = Logger.getLogger(Listener.class.getName());
    var full = new FullLog();
    logger.addHandler(full);
    try {
      whoseFiberFindsNoMemoryTakesNobodysPlace(kind);
      assertTrue(full.asked > 0);
    } finally {
      logger.removeHandler(full);
    }
  }

  private static final class FullLog extends Handler {
    volatile int asked;

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // Of one acceptor.
    public void publish(LogRecord log) {
      asked++;
      throw new OutOfMemoryError("as the test wants it");
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  /** Whatever becomes of one connection, others are accepted. */
  @ParameterizedTest
  @EnumSource
  void anErrorOfARefusalEndsThatConnectionOnly(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      fibers.spawn(
          () ->
              listener.serve(
                  _ -> {},
                  full(),
                  _ -> {
                    throw new OutOfMemoryError("as the test wants it");
                  }));
      for (int i = 0; i < CLIENTS; i++) {
        try (var client = fibers.connect(listener.address())) {
          client.readTimeout(Duration.ofSeconds(20));
          assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        }
      }
    }
  }

  private static ConnectionLimit full() {
    var limit = new ConnectionLimit(1);
    assertTrue(limit.enter());
    return limit;
  }

  /** It may be writing at that moment, and from a buffer that is to be its own until it has. */
  @ParameterizedTest
  @EnumSource
  void whatAnotherFiberWritesIsNotSentWhenTheHandlerReturns(Kind kind) throws Exception {
    var written = new CountDownLatch(1);
    var left = new CountDownLatch(1);
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      fibers.spawn(
          () ->
              listener.serve(
                  connection -> {
                    fibers.spawn(() -> write(connection, written, left));
                    await(written);
                  }));
      try (var client = fibers.connect(listener.address())) {
        assertEquals(-1, client.read(ByteBuffer.allocate(1)));
      } finally {
        left.countDown();
      }
    }
  }

  private static void write(Connection to, CountDownLatch written, CountDownLatch left) {
    try {
      to.write(Pair.bytes("x"));
      written.countDown();
      await(left);
    } catch (IOException e) {
      // The runtime is being closed.
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }
}
