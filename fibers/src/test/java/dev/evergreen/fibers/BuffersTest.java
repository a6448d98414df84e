package dev.evergreen.fibers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.BufferQueue.Need;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A buffer belongs to one borrower at a time. */
class BuffersTest {

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

  /**
   * Seen: there was no memory for more of them before the garbage collector had come for others.
   */
  @ParameterizedTest
  @EnumSource
  void manyThatWereGivenBackAreLentAgain(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () -> {
            var first = manyLoans();
            var known = first.stream().map(loan -> new WeakReference<>(loan.buffer())).toList();
            first.forEach(Buffers.Loan::close);
            System.gc();
            var lent = Collections.newSetFromMap(new IdentityHashMap<ByteBuffer, Boolean>());
            var second = manyLoans();
            second.forEach(loan -> lent.add(loan.buffer()));
            second.forEach(Buffers.Loan::close);
            long missing = known.stream().filter(one -> !lent.contains(one.get())).count();
            // Some may have gone to fibers of other tests that were ending.
            assertTrue(missing < 50, missing + " of 200 were not used");
            return 0;
          });
    }
  }

  private static List<Buffers.Loan> manyLoans() {
    return Stream.generate(Buffers::borrow).limit(200).toList();
  }

  @Test
  void noMoreAreMadeThanTheLimitSays() throws Exception {
    int most = Buffers.count() + 100;
    var loans = new ArrayList<Buffers.Loan>();
    try (var fibers = Kind.JDK.start();
        var pair = MemoryPair.of(fibers)) {
      Buffers.limit(most);
      lendAll(pair.near(), loans);
      assertEquals(most, Buffers.count());
      var none =
          assertThrows(BuffersExhaustedException.class, () -> Buffers.lend(pair.near(), Need.END));
      assertTrue(String.valueOf(none.getMessage()).contains("all " + most + " buffers"));
      loans.removeLast().close();
      Buffers.lend(pair.near(), Need.END).close();
      assertEquals(most - 1, Buffers.count());
      assertThrows(IllegalArgumentException.class, () -> Buffers.limit(0));
    } finally {
      Buffers.limit(Integer.MAX_VALUE);
      loans.forEach(Buffers.Loan::close);
    }
  }

  /** Lends until it would have to wait. */
  private static void lendAll(Connection to, List<Buffers.Loan> lent) {
    var now = CancelScope.within(Duration.ZERO);
    assertThrows(
        DeadlineException.class,
        () ->
            now.call(
                () -> {
                  while (true) {
                    lent.add(Buffers.lend(to, Need.END));
                  }
                }));
  }

  /** Else it would be given one later that nobody gives back. */
  @Test
  void whoFailsWhileItWaitsWaitsNoMore() {
    var pace = new Pace();
    pace.waits();
    var lent = new ArrayList<>(List.of(Buffers.borrow()));
    Runnable fails =
        () -> {
          throw new UnsupportedOperationException("says the test");
        };
    try (var _ = Buffers.BLOCKED_WRITERS.hold(pace, fails)) {
      Buffers.limit(1);
      assertThrows(
          IllegalStateException.class,
          () -> {
            while (true) {
              lent.add(Buffers.borrow());
            }
          });
      assertEquals(0, Buffers.waiting());
    } finally {
      Buffers.limit(Integer.MAX_VALUE);
      lent.forEach(Buffers.Loan::close);
    }
  }

  /** A scope ends waits only. */
  @Test
  void whoNeedNotWaitIsLentOneThoughItsTimeIsOver() throws Exception {
    var lent = new ArrayList<Buffers.Loan>();
    Buffers.limit(2 * (Buffers.count() + 100));
    try {
      int before = Buffers.count();
      CancelScope.within(Duration.ofNanos(1))
          .call(
              () -> {
                for (int i = 0; i < 100; i++) {
                  lent.add(Buffers.borrow());
                }
                return 0;
              });
      assertTrue(Buffers.count() <= before + 100);
    } finally {
      Buffers.limit(Integer.MAX_VALUE);
      lent.forEach(Buffers.Loan::close);
    }
  }

  /** Also after a write for which there was no buffer. */
  @Test
  void outputLeavesWhenItsWriterWaitsElsewhere() throws Exception {
    try (var fibers = Kind.JDK.start();
        var pair = MemoryPair.of(fibers);
        var loan = Buffers.borrow()) {
      var elsewhere = new Signal(fibers);
      var lent = new ArrayList<Buffers.Loan>();
      try {
        Buffers.limit(1);
        lendAll(pair.far(), lent);
        var now = CancelScope.within(Duration.ZERO);
        assertThrows(
            DeadlineException.class,
            () ->
                now.call(
                    () -> {
                      pair.near().write(new byte[1]);
                      return 0;
                    }));
        waitAMoment(elsewhere);
      } finally {
        Buffers.limit(Integer.MAX_VALUE);
        lent.forEach(Buffers.Loan::close);
      }
      pair.near().write(new byte[1]);
      waitAMoment(elsewhere);
      assertEquals(1, pair.far().tryRead(loan.buffer()));
    }
  }

  private static void waitAMoment(Signal where) {
    assertThrows(SocketTimeoutException.class, () -> where.await(Duration.ofMillis(1)));
  }

  /** Seen: each connection of the JDK's kept some of that memory, which nobody counted. */
  @Test
  void connectionsAtRestTakeNothingOfTheMemoryForBuffers() throws Exception {
    var pairs = new ArrayList<Pair>();
    try (var fibers = Kind.JDK.start()) {
      long before = directMemory();
      for (int i = 0; i < 100; i++) {
        var pair = Pair.accepted(fibers);
        pairs.add(pair);
        pair.peerSends("x");
        pair.ours().awaitInput();
      }
      long taken = directMemory() - before;
      assertTrue(taken < Buffers.SIZE, taken + " bytes were taken");
      for (var pair : pairs) {
        pair.close();
      }
    }
  }

  /** Seen: they found none, as what was made at a peak stays. */
  @ParameterizedTest
  @EnumSource(names = {"ONE_PROCESSOR", "JDK"})
  void othersFindMemoryAfterAPeak(Kind kind) throws Exception {
    var child = ChildJvm.of(Peak.class).with("-XX:MaxDirectMemorySize=16m");
    assertEquals("there is some\n", child.run(kind));
  }

  /** In a child: has all buffers lent at once, and then asks for the memory as others do. */
  static final class Peak {
    private Peak() {}

    public static void main(String[] arguments) throws Exception {
      var path =
          Path.of(System.getProperty("java.io.tmpdir"), "peak-" + ProcessHandle.current().pid());
      try (var fibers = Kind.valueOf(arguments[0]).start()) {
        var all = new ArrayList<Buffers.Loan>();
        try (var pair = MemoryPair.of(fibers)) {
          lendAll(pair.near(), all);
        }
        assertEquals(Buffers.capacity(), all.size());
        all.forEach(Buffers.Loan::close);
        if (!ByteBuffer.allocateDirect(1 << 20).isDirect()) {
          throw new AssertionError("that is other memory");
        }
        pass(fibers, Pair.loopback());
        pass(fibers, UnixDomainSocketAddress.of(path));
      } finally {
        Files.deleteIfExists(path);
      }
      System.out.println("there is some");
    }

    /** What is on the heap passes through such memory, at the JDK's side at least. */
    private static void pass(Fibers fibers, SocketAddress address) throws Exception {
      try (var pair = Pair.accepted(fibers, address, SocketOptions.DEFAULT)) {
        pair.peerSends("x".repeat(20_000));
        Fiber.run(
            fibers,
            () -> {
              pair.ours().write(Pair.read(pair.ours(), 20_000).getBytes(UTF_8));
              return 0;
            });
        assertEquals(20_000, pair.peerReads(20_000).length());
      }
    }
  }

  /**
   * Seen: the holder of a lock lost its processor for a moment. All others that came to it had a
   * buffer each, and there was none for what they wanted to write when it was back.
   */
  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void manyThatStandAtALockWithOneFindAnotherBehindIt(Kind kind) throws Exception {
    var child = ChildJvm.of(Locked.class).with("-XX:MaxDirectMemorySize=4m");
    assertEquals("all have written\n", child.run(kind));
  }

  /** In a child: more fibers come to a lock than there are buffers. */
  static final class Locked {
    private Locked() {}

    public static void main(String[] arguments) throws Exception {
      var lock = new ReentrantLock();
      try (var fibers = Kind.valueOf(arguments[0]).start()) {
        var results = new ArrayList<CompletableFuture<Integer>>();
        lock.lock();
        try {
          for (int i = 0; i < 3 * Buffers.capacity(); i++) {
            results.add(Fiber.start(fibers, () -> write(fibers, lock)));
          }
          // Whoever comes to the lock has one, until there is none for others.
          while (Buffers.waiting() == 0) {
            results.stream().filter(CompletableFuture::isDone).forEach(CompletableFuture::join);
            Thread.sleep(1);
          }
        } finally {
          lock.unlock();
        }
        for (var result : results) {
          assertEquals(1, Fiber.get(result));
        }
      }
      System.out.println("all have written");
    }

    private static int write(Fibers fibers, ReentrantLock lock) throws IOException {
      try (var in = Buffers.borrow();
          var pair = MemoryPair.of(fibers)) {
        lock.lock();
        try {
          pair.near().write(new byte[1]);
        } finally {
          lock.unlock();
        }
        pair.near().flush();
        return pair.far().tryRead(in.buffer());
      }
    }
  }

  private static long directMemory() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }

  /** Whoever closes a connection with output of its own gives the buffer back. */
  @Test
  void outputThatIsDroppedKeepsNoBuffer() throws Exception {
    try (var fibers = Kind.JDK.start()) {
      dropOutput(fibers);
      int before = Buffers.count();
      dropOutput(fibers);
      assertEquals(before, Buffers.count());
    }
  }

  private static void dropOutput(Fibers on) throws Exception {
    for (int i = 0; i < 200; i++) {
      try (var pair = MemoryPair.of(on)) {
        pair.near().write(new byte[1]);
      }
    }
  }
}
