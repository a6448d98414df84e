package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Waits end by deadlines and cancellations from outside, whatever they wait for. */
@Timeout(300)
class CancelScopeTest {

  private static final int ROUNDS = Integer.getInteger("evergreen.fibers.rounds", 2_000);

  private static int readOne(Connection from) throws IOException {
    return from.read(ByteBuffer.allocate(1));
  }

  @ParameterizedTest
  @EnumSource
  void aCancelledReaderReadsOnLater(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      for (int i = 0; i < 3; i++) {
        var scope = CancelScope.open();
        var read = Fiber.startWaiting(fibers, () -> scope.call(() -> readOne(pair.ours())));
        scope.cancel();
        assertThrows(WaitCancelledException.class, () -> Fiber.get(read));
        // And so does every wait that begins in it.
        assertThrows(
            WaitCancelledException.class,
            () ->
                Fiber.run(
                    fibers,
                    () ->
                        scope.call(
                            () -> {
                              pair.ours().awaitInput();
                              return readOne(pair.ours());
                            })));
        pair.peerSends("more");
        assertEquals("more", Fiber.run(fibers, () -> Pair.read(pair.ours(), 4)));
        pair.ours().write(Pair.bytes("back"));
        pair.ours().flush();
        assertEquals("back", pair.peerReads(4));
      }
    }
  }

  /** The race of an event with a cancellation, in which neither may swallow the other. */
  @ParameterizedTest
  @EnumSource
  void noByteAndNoWakeUpIsLostWhenInputAndCancellationRace(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      int cancelled = 0;
      for (int i = 0; i < ROUNDS; i++) {
        var scope = CancelScope.open();
        var read = Fiber.start(fibers, () -> scope.call(() -> readNumber(pair.ours(), true)));
        var number = ByteBuffer.allocate(1).put((byte) i).flip();
        var canceller = i % 2 == 0 ? fibers.spawn(scope::cancel) : null;
        if (i % 16 == 1) {
          // A busy machine may let the byte win all other rounds.
          scope.cancel();
        }
        pair.peer().write(number);
        scope.cancel();
        int got = Fiber.get(read);
        if (got < 0) {
          cancelled++;
          got = Fiber.run(fibers, () -> readNumber(pair.ours(), false));
        }
        assertEquals(i & 0xFF, got);
        if (canceller != null) {
          canceller.join();
        }
      }
      assertTrue(cancelled > 0);
    }
  }

  /** Reads one byte; -1 if that was cancelled. */
  private static int readNumber(Connection from, boolean mayBeCancelled) throws IOException {
    var into = ByteBuffer.allocateDirect(1);
    try {
      assertEquals(1, from.read(into));
      return into.get(0) & 0xFF;
    } catch (WaitCancelledException e) {
      assertTrue(mayBeCancelled);
      return -1;
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneDeadlineHoldsForReadsOfSeveralConnections(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var one = wire.pair(fibers);
        var two = wire.pair(fibers)) {
      var scope = CancelScope.within(Duration.ofMillis(100));
      one.ours().readTimeout(Duration.ofMinutes(1));
      var ended =
          Fiber.start(
              fibers,
              () ->
                  scope.call(
                      () -> {
                        while (true) {
                          Pair.read(one.ours(), 1);
                          Pair.read(two.ours(), 1);
                        }
                      }));
      // Each wait is short, only all together are too long.
      try {
        while (!ended.isDone()) {
          one.peerSends("x");
          two.peerSends("x");
          Thread.sleep(1);
        }
      } finally {
        assertThrows(DeadlineException.class, () -> Fiber.get(ended));
      }
      assertEquals(Duration.ZERO, scope.remaining());
      one.peerSends("y");
      Fiber.run(fibers, () -> readOne(one.ours()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void theShorterOfTimeoutAndDeadlineHoldsAndSaysWhich(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.ours().readTimeout(Duration.ofMillis(10));
      var late =
          assertThrows(
              SocketTimeoutException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () ->
                          CancelScope.within(Duration.ofMinutes(1))
                              .call(() -> readOne(pair.ours()))));
      assertFalse(late instanceof DeadlineException);
      pair.ours().readTimeout(Duration.ofMinutes(1));
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers,
                  () ->
                      CancelScope.within(Duration.ofMillis(10)).call(() -> readOne(pair.ours()))));
      pair.peerSends("x");
      assertEquals(1, Fiber.run(fibers, () -> readOne(pair.ours())));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anOuterScopeEndsWhatWaitsInAnInnerOne(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var outer = CancelScope.open();
      var inner = CancelScope.within(Duration.ofMinutes(1));
      var read =
          Fiber.startWaiting(
              fibers, () -> outer.call(() -> inner.call(() -> readOne(pair.ours()))));
      outer.cancel();
      assertThrows(WaitCancelledException.class, () -> Fiber.get(read));
      assertTrue(outer.cancelled());
      assertFalse(inner.cancelled());
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers,
                  () ->
                      CancelScope.within(Duration.ofMillis(10))
                          .call(() -> inner.call(() -> readOne(pair.ours())))));
      pair.peerSends("x");
      assertEquals(1, Fiber.run(fibers, () -> inner.call(() -> readOne(pair.ours()))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWriterWhosePeerTakesNothingEndsWithItsConnection(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var late = wire.smallPair(fibers);
        var cancelled = wire.smallPair(fibers)) {
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> CancelScope.within(Duration.ofMillis(50)).call(() -> flood(late.ours()))));
      var scope = CancelScope.open();
      var flood = Fiber.start(fibers, () -> scope.call(() -> flood(cancelled.ours())));
      while (cancelled.peer().read(ByteBuffer.allocate(1)) <= 0) {
        // The writer has begun.
      }
      scope.cancel();
      assertThrows(WaitCancelledException.class, () -> Fiber.get(flood));
      for (var connection : new Connection[] {late.ours(), cancelled.ours()}) {
        assertThrows(
            ClosedChannelException.class, () -> Fiber.run(fibers, () -> readOne(connection)));
      }
    }
  }

  private static int flood(Connection to) throws IOException {
    while (true) {
      to.write(new byte[100_000]);
      to.flush();
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoWaitsForAConnectionCanBeCancelledAndAcceptsOnLater(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      for (int i = 0; i < 3; i++) {
        var scope = CancelScope.open();
        var accept = Fiber.startWaiting(fibers, () -> scope.call(listener::accept));
        scope.cancel();
        assertThrows(WaitCancelledException.class, () -> Fiber.get(accept));
        assertThrows(
            DeadlineException.class,
            () ->
                Fiber.run(
                    fibers,
                    () -> CancelScope.within(Duration.ofMillis(10)).call(listener::accept)));
        try (var peer = SocketChannel.open(listener.address());
            var accepted = Fiber.run(fibers, listener::accept)) {
          peer.write(ByteBuffer.wrap(Pair.bytes("x")));
          assertEquals("x", Fiber.run(fibers, () -> Pair.read(accepted, 1)));
        }
      }
      // A call that nobody comes back for ends with the listener.
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers, () -> CancelScope.within(Duration.ofMillis(10)).call(listener::accept)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoConnectsCanBeCancelledAndHasADeadline(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var full = new FullListener()) {
      assertThrows(
          DeadlineException.class,
          () ->
              Fiber.run(
                  fibers,
                  () ->
                      CancelScope.within(Duration.ofMillis(50))
                          .call(() -> fibers.connect(full.address()))));
      var scope = CancelScope.open();
      var connect =
          Fiber.startWaiting(fibers, () -> scope.call(() -> fibers.connect(full.address())));
      scope.cancel();
      assertThrows(WaitCancelledException.class, () -> Fiber.get(connect));
    }
  }

  @ParameterizedTest
  @EnumSource
  void manyThatWaitInOneScopeEndTogether(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var scope = CancelScope.open();
      var pairs = new ArrayList<MemoryPair>();
      var reads = new ArrayList<CompletableFuture<Integer>>();
      for (int i = 0; i < 500; i++) {
        var pair = MemoryPair.of(fibers);
        pairs.add(pair);
        reads.add(Fiber.start(fibers, () -> scope.call(() -> readOne(pair.near()))));
      }
      scope.cancel();
      for (var read : reads) {
        assertThrows(WaitCancelledException.class, () -> Fiber.get(read));
      }
      pairs.forEach(MemoryPair::close);
    }
  }
}
