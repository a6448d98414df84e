package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers come to their end without cutting off what they have begun. */
@Timeout(120)
class DrainTest {

  private static final int ROUNDS = Integer.getInteger("evergreen.fibers.rounds", 2_000);
  private static final Duration LONG = Duration.ofMinutes(10);

  /**
   * Answers each byte, when it may; waits for the next request while the listener is not drained.
   */
  private static void answer(Connection connection, Listener listener, CountDownLatch may)
      throws IOException {
    var request = ByteBuffer.allocate(1);
    try {
      while (true) {
        listener.draining().run(connection::awaitInput);
        if (connection.tryRead(request.clear()) < 0) {
          return;
        }
        if (request.position() > 0) {
          may.await();
          connection.write(Pair.bytes("!"));
        }
      }
    } catch (WaitCancelledException e) {
      // No further request is taken.
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoOnlyEndsTheWaitsForRequestsIsNotTakenForOneWhoDrains(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var server = fibers.spawn(() -> listener.serve(_ -> {}));
      listener.draining().cancel();
      listener.close();
      server.join();
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatHasBegunIsAnsweredAndWhatIsIdleEnds(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var may = new CountDownLatch(1);
      var reached = new AtomicInteger();
      var server =
          fibers.spawn(
              () ->
                  listener.serve(
                      connection -> {
                        reached.incrementAndGet();
                        answer(connection, listener, may);
                      }));
      var busy = fibers.connect(listener.address());
      var idle = fibers.connect(listener.address());
      busy.write(Pair.bytes("?"));
      busy.flush();
      while (reached.get() < 2
          || fibers.connections().stream().noneMatch(one -> one.report().received() > 0)) {
        Thread.onSpinWait();
      }
      var drained = new CompletableFuture<Boolean>();
      Thread.ofPlatform().start(() -> drained.complete(listener.drain(LONG)));
      // The idle one ends while the busy one is still waited for.
      assertEquals(-1, idle.read(ByteBuffer.allocate(1)));
      awaitRefusal(fibers, listener);
      assertFalse(drained.isDone());
      // Else its caller would close the runtime and with it the busy one.
      assertTrue(server.isAlive());
      may.countDown();
      assertEquals("!", Pair.read(busy, 100));
      assertTrue(Fiber.get(drained));
      server.join();
      assertTrue(listener.draining().cancelled());
    }
  }

  private static void awaitRefusal(Fibers fibers, Listener listener) throws IOException {
    while (true) {
      try (var _ = fibers.connect(listener.address())) {
        Fibers.letOthersRun();
      } catch (ConnectException e) {
        return;
      } catch (SocketException e) {
        // It was reset with the listener's queue.
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatDoesNotEndInTheGraceIsClosed(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var ended = new CompletableFuture<IOException>();
      fibers.spawn(
          () ->
              listener.serve(
                  connection -> {
                    try {
                      Pair.read(connection, 2);
                    } catch (IOException e) {
                      ended.complete(e);
                    }
                  }));
      var client = fibers.connect(listener.address());
      client.write(Pair.bytes("1"));
      client.flush();
      while (fibers.connections().stream().noneMatch(one -> one.report().received() > 0)) {
        Thread.onSpinWait();
      }
      assertFalse(listener.drain(Duration.ofMillis(20)));
      Fiber.get(ended);
      assertEquals(-1, client.read(ByteBuffer.allocate(1)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void servingEndsWithTheScopeItIsIn(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      var scope = CancelScope.open();
      var server = fibers.spawn(() -> scope.run(() -> listener.serve(_ -> {})));
      Fiber.awaitParked(server);
      scope.cancel();
      server.join();
      CancelScope.within(Duration.ZERO).run(() -> listener.serve(_ -> {}));
    }
  }

  /** Nobody is served any more after the end was told, whenever it connects. */
  @ParameterizedTest
  @EnumSource
  void noneIsServedAfterTheEndHoweverTheyRace(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      for (int i = 0; i < ROUNDS / 20; i++) {
        var listener = fibers.listen(Pair.loopback());
        var served = new AtomicInteger();
        fibers.spawn(
            () ->
                listener.serve(
                    connection -> {
                      served.incrementAndGet();
                      listener.draining().run(connection::awaitInput);
                    }));
        var clients = new ArrayList<CompletableFuture<Integer>>();
        for (int k = 0; k < 5; k++) {
          clients.add(Fiber.start(fibers, () -> readToTheEnd(fibers, listener)));
        }
        if (i % 2 == 0) {
          Fiber.run(fibers, () -> 0);
        }
        assertTrue(listener.drain(LONG));
        int then = served.get();
        for (var client : clients) {
          Fiber.get(client);
        }
        assertEquals(then, served.get());
      }
    }
  }

  private static int readToTheEnd(Fibers fibers, Listener listener) {
    try (var connection = fibers.connect(listener.address())) {
      connection.readTimeout(Duration.ofSeconds(1));
      while (true) {
        try {
          return connection.read(ByteBuffer.allocate(1));
        } catch (SocketTimeoutException e) {
          // Linux may leave a client connected to a listener that closes at that moment, and says
          // so only when it is spoken to.
          connection.writeAndFlush(ByteBuffer.allocate(1));
        }
      }
    } catch (IOException e) {
      return -1;
    }
  }
}
