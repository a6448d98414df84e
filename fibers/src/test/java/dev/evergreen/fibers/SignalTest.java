package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A fiber waits for another one as it waits for a peer. */
@Timeout(60)
class SignalTest {

  private static Fibers start(Fibers.Mode mode) {
    return Fibers.builder().mode(mode).processors(1).start();
  }

  @ParameterizedTest
  @EnumSource
  void whatWasRaisedBeforeIsNotWaitedFor(Fibers.Mode mode) throws Exception {
    try (var fibers = start(mode)) {
      var signal = new Signal(fibers);
      signal.raise();
      signal.raise();
      Fiber.start(
              fibers,
              () -> {
                signal.await();
                assertThrows(
                    SocketTimeoutException.class, () -> signal.await(Duration.ofMillis(1)));
                return 0;
              })
          .join();
    }
  }

  @ParameterizedTest
  @EnumSource
  void raisingWakesTheOneThatWaits(Fibers.Mode mode) throws Exception {
    try (var fibers = start(mode)) {
      var there = new Signal(fibers);
      var back = new Signal(fibers);
      var waits =
          Fiber.start(
              fibers,
              () -> {
                for (int i = 0; i < 1000; i++) {
                  there.await();
                  back.raise();
                }
                return 0;
              });
      for (int i = 0; i < 1000; i++) {
        there.raise();
        back.await(Duration.ofSeconds(30));
      }
      waits.join();
    }
  }

  @ParameterizedTest
  @EnumSource
  void scopesEndTheWait(Fibers.Mode mode) throws Exception {
    try (var fibers = start(mode)) {
      var signal = new Signal(fibers);
      var scope = CancelScope.open();
      var waits =
          Fiber.startWaiting(
              fibers,
              () -> {
                scope.run(signal::await);
                return 0;
              });
      scope.cancel();
      var ended = assertThrows(CompletionException.class, waits::join);
      assertInstanceOf(WaitCancelledException.class, ended.getCause());
      assertThrows(
          DeadlineException.class,
          () -> CancelScope.within(Duration.ofMillis(1)).run(signal::await));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anInterruptEndsTheWait(Fibers.Mode mode) {
    try (var fibers = start(mode)) {
      Thread.currentThread().interrupt();
      assertThrows(InterruptedIOException.class, new Signal(fibers)::await);
      assertTrue(Thread.interrupted());
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatTheFiberWroteLeavesFirst(Fibers.Mode mode) throws Exception {
    try (var fibers = start(mode);
        var pair = MemoryPair.of(fibers)) {
      var signal = new Signal(fibers);
      var waits =
          Fiber.start(
              fibers,
              () -> {
                pair.near().write(new byte[] {42});
                signal.await();
                return 0;
              });
      var into = ByteBuffer.allocate(1);
      assertEquals(1, pair.far().read(into));
      assertEquals(42, into.get(0));
      signal.raise();
      waits.join();
    }
  }
}
