package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.BufferQueue.Need;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who finds no buffer waits for one, and who keeps one too long pays. */
@Timeout(120)
class BackPressureTest {
  private final ArrayDeque<Buffers.Loan> taken = new ArrayDeque<>();

  /** Takes all that those may have who begin; {@code more} may still be had by fibers. */
  private void takeAllBut(int more) {
    Buffers.limit(Buffers.count() + 100);
    var now = CancelScope.within(Duration.ZERO);
    now.run(
        () -> {
          try {
            while (true) {
              taken.add(Buffers.borrow());
            }
          } catch (UncheckedIOException e) {
            assertInstanceOf(DeadlineException.class, e.getCause());
          }
        });
    for (int i = 0; i < more; i++) {
      taken.removeLast().close();
    }
  }

  /** Takes those that are kept for output, too. */
  private void takeAll(Connection at) {
    takeAllBut(0);
    takeAllFor(Need.END, at);
  }

  private void takeAllFor(Need need, Connection at) {
    CancelScope.within(Duration.ZERO)
        .run(
            () -> {
              try {
                while (true) {
                  taken.add(Buffers.lend(at, need));
                }
              } catch (IOException e) {
                assertInstanceOf(DeadlineException.class, e);
              }
            });
  }

  @AfterEach
  void giveAllBack() {
    taken.forEach(Buffers.Loan::close);
    Buffers.limit(Integer.MAX_VALUE);
    assertEquals(0, Buffers.waiting());
  }

  private static void awaitWaiting(int fibers) {
    while (Buffers.waiting() != fibers) {
      Thread.onSpinWait();
    }
  }

  private static CompletableFuture<Integer> borrow(Fibers fibers, Queue<Integer> order, int which) {
    return Fiber.start(
        fibers,
        () -> {
          try (var _ = Buffers.borrow()) {
            order.add(which);
            return which;
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void theyComeInTheOrderOfTheirComing(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      takeAllBut(0);
      var order = new ConcurrentLinkedQueue<Integer>();
      var results = new ArrayList<CompletableFuture<Integer>>();
      for (int i = 0; i < 5; i++) {
        results.add(borrow(fibers, order, i));
        awaitWaiting(i + 1);
      }
      taken.removeLast().close();
      for (var result : results) {
        Fiber.get(result);
      }
      assertEquals(List.of(0, 1, 2, 3, 4), List.copyOf(order));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoseWaitWasGivenUpLosesNoBuffer(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      takeAllBut(0);
      var scope = CancelScope.open();
      var cancelled = Fiber.start(fibers, () -> scope.call(Buffers::borrow));
      awaitWaiting(1);
      var next = borrow(fibers, new ConcurrentLinkedQueue<>(), 1);
      awaitWaiting(2);
      scope.cancel();
      var why = assertThrows(UncheckedIOException.class, () -> Fiber.get(cancelled));
      assertInstanceOf(WaitCancelledException.class, why.getCause());
      taken.removeLast().close();
      assertEquals(1, Fiber.get(next));
    }
  }

  @ParameterizedTest
  @EnumSource
  void itEndsByADeadline(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      takeAllBut(0);
      var scope = CancelScope.within(Duration.ofMillis(20));
      var why =
          assertThrows(
              UncheckedIOException.class,
              () -> Fiber.run(fibers, () -> scope.call(Buffers::borrow)));
      assertInstanceOf(DeadlineException.class, why.getCause());
    }
  }

  @ParameterizedTest
  @EnumSource
  void closingTheConnectionEndsIt(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      takeAll(pair.ours());
      var write =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(new byte[1]);
                return 0;
              });
      awaitWaiting(1);
      pair.ours().close();
      assertThrows(AsynchronousCloseException.class, () -> Fiber.get(write));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anInterruptEndsItAndTheConnection(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      takeAll(pair.ours());
      var result = new CompletableFuture<Integer>();
      var fiber =
          fibers.spawn(
              () -> {
                try {
                  pair.ours().write(new byte[1]);
                } catch (IOException e) {
                  result.completeExceptionally(e);
                }
              });
      awaitWaiting(1);
      fiber.interrupt();
      assertThrows(ClosedByInterruptException.class, () -> Fiber.get(result));
      assertEquals("", pair.peerReads(1));
    }
  }

  /** Those that begin wait, while those that go on with what they have begun find room. */
  @ParameterizedTest
  @EnumSource
  void someAreLeftForOutput(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      takeAllBut(0);
      var begins = borrow(fibers, new ConcurrentLinkedQueue<>(), 1);
      awaitWaiting(1);
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("x"));
            pair.ours().flush();
            return 0;
          });
      assertEquals("x", pair.peerReads(1));
      assertFalse(begins.isDone());
      taken.removeLast().close();
      assertEquals(1, Fiber.get(begins));
    }
  }

  /** Else those who begin would have all in the end, and nobody could go on. */
  @ParameterizedTest
  @EnumSource
  void whatWasLeftForOutputIsLeftAgainWhenItIsGivenBack(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      takeAllBut(0);
      Fiber.run(
          fibers,
          () -> {
            Buffers.lend(pair.ours(), Need.WRITE).close();
            var now = CancelScope.within(Duration.ZERO);
            assertThrows(UncheckedIOException.class, () -> now.call(Buffers::borrow));
            return 0;
          });
    }
  }

  /** Output may have to be encrypted, and for what is decrypted more may be needed. */
  @ParameterizedTest
  @EnumSource
  void someAreLeftForWhatNeedsNoOther(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      takeAllBut(0);
      takeAllFor(Need.WRITE, pair.ours());
      Buffers.lend(pair.ours(), Need.DECRYPT).close();
      takeAllFor(Need.DECRYPT, pair.ours());
      Buffers.lend(pair.ours(), Need.END).close();
    }
  }

  /** Of a processor that sleeps, too, which would not look for itself. */
  @ParameterizedTest
  @EnumSource
  void whatLiesReadyElsewhereIsGivenToThoseThatWait(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Buffers.limit(4 * (Buffers.count() + 25));
      Fiber.run(
          fibers,
          () -> {
            var lent = new ArrayList<Buffers.Loan>();
            for (int i = 0; i < 50; i++) {
              lent.add(Buffers.borrow());
            }
            lent.forEach(Buffers.Loan::close);
            return 0;
          });
      for (int i = 0; i < 75; i++) {
        taken.add(Buffers.borrow());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatDoesNotReadPays(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var slow = Pair.accepted(fibers, Pair.loopback(), Pair.SMALL)) {
      takeAllBut(1);
      var blocked = new CountDownLatch(1);
      var written =
          Fiber.start(
              fibers,
              () -> {
                try (var loan = Buffers.borrow()) {
                  blocked.countDown();
                  while (true) {
                    slow.ours().write(loan.buffer().clear());
                  }
                }
              });
      blocked.await();
      assertEquals(1, Fiber.get(borrow(fibers, new ConcurrentLinkedQueue<>(), 1)));
      assertThrows(IOException.class, () -> Fiber.get(written));
    }
  }

  /** Else nobody would ever get on. */
  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"}) // It takes seconds, and is the same in all.
  void ofThoseThatHoldOneAndWaitForAnotherOneIsEnded(Kind kind) throws Exception {
    int both = 4;
    try (var fibers = kind.start()) {
      takeAllBut(both);
      var begun = new CountDownLatch(both);
      var results = new ArrayList<CompletableFuture<Integer>>();
      for (int i = 0; i < both; i++) {
        results.add(
            Fiber.start(
                fibers,
                () -> {
                  try (var _ = Buffers.borrow()) {
                    begun.countDown();
                    awaitQuietly(begun);
                    try (var _ = Buffers.borrow()) {
                      return 0;
                    }
                  } catch (UncheckedIOException e) {
                    assertInstanceOf(BuffersExhaustedException.class, e.getCause());
                    return 1;
                  }
                }));
      }
      int ended = 0;
      for (var result : results) {
        ended += Fiber.get(result);
      }
      assertEquals(1, ended);
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Many fibers, few buffers, and waits that are given up at any moment: all get to their end. */
  @ParameterizedTest
  @EnumSource
  void noWakeUpIsLost(Kind kind) throws Exception {
    int rounds = Integer.getInteger("evergreen.fibers.rounds", 200);
    try (var fibers = kind.start()) {
      takeAllBut(3);
      int most = Buffers.count() + 3;
      var results = new ArrayList<CompletableFuture<Integer>>();
      for (int i = 0; i < 40; i++) {
        var random = new Random(i);
        results.add(Fiber.start(fibers, () -> borrowOften(random, rounds)));
      }
      for (var result : results) {
        Fiber.get(result);
      }
      assertTrue(Buffers.count() <= most);
      assertEquals(0, Buffers.waiting());
      // None of the three is lost.
      for (int i = 0; i < 3; i++) {
        taken.add(Buffers.borrow());
      }
    }
  }

  private static int borrowOften(Random random, int rounds) {
    for (int i = 0; i < rounds; i++) {
      if (random.nextInt(4) == 0) {
        var scope = CancelScope.within(Duration.ofNanos(random.nextInt(300_000)));
        try {
          scope.run(() -> useOne(random));
        } catch (UncheckedIOException e) {
          assertInstanceOf(DeadlineException.class, e.getCause());
        }
      } else {
        useOne(random);
      }
    }
    return rounds;
  }

  private static void useOne(Random random) {
    try (var _ = Buffers.borrow()) {
      if (random.nextBoolean()) {
        Thread.onSpinWait();
      }
    }
  }
}
