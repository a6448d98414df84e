package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A buffer belongs to one borrower at a time. */
@Timeout(60)
class BuffersTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  @ParameterizedTest
  @EnumSource
  void oneThatIsGivenBackTwiceIsNotLentToTwo(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () -> {
            var first = Buffers.borrow();
            first.close();
            first.close();
            try (var second = Buffers.borrow();
                var third = Buffers.borrow()) {
              assertNotSame(second.buffer(), third.buffer());
              first.close();
              try (var fourth = Buffers.borrow()) {
                assertNotSame(second.buffer(), fourth.buffer());
                assertNotSame(third.buffer(), fourth.buffer());
              }
            }
            assertThrows(IllegalStateException.class, first::buffer);
            return 0;
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneThatWasGivenBackIsLentAgainEmpty(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () -> {
            var first = Buffers.borrow();
            var buffer = first.buffer().put((byte) 1);
            first.close();
            try (var second = Buffers.borrow()) {
              assertSame(buffer, second.buffer());
              assertEquals(Buffers.SIZE, second.buffer().remaining());
            }
            return 0;
          });
    }
  }

  /** Borrows all that there may be, a few at least, and then sets how patient the next ones are. */
  private void borrowAll(Duration patience) {
    Buffers.limit(Buffers.count() + 4, Duration.ofMillis(1));
    try {
      while (true) {
        loans.add(Buffers.borrow());
      }
    } catch (UncheckedIOException e) {
      assertInstanceOf(BuffersExhaustedException.class, e.getCause());
    }
    Buffers.limit(Buffers.count(), patience);
  }

  private final ArrayDeque<Buffers.Loan> loans = new ArrayDeque<>();

  @AfterEach
  void giveBack() {
    Buffers.limit(Integer.MAX_VALUE);
    loans.forEach(Buffers.Loan::close);
  }

  @Test
  void noMoreAreMadeThanTheLimitSays() throws Exception {
    borrowAll(Duration.ofMillis(20));
    int count = Buffers.count();
    try (var fibers = Kind.JDK.start();
        var pair = MemoryPair.of(fibers)) {
      assertThrows(BuffersExhaustedException.class, () -> pair.near().write(new byte[1]));
      loans.removeLast().close();
      pair.near().write(new byte[1]);
      pair.near().flush();
    }
    assertEquals(count, Buffers.count());
    assertThrows(IllegalArgumentException.class, () -> Buffers.limit(0));
  }

  @ParameterizedTest
  @EnumSource
  void whoNeedsOneAtTheLimitWaitsUntilOneIsGivenBack(Kind kind) throws Exception {
    borrowAll(LONG);
    try (var fibers = kind.start()) {
      var waiters = new ArrayList<FutureTask<Integer>>();
      for (int i = 0; i < 50; i++) {
        var waiter =
            new FutureTask<>(
                () -> {
                  try (var loan = Buffers.borrow()) {
                    Thread.sleep(1);
                    return loan.buffer().remaining();
                  }
                });
        waiters.add(waiter);
        fibers.spawn(waiter);
      }
      assertThrows(TimeoutException.class, () -> waiters.getFirst().get(50, TimeUnit.MILLISECONDS));
      loans.removeLast().close();
      for (var waiter : waiters) {
        assertEquals(Buffers.SIZE, waiter.get());
      }
    }
  }

  @Test
  void whoWaitsForOneIsNotLateForItsOwnDeadline() {
    borrowAll(LONG);
    var e =
        assertThrows(
            UncheckedIOException.class,
            () -> CancelScope.within(Duration.ofMillis(20)).run(Buffers::borrow));
    assertInstanceOf(DeadlineException.class, e.getCause());
  }

  /** Else nobody would ever get on. */
  @Test
  void ifAllWhoHaveOneWaitForAnotherOneIsRefusedAndTheOthersGetOn() throws Exception {
    borrowAll(Duration.ofSeconds(4));
    int all = 3;
    for (int i = 0; i < all; i++) {
      loans.removeLast().close();
    }
    try (var fibers = Kind.JDK.start()) {
      var haveOne = new CyclicBarrier(all);
      var refused = new AtomicInteger();
      var greedy = new ArrayList<FutureTask<@Nullable Void>>();
      for (int i = 0; i < all; i++) {
        var one =
            new FutureTask<@Nullable Void>(
                () -> {
                  try (var first = Buffers.borrow()) {
                    haveOne.await();
                    try (var second = Buffers.borrow()) {
                      assertNotSame(first.buffer(), second.buffer());
                    } catch (UncheckedIOException e) {
                      refused.incrementAndGet();
                    }
                  }
                  return null;
                });
        greedy.add(one);
        fibers.spawn(one);
      }
      for (var one : greedy) {
        one.get();
      }
      assertEquals(1, refused.get());
    }
  }

  @ParameterizedTest
  @EnumSource
  void thePeerThatTakesNothingPays(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = MemoryPair.of(fibers, 1000, 1000)) {
      borrowAll(Duration.ofSeconds(4));
      loans.removeLast().close();
      var writer =
          new FutureTask<@Nullable Void>(
              () -> {
                pair.near().write(new byte[Buffers.SIZE]);
                pair.near().flush();
                return null;
              });
      fibers.spawn(writer);
      // It has the last one, and waits for the peer.
      assertEquals(1, pair.far().read(ByteBuffer.allocate(1)));
      Buffers.borrow().close();
      var e = assertThrows(ExecutionException.class, writer::get);
      assertInstanceOf(ClosedChannelException.class, e.getCause());
    }
  }

  /** Whoever closes a connection with output of its own gives the buffer back. */
  @Test
  void outputThatIsDroppedKeepsNoBuffer() throws Exception {
    try (var fibers = Kind.JDK.start()) {
      for (int i = 0; i < 200; i++) {
        try (var pair = MemoryPair.of(fibers)) {
          pair.near().write(new byte[1]);
        }
      }
      int before = Buffers.count();
      for (int i = 0; i < 200; i++) {
        try (var pair = MemoryPair.of(fibers)) {
          pair.near().write(new byte[1]);
        }
      }
      assertEquals(before, Buffers.count());
    }
  }
}
