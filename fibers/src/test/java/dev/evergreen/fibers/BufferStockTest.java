package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** No more buffers are made than were used at once, and those that nobody needs go back. */
@Timeout(60)
class BufferStockTest {
  private static final int MANY = 80;

  /** What is to be done after a while, which is over when the test says so. */
  private final ArrayDeque<Runnable> later = new ArrayDeque<>();

  private final BufferStock stock =
      new BufferStock(BufferStockTest::allocate, Integer.MAX_VALUE, later::add);

  private static ByteBuffer allocate() {
    return Arena.ofAuto().allocate(1).asByteBuffer();
  }

  @Test
  void theLastThatWasLeftIsTakenFirstAndEmpty() {
    stock.leave(stock.take());
    var taken = stock.take();
    taken.put((byte) 1);
    stock.leave(taken);
    assertSame(taken, stock.take());
    assertEquals(1, taken.remaining());
    assertEquals(1, stock.made());
    assertEquals(1, stock.used());
    assertNull(stock.takeLying(MANY));
    assertEquals(1, stock.used());
  }

  @Test
  void oneForWhichThereIsNoMemoryDoesNotCount() {
    var poor =
        new BufferStock(
            () -> {
              throw new OutOfMemoryError("no memory, says the test");
            },
            1,
            later::add);
    assertThrows(OutOfMemoryError.class, poor::take);
    assertEquals(0, poor.used());
    assertEquals(0, poor.made());
    assertTrue(poor.mayMake());
  }

  @Test
  void thereAreNoMoreThanThereMayBe() {
    var small = new BufferStock(BufferStockTest::allocate, 2, later::add);
    var first = small.take();
    assertTrue(small.mayMake());
    var second = small.take();
    for (int i = 0; i < 2; i++) {
      assertThrows(OutOfMemoryError.class, small::take);
      assertFalse(small.mayMake());
      assertEquals(2, small.made());
      assertEquals(2, small.used());
    }
    small.leave(first);
    assertSame(first, small.take());
    small.leave(second);
    assertSame(second, small.takeLying(2));
  }

  /** Each that is made is one more than were used or left at any time before. */
  @Test
  void noMoreAreMadeThanAreUsedAtOnce() throws Exception {
    int threads = 4;
    int most = 5;
    var permits = new Semaphore(most);
    var made = new AtomicInteger();
    var shared =
        new BufferStock(
            () -> {
              made.incrementAndGet();
              return allocate();
            },
            most,
            _ -> {});
    var begin = new CyclicBarrier(threads);
    try (var executor = Executors.newFixedThreadPool(threads)) {
      var runs =
          Stream.generate(() -> executor.submit(() -> takeAndLeave(shared, permits, begin)))
              .limit(threads)
              .toList();
      for (var run : runs) {
        assertEquals(0, run.get());
      }
    }
    assertTrue(made.get() <= most, made + " were made");
    assertEquals(made.get(), shared.made());
    assertEquals(0, shared.used());
  }

  private static int takeAndLeave(BufferStock stock, Semaphore permits, CyclicBarrier begin)
      throws Exception {
    var random = new Random(1);
    var taken = new ArrayDeque<ByteBuffer>();
    begin.await();
    for (int i = 0; i < 100_000; i++) {
      if (random.nextBoolean() && permits.tryAcquire()) {
        taken.add(stock.take());
      } else if (!taken.isEmpty()) {
        stock.leave(taken.removeLast());
        permits.release();
      }
    }
    taken.forEach(stock::leave);
    return 0;
  }

  @Test
  void anEighthOfWhatNobodyNeededGoesBackInAWhile() {
    takeAndLeave(MANY);
    waitAWhile();
    assertEquals(MANY, stock.made(), "it was all needed in this while");
    takeAndLeave(MANY / 2);
    waitAWhile();
    assertEquals(MANY - MANY / 2 / 8, stock.made());
  }

  /** Else the JVM would have to wait for the collector when all are needed again. */
  @Test
  void noMoreGoBackBeforeTheCollectorHasComeForThose() {
    var views = new ArrayList<MemorySegment>();
    var all = taken(MANY);
    all.forEach(one -> views.add(MemorySegment.ofBuffer(one)));
    all.forEach(stock::leave);
    all.clear();
    waitAWhile();
    for (int i = 0; i < 10; i++) {
      System.gc();
      waitAWhile();
      // The views keep their memory.
      assertEquals(MANY - MANY / 8, stock.made());
    }
    assertEquals(MANY, views.size());
    views.clear();
    while (stock.made() > 0) {
      System.gc();
      waitAWhile();
    }
    assertNull(stock.takeLying(MANY));
    assertTrue(later.isEmpty(), "there is nothing more to look for");
    takeAndLeave(1);
    assertEquals(1, later.size());
  }

  private List<ByteBuffer> taken(int many) {
    return new ArrayList<>(Stream.generate(stock::take).limit(many).toList());
  }

  private void takeAndLeave(int many) {
    taken(many).forEach(stock::leave);
  }

  private void waitAWhile() {
    assertEquals(1, later.size());
    later.remove().run();
  }
}
